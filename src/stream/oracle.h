// How often a ring of a given size would have held what a trace demands, under each eviction policy
// and under the best one there can be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stream/trace.h"

namespace smoe {

struct OracleOptions {
  // A fresh record may not go until so many more are placed, and the residents that a visit demands
  // not until so many of its misses are: the engine reads about as many at once.
  uint32_t in_flight = 3;
  size_t skipped_visits = 0;  // at the beginning, simulated and not counted
};

struct OracleRow {
  double share = 0;  // of all records
  uint64_t slots = 0;
  uint64_t ring_bytes = 0;
  std::vector<double> hit_rates;  // by OracleTable::policies, each 0 to 1
};

struct OracleTable {
  std::vector<std::string> policies;  // the eviction policies' names, then "belady"
  std::vector<OracleRow> rows;
  uint64_t demands = 0;  // counted

  double hit_rate(size_t row, std::string_view policy) const;
};

// A row for each share in (0, 1]; where record sizes differ, each size has that share of slots, and
// two at least. Belady's optimum gives up the record whose next use is furthest away, under the
// same limits as the policies. Cost: one pass over the trace, O(misses × slots) for each row and
// policy.
OracleTable simulate(const Trace& trace, std::span<const double> shares,
                     const OracleOptions& options);

}  // namespace smoe
