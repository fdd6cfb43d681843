#include "formats/tiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/floats.h"
#include "base/unaligned.h"
#include "base/units.h"
#include "formats/block_tiles.h"
#include "formats/dequantize.h"
#include "formats/quantize.h"

namespace smoe {
namespace {

constexpr uint32_t kScaleBlock = 128;  // rows and columns that share one scale of an FP8 checkpoint
constexpr size_t kVectorBytes = 64;    // 16 rows of four bytes

uint64_t row_bytes(const RowMajor& source) {
  const auto bytes = row_bytes(source.dtype, source.cols);
  SMOE_CHECK(bytes.has_value());  // whoever listed the tensor has divided it into blocks
  return *bytes;
}

const std::byte* row_data(const RowMajor& source, uint32_t row) {
  return source.data.data() + row * row_bytes(source);
}

uint32_t scale_columns(const RowMajor& source) { return ceil_div(source.cols, kScaleBlock); }

float scale_at(const RowMajor& source, uint32_t row, uint32_t block) {
  return source.scales[size_t{row / kScaleBlock} * scale_columns(source) + block];
}

Error not_finite(uint32_t row, uint32_t col, std::string_view what, float value) {
  return {Code::kNumeric, "row " + std::to_string(row) + ", column " + std::to_string(col) +
                              ": the " + std::string(what) + " is " +
                              (std::isnan(value) ? "NaN" : "infinite")};
}

// Only read once a row is known to hold a value that is not finite.
Error locate(const RowMajor& source, uint32_t row) {
  for (uint32_t block = 0; block < scale_columns(source) && !source.scales.empty(); ++block)
    if (const float scale = scale_at(source, row, block); !std::isfinite(scale))
      return not_finite(row, block * kScaleBlock, "scale of the block", scale);
  std::vector<float> values(source.cols);
  read_row(source, row, values);
  const auto bad = std::find_if_not(values.begin(), values.end(),
                                    [](float value) { return std::isfinite(value); });
  SMOE_CHECK(bad != values.end());
  return not_finite(row, static_cast<uint32_t>(bad - values.begin()), "weight", *bad);
}

// Whether any exponent is all ones. `Bits` is the unsigned type of the element's size.
template <class Bits>
bool all_finite(const std::byte* row, uint32_t cols, Bits exponent) {
  Bits found = 0;
  for (uint32_t k = 0; k < cols; ++k) {
    const Bits bits = load<Bits>(row + size_t{k} * sizeof(Bits)) & exponent;
    found |= static_cast<Bits>(bits == exponent);
  }
  return found == 0;
}

bool all_finite(std::span<const float> values) {
  return all_finite<uint32_t>(std::as_bytes(values).data(), static_cast<uint32_t>(values.size()),
                              0x7f800000U);
}

// Finite codes with scales so small that no product overflows; other scales are multiplied out.
bool f8_row_is_finite(const RowMajor& source, uint32_t row) {
  constexpr float kSafeScale = std::numeric_limits<float>::max() / 512;  // codes end at 448
  bool safe = true;
  for (uint32_t block = 0; block < scale_columns(source); ++block)
    safe = safe && std::abs(scale_at(source, row, block)) <= kSafeScale;
  const std::byte* data = row_data(source, row);
  unsigned found = 0;
  for (uint32_t k = 0; k < source.cols; ++k)
    found |= (data[k] & std::byte{0x7f}) == std::byte{0x7f} ? 1U : 0U;
  if (safe || found != 0) return found == 0;
  std::vector<float> values(source.cols);
  read_row(source, row, values);
  return all_finite(values);
}

bool row_is_finite(const RowMajor& source, uint32_t row) {
  const std::byte* data = row_data(source, row);
  switch (source.dtype) {
    case DType::kF32:
      return all_finite<uint32_t>(data, source.cols, 0x7f800000U);
    case DType::kF16:
      return all_finite<uint16_t>(data, source.cols, 0x7c00U);
    case DType::kBF16:
      return all_finite<uint16_t>(data, source.cols, 0x7f80U);
    case DType::kF8E4M3:
      return f8_row_is_finite(source, row);
    default:
      return is_finite_row(source.dtype, {data, row_bytes(source)});
  }
}

// F32, F16 and BF16 as they are: four bytes of a row for each lane and vector.
void pack_exact_row(const RowMajor& source, uint32_t row, std::byte* lane) {
  const std::byte* data = row_data(source, row);
  const uint64_t bytes = row_bytes(source);
  uint64_t at = 0;
  for (; at + 4 <= bytes; at += 4) std::memcpy(lane + at * (kVectorBytes / 4), data + at, 4);
  if (at < bytes) std::memcpy(lane + at * (kVectorBytes / 4), data + at, bytes - at);
}

void pack_f8_row(const RowMajor& source, uint32_t row, uint32_t lane, std::byte* tile) {
  const FormatInfo& format = info(Format::kF8E4M3);
  const std::byte* data = row_data(source, row);
  for (uint32_t block = 0; block < scale_columns(source); ++block) {
    std::byte* unit = tile + size_t{block} * format.unit_bytes + size_t{lane} * 4;
    const uint32_t first = block * format.unit_k;
    store(unit, scale_at(source, row, block));
    const uint32_t codes = std::min(format.unit_k, source.cols - first);
    for (uint32_t k = 0; k < codes; k += 4)
      std::memcpy(unit + kVectorBytes + size_t{k / 4} * kVectorBytes, data + first + k,
                  std::min(4U, codes - k));
  }
}

void pack_f32_row(std::span<const float> values, uint32_t lane, std::byte* tile) {
  for (size_t k = 0; k < values.size(); ++k) store(tile + k * kVectorBytes + lane * 4, values[k]);
}

Status pack_quantized_row(const RowMajor& source, std::span<const float> values, Format target,
                          uint32_t row, std::span<std::byte> tile) {
  const DType dtype = info(target).source;
  std::vector<std::byte> blocks(*row_bytes(dtype, values.size()));
  if (Status status = quantize_row(dtype, values, source.importance, blocks); !status)
    return std::move(status).error().in("row " + std::to_string(row));
  pack_block_row(target, blocks, row % kTileRows, tile);
  return {};
}

Status check_types(const RowMajor& source, Format target) {
  const auto exact = exact_format(source.dtype);
  const bool quantizes = can_quantize_to(info(target).source) && !is_block(source.dtype);
  if (!exact || (target != *exact && target != Format::kF32 && !quantizes))
    return Error{Code::kUnsupported, "cannot store " + std::string(name_of(source.dtype)) +
                                         " weights as " + std::string(info(target).name)};
  if (source.cols % info(target).block_k != 0)
    return Error{Code::kUnsupported, "rows of " + std::to_string(source.cols) +
                                         " weights do not fill blocks of " +
                                         std::to_string(info(target).block_k) + " (" +
                                         std::string(info(target).name) + ")"};
  if (source.dtype != DType::kF8E4M3) return {};
  const size_t wanted = size_t{ceil_div(source.rows, kScaleBlock)} * scale_columns(source);
  if (source.scales.size() != wanted)
    return Error{Code::kCorrupt, std::to_string(source.scales.size()) + " block scales, " +
                                     std::to_string(wanted) + " are needed for " +
                                     std::to_string(source.rows) + " x " +
                                     std::to_string(source.cols) + " weights in 128 x 128 blocks"};
  return {};
}

struct FromF32 {
  using Code = float;
  static float to_float(float value) { return value; }
};
struct FromF16 {
  using Code = uint16_t;
  static float to_float(uint16_t code) { return f16_to_float(code); }
};
struct FromBF16 {
  using Code = uint16_t;
  static float to_float(uint16_t code) { return bf16_to_float(code); }
};
struct FromE4M3 {
  using Code = uint8_t;
  static float to_float(uint8_t code) { return e4m3_to_float(code); }
};

// Where the codes of one lane lie: four bytes in every vector of 64.
template <class Convert>
float lane_value(const std::byte* lane, size_t k, Convert convert) {
  using Code = typename decltype(convert)::Code;
  constexpr size_t kCodes = 4 / sizeof(Code);
  return convert.to_float(load<Code>(lane + k / kCodes * kVectorBytes + k % kCodes * sizeof(Code)));
}

// Block by block, because a step may not allocate and looks its embeddings up with this.
void unpack_blocks(Format format, std::span<const std::byte> tile, uint32_t lane,
                   std::span<float> out) {
  const DType dtype = info(format).source;
  const Block block = block_of(dtype);
  std::array<std::byte, 256> buffer;
  const auto bytes = std::span(buffer).first(block.bytes);
  for (size_t index = 0; index * block.weights < out.size(); ++index) {
    unpack_block(format, tile, lane, index, bytes);
    dequantize_row(dtype, bytes, out.subspan(index * block.weights, block.weights));
  }
}

}  // namespace

std::optional<Format> exact_format(DType dtype) {
  for (size_t i = 0; i < kFormats; ++i)
    if (info(static_cast<Format>(i)).source == dtype) return static_cast<Format>(i);
  return std::nullopt;
}

void read_row(const RowMajor& source, uint32_t row, std::span<float> out) {
  SMOE_CHECK(row < source.rows && out.size() == source.cols);
  SMOE_CHECK(source.data.size() == source.rows * row_bytes(source));
  dequantize_row(source.dtype, {row_data(source, row), row_bytes(source)}, out);
  if (source.dtype != DType::kF8E4M3) return;
  for (uint32_t block = 0; block < scale_columns(source); ++block) {
    const float scale = scale_at(source, row, block);
    const size_t first = size_t{block} * kScaleBlock;
    for (float& value : out.subspan(first, std::min<size_t>(kScaleBlock, out.size() - first)))
      value *= scale;
  }
}

Status pack_tile(const RowMajor& source, Format target, uint32_t tile, std::span<std::byte> out) {
  SMOE_DO(check_types(source, target));
  SMOE_CHECK(out.size() == tile_bytes(target, source.cols));
  SMOE_CHECK(source.data.size() == source.rows * row_bytes(source));
  SMOE_CHECK(uint64_t{tile} * kTileRows < source.rows);
  std::fill(out.begin(), out.end(), std::byte{0});
  const uint32_t first = tile * kTileRows;
  const uint32_t lanes = std::min(kTileRows, source.rows - first);
  const bool exact = target == exact_format(source.dtype);
  std::vector<float> values(exact ? 0 : source.cols);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    const uint32_t row = first + lane;
    if (!row_is_finite(source, row)) return locate(source, row);
    if (target == Format::kF8E4M3) {
      pack_f8_row(source, row, lane, out.data());
    } else if (exact && is_block(source.dtype)) {
      pack_block_row(target, {row_data(source, row), row_bytes(source)}, lane, out);
    } else if (exact) {
      pack_exact_row(source, row, out.data() + size_t{lane} * 4);
    } else {
      read_row(source, row, values);
      if (target == Format::kF32) {
        pack_f32_row(values, lane, out.data());
      } else {
        SMOE_DO(pack_quantized_row(source, values, target, row, out));
      }
    }
  }
  return {};
}

void unpack_row(Format format, std::span<const std::byte> tile, uint32_t lane,
                std::span<float> out) {
  SMOE_CHECK(lane < kTileRows && tile.size() == tile_bytes(format, out.size()));
  if (is_block_format(format)) return unpack_blocks(format, tile, lane, out);
  const FormatInfo& units = info(format);
  for (size_t k = 0; k < out.size(); ++k) {
    const std::byte* unit = tile.data() + k / units.unit_k * units.unit_bytes;
    const size_t inside = k % units.unit_k;
    switch (format) {
      case Format::kF32:
        out[k] = lane_value(unit + size_t{lane} * 4, inside, FromF32());
        break;
      case Format::kF16:
        out[k] = lane_value(unit + size_t{lane} * 4, inside, FromF16());
        break;
      case Format::kBF16:
        out[k] = lane_value(unit + size_t{lane} * 4, inside, FromBF16());
        break;
      case Format::kF8E4M3:
        out[k] = lane_value(unit + kVectorBytes + size_t{lane} * 4, inside, FromE4M3()) *
                 load<float>(unit + size_t{lane} * 4);
        break;
      default:
        SMOE_CHECK(false);  // blocks
    }
  }
}

}  // namespace smoe
