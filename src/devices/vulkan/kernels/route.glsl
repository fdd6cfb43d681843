// Chooses a token's experts, in a workgroup of at least 256 threads, of which 256 work: the largest logits, ties to the lower
// index, and their weights. A row of the result has the experts, best first; their weights; and which
// of them comes first, second, … by ascending expert. Expert numbers are floats, which hold them
// exactly. Where a logit is not finite the weights are not either, so that whoever uses them finds
// out.
const uint kMostExperts = 1024;
const uint kMostActive = 64;
shared float route_logits[kMostExperts];
shared uint chosen[kMostActive];
shared float kept[kMostActive];
shared float route_partial[256];
shared uint faults;

// Leaves the experts in `chosen`.
void choose(Floats logits, uint begin, uint experts, uint active_experts) {
  uint thread = gl_LocalInvocationID.x;
  if (thread == 0u) faults = 0u;
  if (thread < kMostActive) chosen[thread] = 0u;
  barrier();
  for (uint e = thread; e < experts && thread < 256u; e += 256u) {
    float logit = logits.at[begin + e];
    route_logits[e] = logit;
    if ((floatBitsToUint(logit) & 0x7f800000u) == 0x7f800000u) faults = 1u;
  }
  // So that whole groups can be compared.
  if (thread < 16u && experts + thread < kMostExperts) route_logits[experts + thread] = uintBitsToFloat(0xff800000u);
  barrier();
  for (uint e = thread; e < experts && thread < 256u; e += 256u) {
    float mine = route_logits[e];
    uint better = 0u;
    for (uint first = 0u; first < experts; first += 16u) {
      [[unroll]] for (uint i = 0u; i < 16u; ++i) {
        float other = route_logits[first + i];
        if (other > mine || (other == mine && first + i < e)) ++better;
      }
    }
    if (better < active_experts) chosen[better] = e;
  }
  barrier();
}

// After choose(). `of_chosen`: softmax over the chosen ones alone.
void write_routing(Floats rows_out, uint begin, uint experts, uint active_experts, bool of_chosen,
                   bool renormalize, float scale) {
  uint thread = gl_LocalInvocationID.x;
  float top = route_logits[chosen[0]];
  precise float sum = 0.0;
  if (of_chosen) {
    if (thread < active_experts) sum = exponential(route_logits[chosen[thread]] - top);
  } else {
    for (uint e = thread; e < experts && thread < 256u; e += 256u) sum += exponential(route_logits[e] - top);
  }
  if (thread < 256u) route_partial[thread] = sum;
  for (uint half_of = 128u; half_of > 0u; half_of /= 2u) {
    barrier();
    if (thread < half_of) {
      precise float both = route_partial[thread] + route_partial[thread + half_of];
      route_partial[thread] = both;
    }
  }
  barrier();
  precise float weight = 0.0;
  if (thread < active_experts) {
    weight = exponential(route_logits[chosen[thread]] - top) / route_partial[0];
    kept[thread] = weight;
  }
  barrier();
  if (thread >= active_experts) return;
  if (renormalize) {
    precise float all = 0.0;
    for (uint i = 0u; i < active_experts; ++i) all += kept[i];
    weight = weight / all;
  }
  weight = weight * scale;
  if (faults != 0u) weight = uintBitsToFloat(0x7fc00000u);
  uint before = 0u;
  for (uint i = 0u; i < active_experts; ++i)
    if (chosen[i] < chosen[thread]) ++before;
  rows_out.at[begin + thread] = float(chosen[thread]);
  rows_out.at[begin + active_experts + thread] = weight;
  rows_out.at[begin + 2u * active_experts + before] = float(thread);
}
