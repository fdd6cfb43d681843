#include "formats/dtype.h"

#include <array>

#include "base/check.h"
#include "base/units.h"

namespace smoe {
namespace {

struct DTypeInfo {
  std::string_view name;
  Block block;
};

// In the order of the enumerators.
constexpr std::array<DTypeInfo, kDTypes> kTypes = {{
    {"BOOL", {1, 1}},     {"U8", {1, 1}},       {"I8", {1, 1}},       {"F8_E4M3", {1, 1}},
    {"F8_E5M2", {1, 1}},  {"F8_E8M0", {1, 1}},  {"I16", {1, 2}},      {"U16", {1, 2}},
    {"F16", {1, 2}},      {"BF16", {1, 2}},     {"I32", {1, 4}},      {"U32", {1, 4}},
    {"F32", {1, 4}},      {"F64", {1, 8}},      {"I64", {1, 8}},      {"U64", {1, 8}},
    {"Q4_0", {32, 18}},   {"Q4_1", {32, 20}},   {"Q5_0", {32, 22}},   {"Q5_1", {32, 24}},
    {"Q8_0", {32, 34}},   {"Q2_K", {256, 84}},  {"Q3_K", {256, 110}}, {"Q4_K", {256, 144}},
    {"Q5_K", {256, 176}}, {"Q6_K", {256, 210}}, {"IQ4_NL", {32, 18}}, {"IQ4_XS", {256, 136}},
    {"MXFP4", {32, 17}},
}};
static_assert(kTypes.size() == static_cast<size_t>(DType::kMXFP4) + 1);

const DTypeInfo& info(DType dtype) { return kTypes[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view name_of(DType dtype) { return info(dtype).name; }

size_t bytes_of(DType dtype) {
  SMOE_CHECK(!is_block(dtype));
  return info(dtype).block.bytes;
}

Block block_of(DType dtype) { return info(dtype).block; }

bool is_block(DType dtype) { return info(dtype).block.weights > 1; }

std::optional<uint64_t> row_bytes(DType dtype, uint64_t cols) {
  const Block block = block_of(dtype);
  if (cols % block.weights != 0) return std::nullopt;
  return checked_mul(cols / block.weights, block.bytes);
}

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i <= static_cast<size_t>(DType::kU64); ++i)
    if (kTypes[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace smoe
