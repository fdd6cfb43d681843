// Records that no vault holds: their matrices lie in files of another kind, row after row, and are
// brought into tiles piece by piece as they arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "formats/dtype.h"
#include "formats/record.h"

namespace smoe {

// Where a matrix lies in a file, and in which type.
struct RowSlice {
  uint64_t offset = 0;
  uint32_t file = 0;  // of RowStore::files
  DType dtype = DType::kF32;
};

// Where all records of a layer lie.
struct RowStore {
  std::vector<std::filesystem::path> files;
  std::vector<RowSlice> slices;  // expert after expert, each in the order of RecordLayout::segments

  bool empty() const { return slices.empty(); }
};

// A run of whole tiles of one matrix, small enough to be read at once, and the bytes of its rows.
struct RowPiece {
  uint32_t segment = 0;
  uint32_t first_tile = 0;
  uint32_t tiles = 0;
  uint32_t rows = 0;  // the last tile may have fewer than 16
  uint32_t file = 0;
  DType dtype = DType::kF32;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  // The range of the file rounded out to blocks that any direct read takes.
  uint64_t read_begin() const;
  uint64_t read_bytes() const;
};

// The piece of a record that begins at that tile of that segment.
RowPiece piece_at(const RecordLayout& layout, std::span<const RowSlice> slices, uint32_t segment,
                  uint32_t first_tile);

// No piece of these records needs more room than this to be read into.
uint64_t largest_read_bytes(const RecordLayout& layout, const RowStore& store);

// The tiles of a piece, from the bytes of its rows. Cost: no allocation where the segment keeps the
// rows' own type. Fails: as pack_tile.
Status pack_piece(const RecordLayout& layout, const RowPiece& piece,
                  std::span<const std::byte> rows, std::span<std::byte> record);

}  // namespace smoe
