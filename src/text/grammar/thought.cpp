#include "text/grammar/thought.h"

#include <utility>

#include "text/grammar/json_rules.h"
#include "text/grammar/token_tree.h"

namespace smoe {
namespace {

constexpr uint32_t kMostBlanksBehindThought = 4;

}  // namespace

Expression behind_thought(const Tokenizer& tokenizer, const ThoughtForm& form, Expression answer) {
  Expression blanks = repeated(any_of({{' ', ' '}, {'\n', '\n'}}), 0, kMostBlanksBehindThought);
  Expression thought =
      all_of(list_of(until(grammar_text(tokenizer, form.close)), std::move(blanks)));
  if (form.begun) return all_of(list_of(std::move(thought), std::move(answer)));
  Expression whole =
      all_of(list_of(text_of(grammar_text(tokenizer, form.open)), std::move(thought)));
  return all_of(list_of(repeated(std::move(whole), 0, 1), std::move(answer)));
}

}  // namespace smoe
