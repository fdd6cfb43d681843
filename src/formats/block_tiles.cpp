#include "formats/block_tiles.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "formats/dtype.h"

namespace smoe {
namespace {

constexpr size_t kBlockVectorBytes = 64;  // 16 rows of four bytes

// A run of a block's bytes.
struct Run {
  uint16_t offset = 0;
  uint16_t bytes = 0;
};

// The scales that open a unit (1, 2 or 4 bytes a block), then what follows, scales first: a unit is
// read from its beginning to its end.
struct Parts {
  Format format;
  Run head;
  std::array<Run, 3> rest;
};

constexpr Parts kParts[] = {
    {Format::kQ8_0, {0, 2}, {{{2, 32}}}},
    {Format::kQ4_0, {0, 2}, {{{2, 16}}}},
    {Format::kQ4_1, {0, 4}, {{{4, 16}}}},
    {Format::kQ5_0, {0, 2}, {{{2, 4}, {6, 16}}}},
    {Format::kQ5_1, {0, 4}, {{{4, 4}, {8, 16}}}},
    {Format::kQ2_K, {80, 4}, {{{0, 16}, {16, 64}}}},
    {Format::kQ3_K, {108, 2}, {{{96, 12}, {0, 32}, {32, 64}}}},
    {Format::kQ4_K, {0, 4}, {{{4, 12}, {16, 128}}}},
    {Format::kQ5_K, {0, 4}, {{{4, 12}, {16, 32}, {48, 128}}}},
    {Format::kQ6_K, {208, 2}, {{{192, 16}, {0, 128}, {128, 64}}}},
    {Format::kIQ4_NL, {0, 2}, {{{2, 16}}}},
    {Format::kIQ4_XS, {0, 4}, {{{4, 4}, {8, 128}}}},
    {Format::kMXFP4, {0, 1}, {{{1, 16}}}},
};

const Parts* parts_of(Format format) {
  for (const Parts& parts : kParts)
    if (parts.format == format) return &parts;
  return nullptr;
}

// Calls copy(offset in the tile, offset in the block, bytes) for every run of a block's bytes.
template <class Copy>
void for_each_run(Format format, size_t index, uint32_t lane, const Copy& copy) {
  const Parts* parts = parts_of(format);
  SMOE_CHECK(parts != nullptr && lane < kTileRows);
  const Block block = block_of(info(format).source);
  const size_t unit_blocks = info(format).unit_k / block.weights;
  const size_t rest_bytes = size_t{block.bytes - parts->head.bytes} * kTileRows;
  const size_t unit = index / unit_blocks * info(format).unit_bytes;
  const size_t inside = index % unit_blocks;
  copy(unit + (inside * kTileRows + lane) * parts->head.bytes, parts->head.offset,
       parts->head.bytes);
  size_t word = unit + kBlockVectorBytes + inside * rest_bytes + size_t{lane} * 4;
  for (const Run& run : parts->rest)
    for (size_t at = 0; at < run.bytes; at += 4, word += kBlockVectorBytes)
      copy(word, run.offset + at, 4);
}

}  // namespace

bool is_block_format(Format format) { return parts_of(format) != nullptr; }

void pack_block_row(Format format, std::span<const std::byte> row, uint32_t lane,
                    std::span<std::byte> tile) {
  const size_t bytes = block_of(info(format).source).bytes;
  SMOE_CHECK(row.size() % bytes == 0);
  for (size_t index = 0; index * bytes < row.size(); ++index)
    for_each_run(format, index, lane, [&](size_t to, size_t from, size_t run_bytes) {
      std::memcpy(tile.data() + to, row.data() + index * bytes + from, run_bytes);
    });
}

void unpack_block(Format format, std::span<const std::byte> tile, uint32_t lane, size_t index,
                  std::span<std::byte> block) {
  for_each_run(format, index, lane, [&](size_t from, size_t to, size_t bytes) {
    std::memcpy(block.data() + to, tile.data() + from, bytes);
  });
}

}  // namespace smoe
