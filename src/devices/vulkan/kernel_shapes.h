// How the kernels of product.comp divide a matrix, and what all kernels' push constants have in
// common.
#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "devices/vulkan/recorder.h"
#include "formats/block_format.h"

namespace smoe::vulkan {

inline constexpr uint32_t kPieceColumns = 4;
inline constexpr uint32_t kMostPieces = 8;  // that are unrolled
inline constexpr uint32_t kChainsOfGroup = 8;
inline constexpr uint32_t kMostHeadDim = 512;

struct ProductShape {
  uint32_t threads = 0;       // of a workgroup
  uint32_t chain_groups = 0;  // a chain is so many times
  uint32_t chain_pieces = 0;  // so many pieces
  uint32_t chain_slots = 0;   // chains of a tile, in whole groups of eight
  uint32_t groups = 0;        // workgroups
  uint32_t ragged = 0;        // 1: the columns are no multiple of a chain
};

inline constexpr uint32_t kLeastThreads = 256;
inline constexpr uint32_t kWideThreads = 512;
inline constexpr uint32_t kWideColumns = 2048;  // more are worth more threads,
inline constexpr uint32_t kWideRows = 32768;    // and so are so many rows

// Chains as short as the threads allow, or up to twice as long where fewer threads are left over.
// It depends on the matrix alone: so do the bits of its products.
inline ProductShape shape_of(uint32_t rows, uint32_t cols, uint32_t most_threads) {
  const bool wide = most_threads >= kWideThreads && (cols > kWideColumns || rows >= kWideRows);
  const uint32_t threads = wide ? kWideThreads : kLeastThreads;
  const uint32_t chains = threads / 4;
  const uint32_t pieces = ceil_div(cols, kPieceColumns);
  ProductShape best;
  uint32_t least_left = chains + 1;
  const uint32_t shortest = ceil_div(pieces, chains);
  for (uint32_t length = shortest; length <= 2 * shortest; ++length) {
    ProductShape shape;
    shape.threads = threads;
    shape.chain_groups = ceil_div(length, kMostPieces);
    shape.chain_pieces = ceil_div(length, shape.chain_groups);
    const uint32_t whole = shape.chain_groups * shape.chain_pieces;
    shape.chain_slots = align_up(ceil_div(pieces, whole), kChainsOfGroup);
    const uint32_t tiles = chains / shape.chain_slots;
    shape.groups = ceil_div(ceil_div(rows, kTileRows), tiles);
    shape.ragged = cols % (whole * kPieceColumns) != 0 ? 1 : 0;
    if (const uint32_t left = chains - tiles * shape.chain_slots; left < least_left) {
      least_left = left;
      best = shape;
    }
  }
  return best;
}

inline uint32_t words_of(uint64_t bytes) { return static_cast<uint32_t>(bytes / 16); }

// T begins with T::kAddresses addresses.
template <class T>
Push push_of(const T& push) {
  return {std::as_bytes(std::span(&push, 1)), T::kAddresses};
}

}  // namespace smoe::vulkan
