// The name of a record: a routed expert of a layer.
#pragma once

#include <compare>
#include <cstdint>

namespace smoe {

enum class LayerId : uint16_t {};
enum class ExpertId : uint16_t {};

struct ExpertKey {
  LayerId layer{};
  ExpertId expert{};
  friend auto operator<=>(const ExpertKey&, const ExpertKey&) = default;
};

}  // namespace smoe
