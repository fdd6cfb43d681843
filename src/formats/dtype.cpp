#include "formats/dtype.h"

#include <array>

namespace smoe {
namespace {

struct DTypeInfo {
  std::string_view name;
  size_t bytes;
};

// In the order of the enumerators.
constexpr std::array<DTypeInfo, 16> kTypes = {{{"BOOL", 1},
                                               {"U8", 1},
                                               {"I8", 1},
                                               {"F8_E4M3", 1},
                                               {"F8_E5M2", 1},
                                               {"F8_E8M0", 1},
                                               {"I16", 2},
                                               {"U16", 2},
                                               {"F16", 2},
                                               {"BF16", 2},
                                               {"I32", 4},
                                               {"U32", 4},
                                               {"F32", 4},
                                               {"F64", 8},
                                               {"I64", 8},
                                               {"U64", 8}}};
static_assert(kTypes.size() == static_cast<size_t>(DType::kU64) + 1);

}  // namespace

std::string_view name_of(DType dtype) { return kTypes[static_cast<size_t>(dtype)].name; }

size_t bytes_of(DType dtype) { return kTypes[static_cast<size_t>(dtype)].bytes; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (kTypes[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace smoe
