// One block of each type that quantize_row makes.
#pragma once

#include <cstddef>

#include "formats/quantize_fit.h"

namespace smoe {

// `in` is one block, finite. `out` is one block, zeroed. False when a scale passes the largest
// fp16.
using BlockQuantizer = bool (*)(const Weighted& in, std::byte* out);

bool quantize_q8_0(const Weighted& in, std::byte* out);
bool quantize_q4_0(const Weighted& in, std::byte* out);
bool quantize_q5_0(const Weighted& in, std::byte* out);
bool quantize_q5_1(const Weighted& in, std::byte* out);
bool quantize_iq4_nl(const Weighted& in, std::byte* out);
bool quantize_mxfp4(const Weighted& in, std::byte* out);
bool quantize_q3_k(const Weighted& in, std::byte* out);
bool quantize_q4_k(const Weighted& in, std::byte* out);
bool quantize_q5_k(const Weighted& in, std::byte* out);
bool quantize_q6_k(const Weighted& in, std::byte* out);

}  // namespace smoe
