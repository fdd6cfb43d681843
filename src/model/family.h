// A model family as data: which config key fills which field, which tensor plays which role, which
// named rule applies. How to add one: docs/add-a-family.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "formats/checkpoint.h"
#include "model/inventory.h"
#include "model/spec.h"

namespace smoe {

struct Family;  // the table type; families/*.cpp hold constexpr instances

// A checkpoint, understood: its spec and the source tensor behind each role.
struct SourceModel {
  ModelSpec spec;
  const Family* family = nullptr;

  // The checkpoint's name for a tensor, e.g. (kExpertUp, 3, 17).
  std::string source_name(Role role, uint32_t layer, uint32_t expert = 0) const;
};

}  // namespace smoe
