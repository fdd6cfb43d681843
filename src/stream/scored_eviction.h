// Policies that estimate, for every expert, the chance that its layer's next visit wants it, and
// give up the record with the least chance ÷ distance to that visit. The estimates outlive
// eviction: counts of resident records alone are worse than LRU in a small ring.
#pragma once

#include <memory>

#include "stream/eviction.h"

namespace smoe {

// Chance: a fixed mixture of how often the expert was wanted lately, at half-lives of 1, 8 and 128
// visits. Cost: a few operations for each expert of a layer at its visit; a victim is O(slots of
// its class).
std::unique_ptr<Eviction> make_rates_eviction(const RingShape& shape);

// Chance: a logistic fit, refined at each visit, of those frequencies and of what the router
// thought of the expert at this visit and on average. Its eight weights are shared by the whole
// model and settle within tens of tokens. Cost: about forty operations for each expert of a layer
// at its visit (some 5 µs for 128); a victim is O(slots of its class), 1 to 2 ns each.
std::unique_ptr<Eviction> make_fitted_eviction(const RingShape& shape);

}  // namespace smoe
