// The numbers of JSON between two bounds.
#pragma once

#include <cstdint>
#include <optional>

#include "text/grammar/rules.h"

namespace smoe {

inline constexpr int64_t kMaxNumberBound = 1'000'000'000'000'000'000;

struct NumberBounds {
  std::optional<int64_t> least = {};  // at most kMaxNumberBound either way
  std::optional<int64_t> most = {};
  bool above_least = false;  // `least` itself is out
  bool below_most = false;
};

// Whole numbers; nothing when there are none. Without a bound up to 16 digits.
std::optional<Expression> integers(NumberBounds bounds);
// With a fraction of up to 6 digits when there are bounds, else of 16 and an exponent.
std::optional<Expression> numbers(const NumberBounds& bounds);

}  // namespace smoe
