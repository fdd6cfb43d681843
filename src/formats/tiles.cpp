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
#include "base/units.h"

namespace smoe {
namespace {

constexpr uint32_t kScaleBlock = 128;  // rows and columns that share one scale of an FP8 checkpoint
constexpr uint32_t kQ8Block = 32;
constexpr size_t kVectorBytes = 64;  // 16 rows of four bytes

uint64_t row_bytes(const RowMajor& source) {
  return uint64_t{source.cols} * bytes_of(source.dtype);
}

const std::byte* row_data(const RowMajor& source, uint32_t row) {
  return source.data.data() + row * row_bytes(source);
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
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
    default:
      return f8_row_is_finite(source, row);
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

// Half away from zero, as ggml rounds, without a library call for each weight.
int8_t round_away(float value) {
  const auto whole = static_cast<int32_t>(value);
  const float rest = value - static_cast<float>(whole);  // exact
  return static_cast<int8_t>(whole + (rest >= 0.5F ? 1 : 0) - (rest <= -0.5F ? 1 : 0));
}

// Fails by returning false when the scale passes the largest fp16.
bool quantize_block(std::span<const float, kQ8Block> values, uint16_t& scale,
                    std::array<int8_t, kQ8Block>& quants) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const float step = largest / 127;
  scale = float_to_f16(step);
  float inverse = step != 0 ? 1 / step : 0;
  // A step below 2^-128 has no finite inverse; its fp16 scale is zero, whatever the codes.
  if (!std::isfinite(inverse)) inverse = 0;
  for (uint32_t k = 0; k < kQ8Block; ++k) quants[k] = round_away(values[k] * inverse);
  return std::isfinite(f16_to_float(scale));
}

Status pack_q8_row(std::span<const float> values, uint32_t row, uint32_t lane, std::byte* tile) {
  const FormatInfo& format = info(Format::kQ8_0);
  std::array<int8_t, kQ8Block> quants{};
  for (size_t block = 0; block * kQ8Block < values.size(); ++block) {
    const auto weights = values.subspan(block * kQ8Block).first<kQ8Block>();
    std::byte* unit = tile + block / 2 * format.unit_bytes;
    const size_t half = block % 2;
    uint16_t scale = 0;
    if (!quantize_block(weights, scale, quants))
      return Error{Code::kNumeric, "row " + std::to_string(row) + ", column " +
                                       std::to_string(block * kQ8Block) +
                                       ": a weight is too large for q8_0 (its scale passes 65504)"};
    store(unit + half * 32 + lane * 2, scale);
    std::byte* to = unit + kVectorBytes + half * 512 + lane * 4;
    for (uint32_t group = 0; group < kQ8Block / 4; ++group)
      std::memcpy(to + group * kVectorBytes, quants.data() + size_t{group} * 4, 4);
  }
  return {};
}

Status check_types(const RowMajor& source, Format target) {
  const auto exact = exact_format(source.dtype);
  if (!exact || (target != *exact && target != Format::kF32 && target != Format::kQ8_0))
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

template <class Convert>
void convert_row(const std::byte* data, std::span<float> out, Convert convert) {
  using Code = typename decltype(convert)::Code;
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = convert.to_float(load<Code>(data + k * sizeof(Code)));
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
constexpr std::array<float, 256> e4m3_values() {
  std::array<float, 256> values{};
  for (unsigned code = 0; code < values.size(); ++code)
    values[code] = e4m3_to_float(static_cast<uint8_t>(code));
  return values;
}

struct FromE4M3 {  // a table: ten times as fast as taking each code apart
  using Code = uint8_t;
  static constexpr std::array<float, 256> kValues = e4m3_values();
  static float to_float(uint8_t code) { return kValues[code]; }
};

// Where the codes of one lane lie: four bytes in every vector of 64.
template <class Convert>
float lane_value(const std::byte* lane, size_t k, Convert convert) {
  using Code = typename decltype(convert)::Code;
  constexpr size_t kCodes = 4 / sizeof(Code);
  return convert.to_float(load<Code>(lane + k / kCodes * kVectorBytes + k % kCodes * sizeof(Code)));
}

}  // namespace

std::optional<Format> exact_format(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Format::kF32;
    case DType::kF16:
      return Format::kF16;
    case DType::kBF16:
      return Format::kBF16;
    case DType::kF8E4M3:
      return Format::kF8E4M3;
    default:
      return std::nullopt;
  }
}

void read_row(const RowMajor& source, uint32_t row, std::span<float> out) {
  SMOE_CHECK(row < source.rows && out.size() == source.cols);
  SMOE_CHECK(source.data.size() == source.rows * row_bytes(source));
  const std::byte* data = row_data(source, row);
  switch (source.dtype) {
    case DType::kF32:
      return convert_row(data, out, FromF32());
    case DType::kF16:
      return convert_row(data, out, FromF16());
    case DType::kBF16:
      return convert_row(data, out, FromBF16());
    case DType::kF8E4M3:
      convert_row(data, out, FromE4M3());
      for (uint32_t block = 0; block < scale_columns(source); ++block) {
        const float scale = scale_at(source, row, block);
        const size_t first = size_t{block} * kScaleBlock;
        for (float& value : out.subspan(first, std::min<size_t>(kScaleBlock, out.size() - first)))
          value *= scale;
      }
      return;
    default:
      SMOE_CHECK(exact_format(source.dtype));  // the caller asks exact_format first
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
    } else if (exact) {
      pack_exact_row(source, row, out.data() + size_t{lane} * 4);
    } else {
      read_row(source, row, values);
      if (target == Format::kQ8_0) SMOE_DO(pack_q8_row(values, row, lane, out.data()));
      if (target == Format::kF32) pack_f32_row(values, lane, out.data());
    }
  }
  return {};
}

void unpack_row(Format format, std::span<const std::byte> tile, uint32_t lane,
                std::span<float> out) {
  SMOE_CHECK(lane < kTileRows && tile.size() == tile_bytes(format, out.size()));
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
      case Format::kQ8_0: {
        const size_t half = inside / kQ8Block;
        const size_t in_block = inside % kQ8Block;
        const std::byte* at = unit + kVectorBytes + half * 512 + in_block / 4 * kVectorBytes +
                              size_t{lane} * 4 + in_block % 4;
        out[k] = f16_to_float(load<uint16_t>(unit + half * 32 + size_t{lane} * 2)) *
                 static_cast<float>(load<int8_t>(at));
        break;
      }
      case Format::kF8E4M3:
        out[k] = lane_value(unit + kVectorBytes + size_t{lane} * 4, inside, FromE4M3()) *
                 load<float>(unit + size_t{lane} * 4);
        break;
    }
  }
}

}  // namespace smoe
