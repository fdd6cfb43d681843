// Tensor names of a checkpoint, to and from roles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/family.h"

namespace smoe {

struct TensorPlace {
  Role role;
  uint32_t layer = 0;
  uint32_t expert = 0;
  friend bool operator==(const TensorPlace&, const TensorPlace&) = default;
};

// Empty when the family has no tensor of that role.
std::string_view pattern_of(const Family& family, Role role);

// The pattern with its numbers filled in.
std::string tensor_name(std::string_view pattern, uint32_t layer, uint32_t expert);

// What a tensor of this name is; nothing for a name that the family does not have. Numbers are
// plain decimals: "layers.01" is no layer.
std::optional<TensorPlace> place_of(const Family& family, std::string_view name);
std::optional<TensorPlace> place_of(std::span<const TensorRule> rules, std::string_view name);

// Block-scaled FP8: the tensor that holds a weight's scales.
inline constexpr std::string_view kScaleSuffix = "_scale_inv";

}  // namespace smoe
