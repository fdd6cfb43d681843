#include "formats/block_format.h"

#include <array>

#include "base/units.h"

namespace smoe {
namespace {

// In the order of the enumerators.
constexpr std::array<FormatInfo, kFormats> kInfos = {{
    {.name = "f32", .unit_k = 1, .unit_bytes = 64, .block_k = 1},
    {.name = "f16", .unit_k = 2, .unit_bytes = 64, .block_k = 1},
    {.name = "bf16", .unit_k = 2, .unit_bytes = 64, .block_k = 1},
    {.name = "q8_0", .unit_k = 64, .unit_bytes = 1088, .block_k = 32},
    {.name = "f8_e4m3", .unit_k = 128, .unit_bytes = 2112, .block_k = 1},
}};
static_assert(static_cast<size_t>(Format::kF8E4M3) + 1 == kFormats);

}  // namespace

const FormatInfo& info(Format format) { return kInfos[static_cast<size_t>(format)]; }

std::optional<Format> format_named(std::string_view name) {
  for (size_t i = 0; i < kInfos.size(); ++i)
    if (kInfos[i].name == name) return static_cast<Format>(i);
  return std::nullopt;
}

uint64_t tile_bytes(Format format, uint64_t cols) {
  return ceil_div<uint64_t>(cols, info(format).unit_k) * info(format).unit_bytes;
}

uint64_t matrix_bytes(Format format, uint64_t rows, uint64_t cols) {
  return ceil_div<uint64_t>(rows, kTileRows) * tile_bytes(format, cols);
}

}  // namespace smoe
