// The layout of one expert's record in a vault, and of any re-tiled tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "formats/block_format.h"

namespace smoe {

// A matrix in 16-row tiles inside a record or a scout tensor. Tile t starts at
// offset + t * tile_stride; a stride larger than tile_bytes means interleaving with another segment
// (gate and up share their range so that a fused SwiGLU reads one stream).
struct Segment {
  std::string name;  // "gate", "up", "down"
  Format format = Format::kF32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint64_t offset = 0;       // from the record's start; multiple of 256
  uint64_t tile_stride = 0;  // bytes from a tile to the next
};

struct RecordLayout {
  std::vector<Segment> segments;
  uint64_t record_bytes = 0;  // padded to kPageBytes

  const Segment* find(std::string_view name) const;

  // gate and up [width, cols] interleaved tile by tile when their formats agree, else one after the
  // other; then down [cols, width].
  static RecordLayout of_expert(uint32_t cols, uint32_t width, Format gate, Format up, Format down);

  void write(JsonWriter& json) const;
  // Checks every bound: known formats, sizes that fit, segments inside the record, no overlap.
  // Fails: kCorrupt, kUnsupported.
  static Result<RecordLayout> read(const Json& json);
};

}  // namespace smoe
