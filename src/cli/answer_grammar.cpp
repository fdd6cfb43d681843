#include "cli/answer_grammar.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "text/chat/reasoning.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/grammar_filter.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/thought.h"

namespace smoe::cli {
namespace {

Result<GrammarRules> rules_of_text(const Settings& settings, std::string_view text) {
  if (settings.grammar) return parse_gbnf(text);
  SMOE_TRY(const Json schema,
           Json::parse(text, {.max_depth = kMaxGrammarDepth, .unique_keys = false}));
  return schema_rules(schema);
}

Result<Grammar> compiled_text(const Settings& settings, std::string_view text,
                              const Tokenizer& tokenizer, bool thought_begun) {
  SMOE_TRY(GrammarRules rules, rules_of_text(settings, text));
  if (thought_begun) {
    const ReasoningMarks marks;
    Expression answer =
        behind_thought(tokenizer, {marks.open, marks.close, true}, rule_of(rules.root));
    rules.root = rules.add("answer");
    rules.rules[rules.root].body = std::move(answer);
  }
  return Grammar::compile(rules);
}

}  // namespace

Result<std::unique_ptr<TokenFilter>> answer_grammar(const Settings& settings,
                                                    const Tokenizer& tokenizer, bool thought_begun,
                                                    const std::vector<TokenId>& stops) {
  if (!settings.json_schema && !settings.grammar) return std::unique_ptr<TokenFilter>();
  if (settings.json_schema && settings.grammar)
    return Error{Code::kUsage, "--json-schema and --grammar exclude each other"};
  const std::string& file = settings.grammar ? *settings.grammar : *settings.json_schema;
  SMOE_TRY(const std::string text, read_any_file(file, kMaxGrammarBytes));
  auto grammar = compiled_text(settings, text, tokenizer, thought_begun);
  if (!grammar) return std::move(grammar).error().in(file);
  auto masks = std::make_shared<TokenMasks>(std::make_shared<const Grammar>(*std::move(grammar)),
                                            std::make_shared<const TokenTree>(tokenizer));
  return std::unique_ptr<TokenFilter>(
      std::make_unique<GrammarFilter>(std::move(masks), tokenizer, stops));
}

}  // namespace smoe::cli
