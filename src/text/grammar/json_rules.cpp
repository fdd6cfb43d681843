#include "text/grammar/json_rules.h"

#include <array>

#include "text/grammar/json_numbers.h"

namespace smoe {
namespace {

constexpr uint32_t kMostIndent = 64;

struct ShortEscape {
  char32_t character;
  std::string_view text;
};
constexpr std::array<ShortEscape, 7> kShortEscapes{{{U'"', "\\\""},
                                                    {U'\\', "\\\\"},
                                                    {U'\b', "\\b"},
                                                    {U'\f', "\\f"},
                                                    {U'\n', "\\n"},
                                                    {U'\r', "\\r"},
                                                    {U'\t', "\\t"}}};

Expression hex_digit() { return any_of({{'0', '9'}, {'a', 'f'}, {'A', 'F'}}); }

// \uXXXX of anything but half a pair.
Expression unicode_escape() {
  const CharacterSet not_d{{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}};
  Expression ordinary = all_of(list_of(any_of(not_d), hex_digit()));
  Expression below_pairs = all_of(list_of(any_of({{'d', 'd'}, {'D', 'D'}}), any_of({{'0', '7'}})));
  return all_of(list_of(text_of("u"), one_of(list_of(std::move(ordinary), std::move(below_pairs))),
                        hex_digit(), hex_digit()));
}

bool contains(const CharacterSet& set, char32_t character) {
  for (const CodePointRange& range : set)
    if (character >= range.first && character <= range.last) return true;
  return false;
}

}  // namespace

Expression JsonRules::remembered(std::optional<uint32_t>& rule, std::string_view name,
                                 Expression (JsonRules::*make)()) {
  if (!rule) {
    rule = rules_.add(std::string(name));
    Expression body = (this->*make)();
    rules_.rules[*rule].body = std::move(body);
  }
  return rule_of(*rule);
}

Expression JsonRules::value() { return remembered(value_, "a value", &JsonRules::make_value); }
Expression JsonRules::object() { return remembered(object_, "an object", &JsonRules::make_object); }
Expression JsonRules::array() { return remembered(array_, "an array", &JsonRules::make_array); }
Expression JsonRules::string() { return remembered(string_, "a string", &JsonRules::make_string); }
Expression JsonRules::number() { return remembered(number_, "a number", &JsonRules::make_number); }
Expression JsonRules::integer() {
  return remembered(integer_, "an integer", &JsonRules::make_integer);
}
Expression JsonRules::gap() { return remembered(gap_, "blanks", &JsonRules::make_gap); }

Expression JsonRules::boolean() { return one_of(list_of(text_of("true"), text_of("false"))); }

Expression JsonRules::member(Expression key, Expression value) {
  return all_of(
      list_of(std::move(key), text_of(":"), repeated(text_of(" "), 0, 1), std::move(value)));
}

Expression JsonRules::enclosed(char open, Expression inside, char close) {
  return all_of(list_of(text_of(std::string(1, open)), gap(), std::move(inside), gap(),
                        text_of(std::string(1, close))));
}

Expression JsonRules::next(Expression part) {
  return all_of(list_of(text_of(","), gap(), std::move(part)));
}

Expression JsonRules::make_value() {
  return one_of(list_of(object(), array(), string(), number(), boolean(), text_of("null")));
}

Expression JsonRules::make_object() {
  const auto pair = [&] { return member(string(), value()); };
  Expression pairs = all_of(list_of(pair(), repeated(next(pair()), 0, kNoBound)));
  return enclosed('{', repeated(std::move(pairs), 0, 1), '}');
}

Expression JsonRules::make_array() {
  Expression items = all_of(list_of(value(), repeated(next(value()), 0, kNoBound)));
  return enclosed('[', repeated(std::move(items), 0, 1), ']');
}

Expression JsonRules::make_string() {
  return all_of(list_of(text_of("\""), repeated(character(), 0, kNoBound), text_of("\"")));
}

Expression JsonRules::make_number() { return *numbers({}); }
Expression JsonRules::make_integer() { return *integers({}); }

Expression JsonRules::make_gap() {
  Expression line =
      all_of(list_of(text_of("\n"), one_of(list_of(repeated(text_of(" "), 0, kMostIndent),
                                                   repeated(text_of("\t"), 1, kMostIndent)))));
  return one_of(list_of(all_of({}), text_of(" "), std::move(line)));
}

CharacterSet JsonRules::plain_characters() {
  return complement({{0, 0x1f}, {U'"', U'"'}, {U'\\', U'\\'}, {0x7f, 0x7f}});
}

Expression JsonRules::character() {
  Expression escape = one_of(list_of(any_of({{'"', '"'},
                                             {'\\', '\\'},
                                             {'/', '/'},
                                             {'b', 'b'},
                                             {'f', 'f'},
                                             {'n', 'n'},
                                             {'r', 'r'},
                                             {'t', 't'}}),
                                     unicode_escape()));
  return one_of(
      list_of(any_of(plain_characters()), all_of(list_of(text_of("\\"), std::move(escape)))));
}

Expression JsonRules::character_of(const CharacterSet& set) {
  // What is in both is what is in neither complement.
  CharacterSet outside = complement(set);
  const CharacterSet not_plain = complement(plain_characters());
  outside.insert(outside.end(), not_plain.begin(), not_plain.end());
  std::vector<Expression> choices;
  if (CharacterSet plain = complement(outside); !plain.empty())
    choices.push_back(any_of(std::move(plain)));
  for (const ShortEscape& escape : kShortEscapes)
    if (contains(set, escape.character)) choices.push_back(text_of(escape.text));
  return one_of(std::move(choices));
}

}  // namespace smoe
