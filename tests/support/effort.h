// How often a test repeats what it proves with other inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace smoe::test {

// scripts/test.sh --long sets it.
inline bool long_run() { return std::getenv("SMOE_TEST_LONG") != nullptr; }

// Whether the results are right is for the release build to tell, with all inputs. The sanitizers
// look for slips of the program on each path and are several times slower: a part of the inputs
// takes every path.
inline constexpr bool kSanitized = SMOE_SANITIZED != 0;

struct Effort {
  size_t usual;
  size_t sanitized;
  size_t in_long_run;
};
inline size_t rounds(const Effort& effort) {
  if (long_run()) return effort.in_long_run;
  return kSanitized ? effort.sanitized : effort.usual;
}

// The first and the last of them where a sanitizer looks on.
inline std::vector<uint32_t> ends_of(std::initializer_list<uint32_t> values) {
  if (!kSanitized || long_run() || values.size() < 2) return values;
  return {*values.begin(), *(values.end() - 1)};
}

}  // namespace smoe::test
