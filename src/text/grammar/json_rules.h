// The rules of JSON itself, in a form that people and models write: no blanks, or one, or a new
// line with an indent.
#pragma once

#include <cstdint>
#include <optional>

#include "text/grammar/rules.h"

namespace smoe {

class JsonRules {
 public:
  explicit JsonRules(GrammarRules& rules) : rules_(rules) {}

  // Each adds its rule when it is first asked for.
  Expression value();
  Expression object();
  Expression array();
  Expression string();
  Expression number();
  Expression integer();
  Expression boolean();
  Expression gap();  // between the parts of an object or array

  // `key` ":" `value`
  static Expression member(Expression key, Expression value);
  // "{" and "}" or "[" and "]" around what may be empty.
  Expression enclosed(char open, Expression inside, char close);
  // "," `part`
  Expression next(Expression part);

  // A character as strings spell it, escaped where it must be. Written out in each place: what
  // counts characters then knows its count while it reads one (text/grammar/token_masks.h).
  static Expression character();
  // One of a set: escaped where it must be, else as it is.
  static Expression character_of(const CharacterSet& set);
  // Needs no escapes.
  static CharacterSet plain_characters();

 private:
  Expression remembered(std::optional<uint32_t>& rule, std::string_view name,
                        Expression (JsonRules::*make)());
  Expression make_value();
  Expression make_object();
  Expression make_array();
  Expression make_string();
  Expression make_number();
  Expression make_integer();
  Expression make_gap();

  GrammarRules& rules_;
  std::optional<uint32_t> value_;
  std::optional<uint32_t> object_;
  std::optional<uint32_t> array_;
  std::optional<uint32_t> string_;
  std::optional<uint32_t> number_;
  std::optional<uint32_t> integer_;
  std::optional<uint32_t> gap_;
};

// Moves expressions into a vector, which a braced list cannot.
template <class... Parts>
std::vector<Expression> list_of(Parts... parts) {
  std::vector<Expression> list;
  list.reserve(sizeof...(parts));
  (list.push_back(std::move(parts)), ...);
  return list;
}

}  // namespace smoe
