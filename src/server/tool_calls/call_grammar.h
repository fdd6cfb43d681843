// The calls that a model may make, as a grammar: for answers that must be one, and for functions
// whose arguments must follow their schema.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/token.h"
#include "server/tool_calls/tool_format.h"
#include "text/grammar/rules.h"
#include "text/tokenizer.h"

namespace smoe::server {

struct CallSpelling {
  const ToolFormat& format;
  const Tokenizer& tokenizer;
  std::string_view template_source;   // formats have had several spellings
  const std::vector<TokenId>& stops;  // a mark that ends the answer is not written
};

// One call of a function of `tools`, the array of the template, from behind the mark that opens it
// up to the one that closes it;
// `function`: of this one, "" for any. Arguments follow the function's schema, or are any object
// where the schema is one that grammars do not have. Fails: kUsage when there is no such function.
Result<Expression> call_expression(GrammarRules& rules, const CallSpelling& spelling,
                                   const Json& tools, std::string_view function);

// `call` with the mark that opens it.
Expression behind_mark(const CallSpelling& spelling, Expression call);
// Any text, with any number of calls in it.
Expression text_with_calls(GrammarRules& rules, const CallSpelling& spelling, Expression call);

// Ways to spell a call between the marks of its format.
Expression json_call(GrammarRules& rules, const CallSpelling& spelling, std::string_view name,
                     const Json& parameters);
Expression xml_call(GrammarRules& rules, const CallSpelling& spelling, std::string_view name,
                    const Json& parameters);
Expression pair_call(GrammarRules& rules, const CallSpelling& spelling, std::string_view name,
                     const Json& parameters);
Expression deepseek_call(GrammarRules& rules, const CallSpelling& spelling, std::string_view name,
                         const Json& parameters);
Expression channel_call(GrammarRules& rules, const CallSpelling& spelling, std::string_view name,
                        const Json& parameters);

}  // namespace smoe::server
