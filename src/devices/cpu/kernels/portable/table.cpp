#include "devices/cpu/kernels/portable/portable.h"
#include "devices/cpu/kernels/portable/quantized.h"

namespace smoe::cpu {
namespace {

constexpr KernelTable kTable = {
    .name = "portable",
    .tiles = {{kMaxRows, portable::run_f32, nullptr},
              {kMaxRows, portable::run_f16, portable::expand_f16},
              {kMaxRows, portable::run_bf16, portable::expand_bf16},
              {kMaxRows, portable::run_blocks<Format::kQ8_0>, nullptr},
              {kMaxRows, portable::run_f8, portable::expand_f8},
              {kMaxRows, portable::run_blocks<Format::kQ4_0>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kQ4_1>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kQ5_0>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kQ5_1>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kQ2_K>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kQ3_K>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kQ4_K>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kQ5_K>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kQ6_K>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kIQ4_NL>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kIQ4_XS>, nullptr},
              {kMaxRows, portable::run_blocks<Format::kMXFP4>, nullptr}},
    .quantizer = {sizeof(portable::QuantizedBlock), portable::quantize},
    .softmax_step = portable::softmax_step,
    .add_values = portable::add_values,
    .value_rows = kMaxRows,
    .widen_f16 = portable::widen_f16,
    .widen_keys = portable::widen_keys,
    .widen_values = portable::widen_values,
    .normalize = portable::normalize,
    .gate = portable::gate,
    .rotate = portable::rotate,
    .add_weighted = portable::add_weighted,
};

}  // namespace

const KernelTable& portable_kernels() { return kTable; }

}  // namespace smoe::cpu
