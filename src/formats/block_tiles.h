// ggml's blocks in 16-row tiles: a transposition of their bytes, of which none is changed.
//
// A unit holds the scales of as many blocks of a row as fill four bytes, then the rest of each
// block, in four-byte words: vector v of 64 bytes has word v of the 16 rows, row r at 4r.
// docs/block-formats.md has the offsets of each format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/block_format.h"

namespace smoe {

// Whether a tile of this format is made of blocks. Q8_0 is.
bool is_block_format(Format format);

// One row of blocks, as a GGUF file has it, into its lane of a tile. What is missing of a last unit
// is left as it is.
void pack_block_row(Format format, std::span<const std::byte> row, uint32_t lane,
                    std::span<std::byte> tile);
// Block `index` of a lane's row, as it was. Cost: no allocation.
void unpack_block(Format format, std::span<const std::byte> tile, uint32_t lane, size_t index,
                  std::span<std::byte> block);

}  // namespace smoe
