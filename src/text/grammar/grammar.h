// A grammar compiled: for each rule a small automaton over bytes, whose edges are bytes, calls of
// other rules, and turns of a counted loop. text/grammar/automaton.h runs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/rules.h"

namespace smoe {

// What a grammar from outside may cost.
inline constexpr size_t kMaxGrammarBytes = size_t{1} << 20;
inline constexpr size_t kMaxGrammarRules = 100'000;
inline constexpr size_t kMaxGrammarStates = 400'000;
inline constexpr uint64_t kMaxGrammarWork = 20'000'000;  // steps of compile()
inline constexpr int kMaxGrammarDepth = 128;             // of parentheses, of a schema
inline constexpr uint32_t kMaxRepeats = 1'000'000;

class Grammar {
 public:
  enum class Op : uint8_t {
    kBytes,   // one of edges() is taken
    kSplit,   // goes on at all of targets() without reading
    kCall,    // reads a rule, from `begin` on, then goes on at `next`
    kCount,   // begins the loop's next turn at `next`, or leaves it
    kReturn,  // the rule ends
  };
  struct State {
    Op op = Op::kReturn;
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t next = 0;
    uint32_t counter = kNoBound;  // of the counted loop around it
  };
  struct ByteEdge {
    uint8_t first;
    uint8_t last;
    uint32_t target;
  };
  struct Counter {
    uint32_t least;
    uint32_t most;  // kNoBound: any number
  };

  // Fails: kUsage, naming the rule: left recursion, a counted loop over what may be empty, more
  // than the limits above. Cost: at most kMaxGrammarWork steps, some 100 ms.
  static Result<Grammar> compile(const GrammarRules& rules);

  uint32_t start() const { return start_; }
  const State& state(uint32_t id) const { return states_[id]; }
  size_t states() const { return states_.size(); }
  std::span<const ByteEdge> edges(const State& state) const {
    return std::span(edges_).subspan(state.begin, state.end - state.begin);
  }
  std::span<const uint32_t> targets(const State& state) const {
    return std::span(targets_).subspan(state.begin, state.end - state.begin);
  }
  const Counter& counter(const State& state) const { return counters_[state.counter]; }
  bool leaves(uint32_t id) const { return states_[id].op == Op::kReturn; }

 private:
  friend class GrammarCompiler;
  std::vector<State> states_;
  std::vector<ByteEdge> edges_;
  std::vector<uint32_t> targets_;
  std::vector<Counter> counters_;
  uint32_t start_ = 0;
};

}  // namespace smoe
