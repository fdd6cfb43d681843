#include <algorithm>

#include "base/check.h"
#include "devices/cpu/matrix.h"
#include "devices/cpu/parallel.h"

namespace smoe::cpu {
namespace {

struct Expert {
  HostMatrix gate;
  HostMatrix up;
  HostMatrix down;

  explicit Expert(const ExpertCall& call) : gate(call.gate), up(call.up), down(call.down) {
    SMOE_CHECK(gate.rows == up.rows && gate.cols == up.cols);
    SMOE_CHECK(down.cols == gate.rows && down.rows == call.out.width);
    SMOE_CHECK(gate.cols == call.in.width);
  }
};

// scratch.gate[row] = silu(gate . x) * (up . x); the rows are in scratch.float_rows.
void run_gate_and_up(const Means& means, const Expert& expert, uint32_t count) {
  const Scratch& scratch = means.scratch;
  const RowPointers floats{scratch.float_rows, count};
  const uint32_t cols = expert.gate.cols;
  const uint32_t width = expert.gate.rows;
  const RowPointers gate_rows = prepare_rows(means, expert.gate.format, floats, cols);
  const RowPointers up_rows = expert.up.format == expert.gate.format
                                  ? gate_rows
                                  : prepare_rows(means, expert.up.format, floats, cols);
  const Product gate{expert.gate, gate_rows, scratch.gate, scratch.hidden_stride};
  const Product up{expert.up, up_rows, scratch.up, scratch.hidden_stride};
  const auto work = [&](uint32_t begin, uint32_t end, unsigned worker) {
    float* tiles = scratch.workers[worker].tiles;
    multiply_tiles(means.kernels, gate, begin, end, tiles);
    multiply_tiles(means.kernels, up, begin, end, tiles);
    const uint32_t column = begin * kTileRows;
    const uint32_t columns = std::min(end * kTileRows, width) - column;
    for (uint32_t row = 0; row < count; ++row) {
      const size_t at = row * scratch.hidden_stride + column;
      means.kernels.gate(scratch.gate + at, scratch.up + at, columns);
    }
  };
  for_each_range(means.pool, expert.gate.tile_count, uint64_t{2} * count * width * cols, work);
}

// out[row] = down . scratch.gate[row]
void run_down(const Means& means, const Expert& expert, uint32_t count, float* out,
              size_t out_stride) {
  const Scratch& scratch = means.scratch;
  for (uint32_t row = 0; row < count; ++row)
    scratch.float_rows[row] =
        reinterpret_cast<const std::byte*>(scratch.gate + row * scratch.hidden_stride);
  const HostMatrix& weight = expert.down;
  const RowPointers rows =
      prepare_rows(means, weight.format, {scratch.float_rows, count}, weight.cols);
  const Product product{weight, rows, out, out_stride};
  for_each_range(means.pool, weight.tile_count, uint64_t{count} * weight.rows * weight.cols,
                 [&](uint32_t begin, uint32_t end, unsigned worker) {
                   multiply_tiles(means.kernels, product, begin, end,
                                  scratch.workers[worker].tiles);
                 });
}

}  // namespace

void run_expert(const Means& means, const ExpertCall& call) {
  const HostRows in(call.in);
  const HostRows out(call.out);
  if (out.count == 0) return;
  const Expert expert(call);
  const Scratch& scratch = means.scratch;
  SMOE_CHECK(out.count == (call.rows.empty() ? in.count : call.rows.size()));
  SMOE_CHECK(out.count <= scratch.limits.rows);
  SMOE_CHECK(expert.gate.cols <= scratch.limits.widest);
  SMOE_CHECK(expert.down.cols <= scratch.limits.widest);

  for (uint32_t first = 0; first < out.count; first += kSweepRows) {
    const uint32_t count = std::min(kSweepRows, out.count - first);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t row = call.rows.empty() ? first + i : call.rows[first + i];
      SMOE_CHECK(row < in.count);
      scratch.float_rows[i] = reinterpret_cast<const std::byte*>(in.row(row));
    }
    run_gate_and_up(means, expert, count);
    run_down(means, expert, count, out.row(first), out.stride);
  }
}

}  // namespace smoe::cpu
