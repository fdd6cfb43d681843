// Floats into ggml's blocks, with a search for the scales that lose least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "formats/dtype.h"

namespace smoe {

// Q8_0, Q6_K, Q5_K, Q4_K, Q3_K, IQ4_NL, Q4_0, MXFP4, and Q5_0 and Q5_1, which stand in for K
// blocks.
bool can_quantize_to(DType dtype);

// What rows of `cols` weights become where `wanted` is asked for.
struct BlockChoice {
  std::optional<DType> dtype;  // nothing: no block fits, the rows keep their type
  std::string reason;          // why it is not the wanted type; empty when it is
};
// Rows that do not fill blocks of 256 take the nearest type with blocks of 32, as in ggml: Q3_K
// IQ4_NL, Q4_K Q5_0, Q5_K Q5_1, Q6_K Q8_0.
BlockChoice block_type_for(DType wanted, uint64_t cols);

// One row. `importance` says how much an error in each column counts (the mean square of the
// activations that it meets); empty: all alike. Q8_0 ignores it.
// Shapes: `out` is row_bytes(dtype, row.size()) long, which the row fills.
// Fails: kNumeric for a weight that is NaN, infinite or too large for the type's scale, or an
// importance that is no number from 0 up, naming the column.  Threads: any, at once.
Status quantize_row(DType dtype, std::span<const float> row, std::span<const float> importance,
                    std::span<std::byte> out);

}  // namespace smoe
