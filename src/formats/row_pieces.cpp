#include "formats/row_pieces.h"

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "formats/tiles.h"

namespace smoe {
namespace {

// Large enough for a disk's full speed with a few reads under way, small enough that the buffers
// that reads arrive in stay a few MiB.
constexpr uint64_t kPieceReadBytes = kMiB;

// No disk has larger blocks, and pages are not larger either where direct reads are used.
constexpr uint64_t kDirectBlock = 4 * kKiB;

uint64_t bytes_of_row(DType dtype, uint32_t cols) {
  const auto bytes = row_bytes(dtype, cols);
  SMOE_CHECK(bytes.has_value());  // whoever listed the tensor has divided it into blocks
  return *bytes;
}

uint32_t tiles_a_piece(uint64_t row) {
  return static_cast<uint32_t>(std::max<uint64_t>(1, kPieceReadBytes / (row * kTileRows)));
}

}  // namespace

uint64_t RowPiece::read_begin() const { return offset / kDirectBlock * kDirectBlock; }

uint64_t RowPiece::read_bytes() const {
  return align_up<uint64_t>(offset + bytes, kDirectBlock) - read_begin();
}

RowPiece piece_at(const RecordLayout& layout, std::span<const RowSlice> slices, uint32_t segment,
                  uint32_t first_tile) {
  const Segment& matrix = layout.segments[segment];
  const RowSlice& slice = slices[segment];
  const uint64_t row = bytes_of_row(slice.dtype, matrix.cols);
  const uint32_t tiles = ceil_div(matrix.rows, kTileRows);
  SMOE_CHECK(first_tile < tiles);
  RowPiece piece;
  piece.segment = segment;
  piece.first_tile = first_tile;
  piece.tiles = std::min(tiles_a_piece(row), tiles - first_tile);
  const uint32_t first_row = first_tile * kTileRows;
  piece.rows = std::min(piece.tiles * kTileRows, matrix.rows - first_row);
  piece.file = slice.file;
  piece.dtype = slice.dtype;
  piece.offset = slice.offset + first_row * row;
  piece.bytes = piece.rows * row;
  return piece;
}

uint64_t largest_read_bytes(const RecordLayout& layout, const RowStore& store) {
  uint64_t largest = 0;
  for (size_t i = 0; i < store.slices.size(); ++i) {
    const Segment& matrix = layout.segments[i % layout.segments.size()];
    const uint64_t row = bytes_of_row(store.slices[i].dtype, matrix.cols);
    largest = std::max(largest, tiles_a_piece(row) * kTileRows * row);
  }
  return align_up<uint64_t>(largest, kDirectBlock) + kDirectBlock;
}

Status pack_piece(const RecordLayout& layout, const RowPiece& piece,
                  std::span<const std::byte> rows, std::span<std::byte> record) {
  const Segment& matrix = layout.segments[piece.segment];
  const RowMajor source = {
      .dtype = piece.dtype, .rows = piece.rows, .cols = matrix.cols, .data = rows, .scales = {}};
  const uint64_t bytes = tile_bytes(matrix.format, matrix.cols);
  for (uint32_t tile = 0; tile < piece.tiles; ++tile) {
    const uint64_t at = matrix.offset + (piece.first_tile + tile) * matrix.tile_stride;
    if (Status status = pack_tile(source, matrix.format, tile, record.subspan(at, bytes)); !status)
      return std::move(status).error().in(matrix.name + " from row " +
                                          std::to_string(piece.first_tile * kTileRows));
  }
  return {};
}

}  // namespace smoe
