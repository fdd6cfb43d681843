// What a step wants of a layer, as the eviction policies and the trace see it.
#pragma once

#include <cstdint>
#include <span>

#include "stream/expert_key.h"

namespace smoe {

// What the layer's router said about all of its experts. May be unknown: then the spans are empty.
struct RouterNumbers {
  std::span<const float> probabilities;  // [experts]: softmax, summed over the batch's tokens
  std::span<const uint16_t> ranks;       // [experts]: 0 for the most probable
  uint32_t tokens = 1;                   // of the batch
  uint32_t active = 1;                   // experts of each token
};

struct LayerVisit {
  LayerId layer{};
  std::span<const ExpertKey> demanded;  // all of this layer
  RouterNumbers router;
};

}  // namespace smoe
