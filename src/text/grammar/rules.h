// A grammar as it is written: rules over characters. GBNF texts and JSON schemas become this, and
// Grammar::compile makes an automaton of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/unicode_tables.h"

namespace smoe {

using CharacterSet = std::vector<CodePointRange>;  // ascending, apart from each other

inline constexpr uint32_t kNoBound = UINT32_MAX;

struct Expression {
  enum class Kind : uint8_t {
    kText,       // exactly these bytes
    kCharacter,  // one character of a set, as UTF-8
    kUntil,      // anything up to and with the first `text`
    kWithout,    // anything that `text` is no part of
    kSequence,   // all parts; without any the empty text
    kChoice,     // one of the parts; without any nothing matches
    kRepeat,     // the only part, `least` to `most` times
    kRule,
  };
  Kind kind = Kind::kSequence;
  std::string text = {};
  CharacterSet characters = {};
  std::vector<Expression> parts = {};
  uint32_t least = 0;
  uint32_t most = 0;
  uint32_t rule = 0;
};

struct GrammarRules {
  struct Rule {
    std::string name;
    Expression body;
  };
  std::vector<Rule> rules;
  uint32_t root = 0;

  uint32_t add(std::string name) {
    rules.push_back({std::move(name), {}});
    return static_cast<uint32_t>(rules.size() - 1);
  }
};

Expression text_of(std::string_view bytes);
Expression any_of(CharacterSet characters);
Expression all_of(std::vector<Expression> parts);
Expression one_of(std::vector<Expression> parts);
Expression repeated(Expression part, uint32_t least, uint32_t most);
Expression rule_of(uint32_t rule);
Expression until(std::string_view mark);
Expression without(std::string_view mark);

// Sorts and joins ranges that touch.
CharacterSet normalized(CharacterSet characters);
// Every character that is none of these; surrogates are no characters.
CharacterSet complement(const CharacterSet& characters);

}  // namespace smoe
