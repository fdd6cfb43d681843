#include "cli/suggestion.h"

#include <fmt/format.h>

#include <algorithm>

namespace smoe::cli {
namespace {

// How many letters must be inserted, removed or exchanged.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t exchanged = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view given, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  size_t best_distance = std::max<size_t>(2, given.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t changes = distance(given, candidate);
    if (changes >= best_distance) continue;
    best = &candidate;
    best_distance = changes;
  }
  return best == nullptr ? std::string() : fmt::format("; did you mean {}?", *best);
}

}  // namespace smoe::cli
