#include "devices/cpu/kernels/portable/portable.h"
#include "devices/cpu/kernels/portable/quantized.h"

namespace smoe::cpu {
namespace {

constexpr KernelTable kTable = {
    .name = "portable",
    .tiles = {{kMaxRows, portable::run_f32, nullptr},
              {kMaxRows, portable::run_f16, portable::expand_f16},
              {kMaxRows, portable::run_bf16, portable::expand_bf16},
              {kMaxRows, portable::run_q8, nullptr},
              {kMaxRows, portable::run_f8, portable::expand_f8}},
    .quantizer = {sizeof(portable::QuantizedBlock), portable::quantize},
    .softmax_step = portable::softmax_step,
    .add_values = portable::add_values,
    .value_rows = kMaxRows,
    .normalize = portable::normalize,
    .gate = portable::gate,
    .rotate = portable::rotate,
    .add_weighted = portable::add_weighted,
};

}  // namespace

const KernelTable& portable_kernels() { return kTable; }

}  // namespace smoe::cpu
