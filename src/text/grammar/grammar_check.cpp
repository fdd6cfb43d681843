#include "text/grammar/grammar_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace smoe {
namespace {

class GrammarChecker {
 public:
  GrammarChecker(const Grammar& grammar, std::span<const GrammarPart> parts)
      : grammar_(grammar), parts_(parts), seen_(grammar.states(), 0), may_be_empty_(parts.size()) {
    for (uint32_t part = 0; part < parts.size(); ++part) part_of_[parts[part].start] = part;
  }

  Status run() {
    SMOE_DO(find_empty());
    SMOE_DO(check_loops());
    return check_left_recursion();
  }

 private:
  using Op = Grammar::Op;

  Status spend() {
    if (++work_ <= kMaxGrammarWork) return {};
    return Error{Code::kUsage, "the grammar is too complex"};
  }

  // Visits what a state reaches without reading a byte; `visit` gets each state once.
  template <class Visit>
  Status walk(uint32_t from, const Visit& visit) {
    ++stamp_;
    pending_.assign(1, from);
    while (!pending_.empty()) {
      SMOE_DO(spend());
      const uint32_t id = pending_.back();
      pending_.pop_back();
      if (seen_[id] == stamp_) continue;
      seen_[id] = stamp_;
      const Grammar::State& state = grammar_.state(id);
      visit(id, state);
      if (state.op == Op::kSplit)
        for (const uint32_t target : grammar_.targets(state)) pending_.push_back(target);
      if (state.op == Op::kCall && may_be_empty_[part_of_[state.begin]])
        pending_.push_back(state.next);
      if (state.op == Op::kCount && state.counter != kNoBound) {
        pending_.push_back(state.next);
        if (grammar_.counter(state).least == 0) left_loop_ = true;
      }
    }
    return {};
  }

  Status find_empty() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t part = parts_.size(); part-- > 0;) {
        if (may_be_empty_[part]) continue;
        bool empty = false;
        left_loop_ = false;
        SMOE_DO(walk(parts_[part].start, [&](uint32_t /*id*/, const Grammar::State& state) {
          empty = empty || state.op == Op::kReturn;
        }));
        may_be_empty_[part] = empty || left_loop_;
        changed = changed || may_be_empty_[part];
      }
    }
    return {};
  }

  Status check_loops() {
    for (const GrammarPart& part : parts_) {
      const Grammar::State& head = grammar_.state(part.start);
      if (head.op != Op::kCount) continue;
      bool returns = false;
      SMOE_DO(walk(head.next, [&](uint32_t id, const Grammar::State& /*state*/) {
        returns = returns || id == part.start;
      }));
      if (returns)
        return Error{Code::kUsage,
                     fmt::format("rule {} repeats, so and so often, what may be empty", part.name)};
    }
    return {};
  }

  // A depth-first search over calls that come before any byte.
  Status check_left_recursion() {
    enum class Color : uint8_t { kNew, kOpen, kDone };
    std::vector<Color> colors(parts_.size(), Color::kNew);
    struct Level {
      uint32_t part;
      std::vector<uint32_t> calls;
    };
    std::vector<Level> levels;
    for (uint32_t root = 0; root < parts_.size(); ++root) {
      if (colors[root] != Color::kNew) continue;
      SMOE_TRY(auto first, left_calls(root));
      colors[root] = Color::kOpen;
      levels.push_back({root, std::move(first)});
      while (!levels.empty()) {
        Level& level = levels.back();
        if (level.calls.empty()) {
          colors[level.part] = Color::kDone;
          levels.pop_back();
          continue;
        }
        const uint32_t callee = level.calls.back();
        level.calls.pop_back();
        if (colors[callee] == Color::kOpen)
          return Error{Code::kUsage, fmt::format("rule {} begins with itself (left recursion)",
                                                 parts_[callee].name)};
        if (colors[callee] == Color::kDone) continue;
        SMOE_TRY(auto calls, left_calls(callee));
        colors[callee] = Color::kOpen;
        levels.push_back({callee, std::move(calls)});
      }
    }
    return {};
  }

  Result<std::vector<uint32_t>> left_calls(uint32_t part) {
    std::vector<uint32_t> calls;
    SMOE_DO(walk(parts_[part].start, [&](uint32_t /*id*/, const Grammar::State& state) {
      if (state.op == Op::kCall) calls.push_back(part_of_[state.begin]);
    }));
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    return calls;
  }

  const Grammar& grammar_;
  const std::span<const GrammarPart> parts_;
  std::unordered_map<uint32_t, uint32_t> part_of_;  // by its first state
  std::vector<uint32_t> seen_;                      // by state: the last walk that came by
  std::vector<uint32_t> pending_;
  std::vector<bool> may_be_empty_;
  uint32_t stamp_ = 0;
  uint64_t work_ = 0;
  bool left_loop_ = false;
};

}  // namespace

Status check_grammar(const Grammar& grammar, std::span<const GrammarPart> parts) {
  return GrammarChecker(grammar, parts).run();
}

}  // namespace smoe
