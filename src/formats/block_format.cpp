#include "formats/block_format.h"

#include <array>

#include "base/units.h"

namespace smoe {
namespace {

// In the order of the enumerators.
constexpr std::array<FormatInfo, kFormats> kInfos = {{
    {"f32", 1, 64, 1, true, DType::kF32},
    {"f16", 2, 64, 1, true, DType::kF16},
    {"bf16", 2, 64, 1, true, DType::kBF16},
    {"q8_0", 64, 1088, 32, true, DType::kQ8_0},
    {"f8_e4m3", 128, 2112, 1, true, DType::kF8E4M3},
    {"q4_0", 64, 576, 32, true, DType::kQ4_0},
    {"q4_1", 32, 320, 32, true, DType::kQ4_1},
    {"q5_0", 64, 704, 32, true, DType::kQ5_0},
    {"q5_1", 32, 384, 32, true, DType::kQ5_1},
    {"q2_k", 256, 1344, 256, true, DType::kQ2_K},
    {"q3_k", 512, 3520, 256, true, DType::kQ3_K},
    {"q4_k", 256, 2304, 256, true, DType::kQ4_K},
    {"q5_k", 256, 2816, 256, true, DType::kQ5_K},
    {"q6_k", 512, 6720, 256, true, DType::kQ6_K},
    {"iq4_nl", 64, 576, 32, true, DType::kIQ4_NL},
    {"iq4_xs", 256, 2176, 256, true, DType::kIQ4_XS},
    {"mxfp4", 128, 1088, 32, true, DType::kMXFP4},
}};
static_assert(static_cast<size_t>(Format::kMXFP4) + 1 == kFormats);

}  // namespace

const FormatInfo& info(Format format) { return kInfos[static_cast<size_t>(format)]; }

std::optional<Format> format_named(std::string_view name) {
  for (size_t i = 0; i < kInfos.size(); ++i)
    if (kInfos[i].name == name) return static_cast<Format>(i);
  return std::nullopt;
}

std::string computed_formats() {
  std::string names;
  for (const FormatInfo& one : kInfos)
    if (one.computed) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

uint64_t tile_bytes(Format format, uint64_t cols) {
  return ceil_div<uint64_t>(cols, info(format).unit_k) * info(format).unit_bytes;
}

uint64_t matrix_bytes(Format format, uint64_t rows, uint64_t cols) {
  return ceil_div<uint64_t>(rows, kTileRows) * tile_bytes(format, cols);
}

}  // namespace smoe
