#include "formats/record.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace smoe {
namespace {

constexpr uint64_t kSegmentAlignment = 256;  // some GPUs bind buffers on this boundary only
constexpr uint64_t kTileAlignment = 64;
constexpr size_t kMaxSegments = 16;
constexpr std::string_view kTiles16 = "tiles16";

Error record_corrupt(std::string message) {
  return {Code::kCorrupt, "record: " + std::move(message)};
}

uint64_t tiles_of(const Segment& segment) { return ceil_div(segment.rows, kTileRows); }

// From the first byte to the end of the last tile, what lies between included. Nothing when the
// numbers, which may come from a file, are beyond 64 bits.
std::optional<uint64_t> span_bytes(const Segment& segment) {
  const auto strides = checked_mul(tiles_of(segment) - 1, segment.tile_stride);
  return strides ? checked_add(*strides, tile_bytes(segment.format, segment.cols)) : strides;
}

Segment segment_of(std::string name, Format format, uint32_t rows, uint32_t cols) {
  return {.name = std::move(name),
          .format = format,
          .rows = rows,
          .cols = cols,
          .offset = 0,
          .tile_stride = tile_bytes(format, cols)};
}

// Both segments are known to lie inside the record.
bool overlap(const Segment& a, const Segment& b) {
  if (a.offset + *span_bytes(a) <= b.offset || b.offset + *span_bytes(b) <= a.offset) return false;
  if (a.tile_stride != b.tile_stride) return true;
  // Interleaved: b's tiles must fit between the end of a tile of a and its next one.
  const uint64_t stride = a.tile_stride;
  const uint64_t phase = (b.offset % stride + stride - a.offset % stride) % stride;
  return phase < tile_bytes(a.format, a.cols) || phase + tile_bytes(b.format, b.cols) > stride;
}

Result<uint64_t> number(const Json& json, std::string_view key, uint64_t most) {
  const Json* value = json.find(key);
  const auto found = value != nullptr ? value->as_uint() : std::nullopt;
  if (!found || *found > most)
    return record_corrupt("\"" + std::string(key) + "\" must be a number up to " +
                          std::to_string(most));
  return *found;
}

Result<std::string> text(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  const auto found = value != nullptr ? value->as_string() : std::nullopt;
  if (!found) return record_corrupt("\"" + std::string(key) + "\" must be a string");
  return std::string(*found);
}

Status check_segment(const Segment& segment, uint64_t record_bytes) {
  const auto wrong = [&](std::string_view fact) {
    return record_corrupt("segment " + json_quote(segment.name) + ": " + std::string(fact));
  };
  if (segment.rows == 0 || segment.cols == 0) return wrong("has no rows or no columns");
  if (segment.cols % info(segment.format).block_k != 0)
    return wrong("its rows do not fill the format's blocks");
  if (segment.offset % kSegmentAlignment != 0) return wrong("its offset is no multiple of 256");
  if (segment.tile_stride % kTileAlignment != 0 ||
      segment.tile_stride < tile_bytes(segment.format, segment.cols))
    return wrong("its tile_stride is shorter than a tile or no multiple of 64");
  const auto span = span_bytes(segment);
  const auto end = span ? checked_add(segment.offset, *span) : span;
  if (!end || *end > record_bytes) return wrong("ends outside the record");
  return {};
}

Result<Segment> read_segment(const Json& json, uint64_t record_bytes) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  Segment segment;
  SMOE_TRY(segment.name, text(json, "name"));
  SMOE_TRY(const std::string format_name, text(json, "format"));
  SMOE_TRY(const std::string layout, text(json, "layout"));
  const auto format = format_named(format_name);
  if (!format || !info(*format).computed || layout != kTiles16)
    return Error{Code::kUnsupported, "record: segment " + json_quote(segment.name) + " is " +
                                         json_quote(format_name) + " in " + json_quote(layout) +
                                         ", which this build does not know"};
  segment.format = *format;
  SMOE_TRY(const uint64_t rows, number(json, "rows", kMost));
  SMOE_TRY(const uint64_t cols, number(json, "cols", kMost));
  segment.rows = static_cast<uint32_t>(rows);
  segment.cols = static_cast<uint32_t>(cols);
  SMOE_TRY(segment.offset, number(json, "offset", record_bytes));
  SMOE_TRY(segment.tile_stride, number(json, "tile_stride", record_bytes));
  SMOE_DO(check_segment(segment, record_bytes));
  SMOE_TRY(const uint64_t bytes, number(json, "bytes", record_bytes));
  if (bytes != *span_bytes(segment))
    return record_corrupt("segment " + json_quote(segment.name) + ": " + std::to_string(bytes) +
                          " bytes, its shape needs " + std::to_string(*span_bytes(segment)));
  return segment;
}

}  // namespace

const Segment* RecordLayout::find(std::string_view name) const {
  for (const Segment& segment : segments)
    if (segment.name == name) return &segment;
  return nullptr;
}

RecordLayout RecordLayout::of_expert(uint32_t cols, uint32_t width, Format gate, Format up,
                                     Format down) {
  SMOE_CHECK(cols > 0 && width > 0);
  Segment gates = segment_of("gate", gate, width, cols);
  Segment ups = segment_of("up", up, width, cols);
  Segment downs = segment_of("down", down, cols, width);
  if (gate == up) {
    const uint64_t half = align_up(gates.tile_stride, kSegmentAlignment);
    ups.offset = half;
    gates.tile_stride = ups.tile_stride = 2 * half;
  } else {
    ups.offset = align_up(*span_bytes(gates), kSegmentAlignment);
  }
  downs.offset = align_up(ups.offset + *span_bytes(ups), kSegmentAlignment);
  RecordLayout layout;
  layout.record_bytes = align_up<uint64_t>(downs.offset + *span_bytes(downs), kPageBytes);
  layout.segments = {std::move(gates), std::move(ups), std::move(downs)};
  return layout;
}

void RecordLayout::write(JsonWriter& json) const {
  json.begin_object().member("record_bytes", record_bytes).key("segments").begin_array();
  for (const Segment& segment : segments) {
    json.begin_object()
        .member("name", segment.name)
        .member("format", info(segment.format).name)
        .member("layout", kTiles16)
        .member("rows", segment.rows)
        .member("cols", segment.cols)
        .member("offset", segment.offset)
        .member("tile_stride", segment.tile_stride)
        .member("bytes", *span_bytes(segment))
        .end_object();
  }
  json.end_array().end_object();
}

Result<RecordLayout> RecordLayout::read(const Json& json) {
  RecordLayout layout;
  SMOE_TRY(layout.record_bytes, number(json, "record_bytes", uint64_t{1} << 62));
  if (layout.record_bytes == 0 || layout.record_bytes % kPageBytes != 0)
    return record_corrupt("record_bytes " + std::to_string(layout.record_bytes) +
                          " is no multiple of " + std::to_string(kPageBytes));
  const Json* segments = json.find("segments");
  if (segments == nullptr || segments->items().empty() || segments->items().size() > kMaxSegments)
    return record_corrupt("\"segments\" must be a list of 1 to " + std::to_string(kMaxSegments));
  for (const Json& item : segments->items()) {
    SMOE_TRY(const Segment segment, read_segment(item, layout.record_bytes));
    for (const Segment& other : layout.segments) {
      if (other.name == segment.name)
        return record_corrupt("two segments are named " + json_quote(segment.name));
      if (overlap(other, segment))
        return record_corrupt("segments " + json_quote(other.name) + " and " +
                              json_quote(segment.name) + " overlap");
    }
    layout.segments.push_back(segment);
  }
  return layout;
}

}  // namespace smoe
