// A checkpoint's tensor into the bytes of a model folder, on all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "formats/checkpoint.h"
#include "formats/tiles.h"

namespace smoe {

// Packs tiles [first, first + tiles) into `out`, `stride` bytes apart.
// Fails: as pack_tile, with the first tile's error whatever the threads do.
Status pack_tiles(ThreadPool& pool, const RowMajor& source, Format target, uint32_t first,
                  uint32_t tiles, uint64_t stride, std::span<std::byte> out);

// A vector as floats. Fails: kNumeric when an element is not finite.
Result<std::vector<float>> vector_of(DType dtype, std::span<const std::byte> data);

// The block scales of an FP8 weight; none for other types.
Result<std::vector<float>> scales_of(TensorSource& source, const TensorSource::Tensor& weight);

}  // namespace smoe
