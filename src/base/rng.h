// A small seeded generator (xoshiro256**, Blackman and Vigna 2018): the same seed gives the same
// numbers on every machine, which the standard distributions do not promise.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace smoe {

// SplitMix64 (Steele, Lea and Flood 2014): the number that follows `state`, well mixed.
constexpr uint64_t split_mix(uint64_t state) {
  uint64_t mixed = state + 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

// A random number's top 53 bits as a number in [0, 1).
constexpr double uniform_of(uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

// The `count`-th number of a seed, uniform in [0, 1): it does not depend on who drew before.
constexpr double counted_uniform(uint64_t seed, uint64_t count) {
  return uniform_of(split_mix(split_mix(seed) + count * 0x9e3779b97f4a7c15U));
}

class Rng {
 public:
  explicit Rng(uint64_t seed) {
    for (uint64_t& word : state_) {
      word = split_mix(seed);
      seed += 0x9e3779b97f4a7c15U;
    }
  }

  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1) with 53 bits.
  double uniform() { return uniform_of(next()); }

  // Uniform in [0, bound); the bias is below 2^-32 for the small bounds used here.
  uint64_t below(uint64_t bound) { return bound == 0 ? 0 : next() % bound; }

 private:
  std::array<uint64_t, 4> state_{};
};

}  // namespace smoe
