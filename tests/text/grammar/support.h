// Grammars for tests.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"

namespace smoe::test {

inline std::shared_ptr<const Grammar> compiled(Result<GrammarRules> rules) {
  if (!rules) throw std::runtime_error(rules.error().message);
  auto grammar = Grammar::compile(*rules);
  if (!grammar) throw std::runtime_error(grammar.error().message);
  return std::make_shared<const Grammar>(*std::move(grammar));
}

inline std::shared_ptr<const Grammar> gbnf(std::string_view text) {
  return compiled(parse_gbnf(text));
}

inline std::shared_ptr<const Grammar> schema(std::string_view json) {
  const auto parsed = Json::parse(json, {.max_depth = 128, .unique_keys = false});
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return compiled(schema_rules(*parsed));
}

// What refuses a schema; empty when nothing does.
inline std::string schema_refusal(std::string_view json) {
  auto rules = schema_rules(*Json::parse(json, {.max_depth = 128, .unique_keys = false}));
  if (!rules) return rules.error().message;
  const auto grammar = Grammar::compile(*rules);
  return grammar ? std::string() : grammar.error().message;
}

inline std::string gbnf_refusal(std::string_view text) {
  auto rules = parse_gbnf(text);
  if (!rules) return rules.error().message;
  const auto grammar = Grammar::compile(*rules);
  return grammar ? std::string() : grammar.error().message;
}

inline bool matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Automaton automaton(grammar);
  StackSet at = automaton.start();
  for (const char byte : text) {
    automaton.allow_work();
    if (automaton.is_large()) at = automaton.compact(at);
    at = automaton.step(at, static_cast<uint8_t>(byte));
  }
  return automaton.ends(at);
}

}  // namespace smoe::test
