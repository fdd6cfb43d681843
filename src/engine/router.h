// Exact routing: from a layer's router logits to each token's experts and weights, in f32, on the
// host or, where it can, on the device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/spec.h"
#include "stream/layer_visit.h"

namespace smoe {

// One layer's routing of a batch, by token and by expert.
struct Routing {
  // [tokens, active]: each token's experts, best first, and the weight of each.
  std::vector<uint16_t> experts;
  std::vector<float> weights;
  uint32_t active = 0;

  // The union in ascending expert id, and for each of its members the rows of the batch that use
  // it.
  struct Member {
    uint16_t expert = 0;
    uint32_t begin = 0;  // of member_rows / member_weights
    uint32_t count = 0;
  };
  std::vector<Member> members;
  std::vector<uint32_t> member_rows;
  std::vector<float> member_weights;

  // Filled in where `summarize` asks for it: for each expert of the layer the softmax of its
  // logits, summed over the tokens, and its rank by that.
  bool summarize = false;
  std::vector<float> probabilities;
  std::vector<uint16_t> ranks;

  std::span<const uint32_t> rows_of(const Member& member) const {
    return std::span(member_rows).subspan(member.begin, member.count);
  }
  std::span<const float> weights_of(const Member& member) const {
    return std::span(member_weights).subspan(member.begin, member.count);
  }

  // What the streamer may know of it; without `summarize` nothing of single experts.
  RouterNumbers numbers() const;

  void reserve(uint32_t tokens, uint32_t active_experts, uint32_t experts_of_layer);
};

struct RouterWork {
  std::vector<uint16_t> order;   // [experts]
  std::vector<uint32_t> counts;  // [experts]
};

// logits: [tokens, ffn.experts]. Ties go to the lower index. Cost: no allocation once reserved.
// Fails: kNumeric when a logit is not finite, naming the token's row.
Status route(const FfnSpec& ffn, std::span<const float> logits, Routing& routing, RouterWork& work);

// Takes the routing that a device chose: [tokens, 3 * active] as RouteCall has it. `logits` are
// only read where `summarize` asks for it. Fails: kNumeric, as above.
Status take_routing(const FfnSpec& ffn, std::span<const float> routed,
                    std::span<const float> logits, Routing& routing, RouterWork& work);

}  // namespace smoe
