#include "text/grammar/grammar.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "base/check.h"
#include "text/grammar/grammar_check.h"
#include "text/grammar/utf8_ranges.h"

namespace smoe {

// Builds each rule from its end to its beginning, so that every state knows what follows it.
class GrammarCompiler {
 public:
  explicit GrammarCompiler(const GrammarRules& rules) : rules_(rules) {}

  Result<Grammar> run() {
    if (rules_.rules.size() > kMaxGrammarRules) return too_large("rules", kMaxGrammarRules);
    for (const auto& rule : rules_.rules) parts_.push_back({.name = rule.name, .body = &rule.body});
    // Counted loops add parts while this goes on.
    for (size_t part = 0; part < parts_.size(); ++part) {
      SMOE_DO(compile_part(part));
      if (grammar_.states_.size() > kMaxGrammarStates)
        return too_large("states", kMaxGrammarStates);
    }
    for (Grammar::State& state : grammar_.states_)
      if (state.op == Grammar::Op::kCall) state.begin = parts_[state.begin].start;
    grammar_.start_ = parts_[rules_.root].start;
    std::vector<GrammarPart> checked;
    checked.reserve(parts_.size());
    for (const Part& part : parts_) checked.push_back({part.name, part.start});
    SMOE_DO(check_grammar(grammar_, checked));
    return std::move(grammar_);
  }

 private:
  using Op = Grammar::Op;
  static constexpr uint8_t kControl = 0xff;  // kControlByte of token_tree.h
  struct Part {
    std::string name;
    const Expression* body;
    uint32_t start = 0;
    uint32_t counter = kNoBound;
  };

  static Error too_large(std::string_view what, size_t most) {
    return {Code::kUsage, fmt::format("the grammar has more than {} {}", most, what)};
  }

  uint32_t add(Grammar::State state) {
    state.counter = counter_;
    grammar_.states_.push_back(state);
    return static_cast<uint32_t>(grammar_.states_.size() - 1);
  }

  uint32_t add_edges(std::span<const Grammar::ByteEdge> edges) {
    const auto begin = static_cast<uint32_t>(grammar_.edges_.size());
    grammar_.edges_.insert(grammar_.edges_.end(), edges.begin(), edges.end());
    return add({Op::kBytes, begin, static_cast<uint32_t>(grammar_.edges_.size())});
  }

  void set_targets(uint32_t split, std::span<const uint32_t> targets) {
    Grammar::State& state = grammar_.states_[split];
    state.begin = static_cast<uint32_t>(grammar_.targets_.size());
    grammar_.targets_.insert(grammar_.targets_.end(), targets.begin(), targets.end());
    state.end = static_cast<uint32_t>(grammar_.targets_.size());
  }

  Status compile_part(size_t index) {
    compiling_ = index;
    counter_ = parts_[index].counter;
    const uint32_t last = add({Op::kReturn});
    uint32_t start = 0;
    if (counter_ == kNoBound) {
      SMOE_TRY(start, compile(*parts_[index].body, last, 0));
    } else {
      start = add({Op::kCount});
      SMOE_TRY(const uint32_t body, compile(*parts_[index].body, start, 0));
      grammar_.states_[start].next = body;
    }
    parts_[index].start = start;
    return {};
  }

  // The state that reads `expression` and goes on at `next`.
  Result<uint32_t> compile(const Expression& expression, uint32_t next, int depth) {
    if (depth > 4 * kMaxGrammarDepth) return Error{Code::kUsage, "the grammar is nested too deep"};
    if (grammar_.states_.size() > kMaxGrammarStates) return too_large("states", kMaxGrammarStates);
    switch (expression.kind) {
      case Expression::Kind::kText:
        return compile_text(expression.text, next);
      case Expression::Kind::kCharacter:
        return compile_characters(expression.characters, next);
      case Expression::Kind::kUntil:
        return compile_search(expression.text, next, Found::kGoesOn);
      case Expression::Kind::kWithout:
        return compile_search(expression.text, next, Found::kFails);
      case Expression::Kind::kSequence:
        for (auto part = expression.parts.rbegin(); part != expression.parts.rend(); ++part) {
          SMOE_TRY(next, compile(*part, next, depth + 1));
        }
        return next;
      case Expression::Kind::kChoice:
        return compile_choice(expression, next, depth);
      case Expression::Kind::kRepeat:
        return compile_repeat(expression, next, depth);
      case Expression::Kind::kRule:
        return add({Op::kCall, expression.rule, 0, next});
    }
    SMOE_CHECK(false);
  }

  uint32_t compile_text(std::string_view text, uint32_t next) {
    for (auto byte = text.rbegin(); byte != text.rend(); ++byte) {
      const auto value = static_cast<uint8_t>(*byte);
      const Grammar::ByteEdge edge{value, value, next};
      next = add_edges({&edge, 1});
    }
    return next;
  }

  uint32_t compile_characters(const CharacterSet& characters, uint32_t next) {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;  // trailing bytes that are shared
    std::vector<Grammar::ByteEdge> edges;
    for (const ByteRanges& ranges : utf8_ranges(characters)) {
      uint32_t target = next;
      for (size_t i = ranges.count - size_t{1}; i > 0; --i) {
        const ByteRange range = ranges.bytes.at(i);
        const auto key = std::pair(uint32_t{range.first} << 8U | range.last, target);
        const auto [found, is_new] = known.try_emplace(key, 0);
        if (is_new) {
          const Grammar::ByteEdge edge{range.first, range.last, target};
          found->second = add_edges({&edge, 1});
        }
        target = found->second;
      }
      edges.push_back({ranges.bytes[0].first, ranges.bytes[0].last, target});
    }
    return add_edges(edges);
  }

  // Knuth, Morris and Pratt's automaton: a state for every beginning of the mark. Control tokens,
  // which begin with a byte that is in no text, are no part of what comes before. Where the mark
  // must not be found, the text may end in every state.
  enum class Found : uint8_t { kGoesOn, kFails };
  uint32_t compile_search(std::string_view mark, uint32_t next, Found found) {
    std::vector<uint32_t> readers(mark.size());  // of each state: where its bytes are read
    for (uint32_t& reader : readers) reader = add({Op::kBytes});
    std::vector<uint32_t> states = readers;
    if (found == Found::kFails) {
      for (uint32_t& state : states) {
        const uint32_t reader = state;
        state = add({Op::kSplit});
        set_targets(state, std::array{reader, next});
      }
    }
    states.push_back(next);
    size_t fallback = 0;  // the longest beginning that also ends what was read
    for (size_t at = 0; at < mark.size(); ++at) {
      const auto wanted = static_cast<uint8_t>(mark[at]);
      const bool in_control = at > 0 && static_cast<uint8_t>(mark[0]) == kControl;
      const bool fails = found == Found::kFails && at + 1 == mark.size();
      std::vector<Grammar::ByteEdge> edges;
      for (unsigned value = 0; value <= kControl; ++value) {
        const auto byte = static_cast<uint8_t>(value);
        if (byte == wanted) {
          if (!fails) append_edge(edges, byte, states[at + 1]);
        } else if (byte != kControl && !in_control) {
          append_edge(edges, byte, at > 0 ? target_of(readers[fallback], byte) : states[0]);
        }
      }
      Grammar::State& state = grammar_.states_[readers[at]];
      state.begin = static_cast<uint32_t>(grammar_.edges_.size());
      grammar_.edges_.insert(grammar_.edges_.end(), edges.begin(), edges.end());
      state.end = static_cast<uint32_t>(grammar_.edges_.size());
      if (at > 0 && !in_control && !fails)
        fallback = index_in(states, target_of(readers[fallback], wanted));
    }
    return states[0];
  }

  static void append_edge(std::vector<Grammar::ByteEdge>& edges, uint8_t byte, uint32_t target) {
    if (!edges.empty() && edges.back().target == target && edges.back().last + 1 == byte) {
      edges.back().last = byte;
    } else {
      edges.push_back({byte, byte, target});
    }
  }

  uint32_t target_of(uint32_t state, uint8_t byte) const {
    for (const Grammar::ByteEdge& edge : grammar_.edges(grammar_.states_[state]))
      if (byte >= edge.first && byte <= edge.last) return edge.target;
    SMOE_CHECK(false);
  }

  static size_t index_in(const std::vector<uint32_t>& states, uint32_t state) {
    size_t index = 0;
    while (states[index] != state) ++index;
    return index;
  }

  Result<uint32_t> compile_choice(const Expression& expression, uint32_t next, int depth) {
    std::vector<uint32_t> targets;
    targets.reserve(expression.parts.size());
    for (const Expression& part : expression.parts) {
      SMOE_TRY(const uint32_t target, compile(part, next, depth + 1));
      targets.push_back(target);
    }
    const uint32_t split = add({Op::kSplit});
    set_targets(split, targets);
    return split;
  }

  Result<uint32_t> compile_repeat(const Expression& expression, uint32_t next, int depth) {
    const Expression& part = expression.parts.front();
    const auto [least, most] = std::pair(expression.least, expression.most);
    if (most == 0) return next;
    if (least == 1 && most == 1) return compile(part, next, depth + 1);
    if (least <= 1 && (most == 1 || most == kNoBound)) {
      const uint32_t split = add({Op::kSplit});
      SMOE_TRY(const uint32_t body, compile(part, most == 1 ? next : split, depth + 1));
      set_targets(split, std::array{body, next});
      return least == 1 ? body : split;
    }
    grammar_.counters_.push_back({least, most});
    parts_.push_back({.name = parts_[compiling_].name,
                      .body = &part,
                      .counter = static_cast<uint32_t>(grammar_.counters_.size() - 1)});
    return add({Op::kCall, static_cast<uint32_t>(parts_.size() - 1), 0, next});
  }

  const GrammarRules& rules_;
  Grammar grammar_;
  std::vector<Part> parts_;
  uint32_t counter_ = kNoBound;
  size_t compiling_ = 0;  // the part
};

Result<Grammar> Grammar::compile(const GrammarRules& rules) { return GrammarCompiler(rules).run(); }

}  // namespace smoe
