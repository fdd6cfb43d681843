#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx512/avx512.h"
#include "devices/cpu/kernels/portable/portable.h"

namespace smoe::cpu {
namespace {

constexpr KernelTable kTable = {
    .name = "AVX-512 VNNI",
    .tiles = {{avx512::kRows, avx512::run_f32, nullptr},
              {avx512::kRows, avx512::run_f16, avx2::expand_f16},
              {avx512::kRows, avx512::run_bf16, nullptr},
              {avx512::kRows, avx512::run_q8_0, nullptr},
              {avx2::kScaledRows, avx2::run_f8, avx2::expand_f8},
              {avx512::kRows, avx512::run_q4_0, nullptr},
              {avx512::kRows, avx512::run_q4_1, nullptr},
              {avx512::kRows, avx512::run_q5_0, nullptr},
              {avx512::kRows, avx512::run_q5_1, nullptr},
              {avx2::kBlockRows, avx2::run_q2_k, nullptr},
              {avx2::kBlockRows, avx2::run_q3_k, nullptr},
              {avx2::kBlockRows, avx2::run_q4_k, nullptr},
              {avx2::kBlockRows, avx2::run_q5_k, nullptr},
              {avx2::kBlockRows, avx2::run_q6_k, nullptr},
              {avx512::kRows, avx512::run_iq4_nl, nullptr},
              {avx2::kBlockRows, avx2::run_iq4_xs, nullptr},
              {avx512::kRows, avx512::run_mxfp4, nullptr}},
    .quantizer = {avx2::kQuantizedBlockBytes, avx2::quantize},
    .softmax_step = avx2::softmax_step,
    .add_values = avx2::add_values,
    .value_rows = avx2::kFloatRows,
    .widen_f16 = avx2::widen_f16,
    .widen_keys = avx2::widen_keys,
    .widen_values = avx2::widen_values,
    .normalize = avx2::normalize,
    .gate = avx2::gate,
    .rotate = avx2::rotate,
    .add_weighted = portable::add_weighted,
};

}  // namespace

const KernelTable& avx512_kernels() { return kTable; }

}  // namespace smoe::cpu
