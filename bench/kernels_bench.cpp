// Speed of the CPU device's kernels: matrix products in every format and attention, on the shapes
// of one expert of Qwen3-30B-A3B.
//
//   kernels_bench [--benchmark_filter=Project/q8_0.*]
//
// A product walks over as many copies of its matrix as make 256 MiB, so that weights come from
// memory as they do in a model; GB/s counts the weights once a call, GMAC/s every multiply-add.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/floats.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "devices/cpu/cpu_device.h"
#include "formats/block_format.h"

namespace smoe {
namespace {

constexpr uint64_t kWorkingSet = 256 * kMiB;

struct Bench {
  ThreadPool pool;
  std::unique_ptr<Device> device;

  explicit Bench(unsigned threads)
      : pool(threads), device(std::move(*make_cpu_device(pool, CpuKernels::kBest))) {
    if (!device->reserve({.rows = 512, .widest = 4096, .context = 8192})) std::abort();
  }
};

float noise(Rng& rng) { return static_cast<float>(rng.uniform() * 2 - 1); }

template <class T>
void put(std::span<std::byte> to, size_t& at, T value) {
  std::memcpy(to.data() + at, &value, sizeof value);
  at += sizeof value;
}

// One unit of a format, with weights of ordinary sizes: subnormals and NaN would be another test.
void fill_unit(Format format, std::span<std::byte> unit, Rng& rng) {
  size_t at = 0;
  if (format == Format::kMXFP4) {
    while (at < 64) put(unit, at, uint8_t{120});
  } else if (format == Format::kIQ4_XS) {
    while (at < 64) put(unit, at, uint32_t{0x5a5a0000U | float_to_f16(0.001F)});
  } else if (info(format).block_k > 1) {
    while (at < 64) put(unit, at, float_to_f16(0.001F));
  } else if (format == Format::kF8E4M3) {
    while (at < 64) put(unit, at, 0.01F);
  }
  while (at < unit.size()) {
    switch (format) {
      case Format::kF32:
        put(unit, at, noise(rng));
        break;
      case Format::kF16:
        put(unit, at, float_to_f16(noise(rng)));
        break;
      case Format::kBF16:
        put(unit, at, float_to_bf16(noise(rng)));
        break;
      default:
        put(unit, at, static_cast<uint8_t>(rng.next() & 0xfeU));  // never 0x7f or 0xff
        break;
    }
  }
}

// Copies of one random matrix, back to back.
Buffer random_weights(Device& device, Format format, uint64_t matrix, uint64_t copies, Rng& rng) {
  Buffer buffer = std::move(*device.allocate(matrix * copies));
  const std::span<std::byte> all = buffer.host();
  const size_t unit = info(format).unit_bytes;
  for (size_t at = 0; at < matrix; at += unit) fill_unit(format, all.subspan(at, unit), rng);
  for (uint64_t copy = 1; copy < copies; ++copy)
    std::memcpy(all.data() + copy * matrix, all.data(), matrix);
  return buffer;
}

Buffer random_buffer(Device& device, size_t bytes, Rng& rng) {
  Buffer buffer = std::move(*device.allocate(bytes));
  for (size_t at = 0; at + sizeof(float) <= bytes;) put(buffer.host(), at, noise(rng));
  return buffer;
}

Rows rows_in(const Buffer& buffer, uint32_t count, uint32_t width) {
  return {{&buffer, 0}, count, width, width};
}

void project(benchmark::State& state, Format format, uint32_t rows, uint32_t cols,
             unsigned threads) {
  Bench bench(threads);
  Rng rng(1);
  const auto tokens = static_cast<uint32_t>(state.range(0));
  const uint64_t bytes = matrix_bytes(format, rows, cols);
  const uint64_t copies = kWorkingSet / bytes;
  const Buffer weights = random_weights(*bench.device, format, bytes, copies, rng);
  const Buffer in = random_buffer(*bench.device, size_t{tokens} * cols * sizeof(float), rng);
  const Buffer out = std::move(*bench.device->allocate(size_t{tokens} * rows * sizeof(float)));
  uint64_t copy = 0;
  for (auto _ : state) {
    const Matrix matrix{{&weights, copy * bytes}, format, rows, cols, tile_bytes(format, cols)};
    bench.device->project({matrix, {}, rows_in(in, tokens, cols), rows_in(out, tokens, rows)});
    copy = (copy + 1) % copies;
  }
  const auto calls = static_cast<double>(state.iterations());
  state.counters["GB/s"] =
      benchmark::Counter(calls * static_cast<double>(bytes) * 1e-9, benchmark::Counter::kIsRate);
  state.counters["GMAC/s"] =
      benchmark::Counter(calls * static_cast<double>(uint64_t{tokens} * rows * cols) * 1e-9,
                         benchmark::Counter::kIsRate);
}

// A chunk of tokens at the end of a context: 32 query heads on 4 KV heads of 128.
void attend(benchmark::State& state, unsigned threads) {
  constexpr uint32_t kHeads = 32;
  Bench bench(threads);
  Rng rng(2);
  const auto tokens = static_cast<uint32_t>(state.range(0));
  const auto context = static_cast<uint32_t>(state.range(1));
  KvPages pages{{}, 4, 128};
  const uint32_t page_count = ceil_div(context, kPagePositions);
  const Buffer cache = random_buffer(*bench.device, page_count * pages.page_bytes(), rng);
  pages.view = {&cache, 0};
  const uint32_t width = kHeads * pages.head_dim;
  const Buffer query = random_buffer(*bench.device, size_t{tokens} * width * sizeof(float), rng);
  const Buffer out = std::move(*bench.device->allocate(size_t{tokens} * width * sizeof(float)));
  std::vector<uint32_t> page_table;
  for (uint32_t page = 0; page < page_count; ++page) page_table.push_back(page);
  std::vector<TokenPlace> places;
  uint64_t positions = 0;
  for (uint32_t i = 0; i < tokens; ++i) {
    places.push_back({context - tokens + i, 0});
    positions += places.back().position + 1;
  }
  for (auto _ : state)
    bench.device->attend({rows_in(query, tokens, width), pages, kHeads, 0.088F, places, page_table,
                          rows_in(out, tokens, width)});
  const auto calls = static_cast<double>(state.iterations());
  state.counters["GMAC/s"] = benchmark::Counter(
      calls * static_cast<double>(positions * width * 2) * 1e-9, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(calls * static_cast<double>(cache.bytes()) * 1e-9,
                                              benchmark::Counter::kIsRate);
}

void register_all() {
  for (const unsigned threads : {1U, 2U}) {
    const std::string suffix = "/threads:" + std::to_string(threads);
    for (size_t index = 0; index < kFormats; ++index) {
      const auto format = static_cast<Format>(index);
      for (const auto& [rows, cols] : {std::pair{2048U, 768U}, std::pair{768U, 2048U}}) {
        const std::string name = "Project/" + std::string(info(format).name) + "/" +
                                 std::to_string(rows) + "x" + std::to_string(cols) + suffix;
        auto* made = benchmark::RegisterBenchmark(
            name.c_str(), [format, rows = rows, cols = cols, threads](benchmark::State& state) {
              project(state, format, rows, cols, threads);
            });
        made->ArgName("tokens")->UseRealTime();
        for (const int tokens : {1, 2, 4, 8, 16, 64, 512}) made->Arg(tokens);
      }
    }
    auto* made = benchmark::RegisterBenchmark(
        ("Attend" + suffix).c_str(),
        [threads](benchmark::State& state) { attend(state, threads); });
    made->ArgNames({"tokens", "context"})->UseRealTime();
    for (const int context : {1024, 8192}) {
      for (const int tokens : {1, 8, 64, 512}) made->Args({tokens, context});
    }
  }
}

}  // namespace
}  // namespace smoe

int main(int argc, char** argv) {
  smoe::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
