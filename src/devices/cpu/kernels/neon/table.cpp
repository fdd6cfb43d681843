#include "devices/cpu/kernels/neon/neon.h"
#include "devices/cpu/kernels/neon/quantized.h"
#include "devices/cpu/kernels/portable/portable.h"

namespace smoe::cpu {
namespace {

constexpr KernelTable kTable = {
    .name = "NEON",
    .tiles = {{neon::kFloatRows, neon::run_f32, nullptr},
              {neon::kFloatRows, neon::run_f16, neon::expand_f16},
              {neon::kFloatRows, neon::run_bf16, nullptr},
              {neon::kBlockRows, neon::run_q8_0, nullptr},
              {neon::kFloatRows, neon::run_f8, neon::expand_f8},
              {neon::kBlockRows, neon::run_q4_0, nullptr},
              {neon::kBlockRows, neon::run_q4_1, nullptr},
              {neon::kBlockRows, neon::run_q5_0, nullptr},
              {neon::kBlockRows, neon::run_q5_1, nullptr},
              {neon::kBlockRows, neon::run_q2_k, nullptr},
              {neon::kBlockRows, neon::run_q3_k, nullptr},
              {neon::kBlockRows, neon::run_q4_k, nullptr},
              {neon::kBlockRows, neon::run_q5_k, nullptr},
              {neon::kBlockRows, neon::run_q6_k, nullptr},
              {neon::kBlockRows, neon::run_iq4_nl, nullptr},
              {neon::kBlockRows, neon::run_iq4_xs, nullptr},
              {neon::kBlockRows, neon::run_mxfp4, nullptr}},
    .quantizer = {neon::kQuantizedBlockBytes, neon::quantize},
    .softmax_step = neon::softmax_step,
    .add_values = neon::add_values,
    .value_rows = neon::kFloatRows,
    .widen_f16 = neon::widen_f16,
    .widen_keys = neon::widen_keys,
    .widen_values = neon::widen_values,
    .normalize = neon::normalize,
    .gate = neon::gate,
    .rotate = neon::rotate,
    .add_weighted = portable::add_weighted,
};

}  // namespace

const KernelTable& neon_kernels() { return kTable; }

}  // namespace smoe::cpu
