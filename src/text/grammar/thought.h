// Answers that a model may think before.
#pragma once

#include <string_view>

#include "text/grammar/rules.h"
#include "text/tokenizer.h"

namespace smoe {

struct ThoughtForm {
  std::string_view open;  // the marks; they may be control tokens
  std::string_view close;
  bool begun = false;  // the prompt has opened it; otherwise it may be left out
};

// `answer`, behind a thought of any text and a few blanks.
Expression behind_thought(const Tokenizer& tokenizer, const ThoughtForm& form, Expression answer);

}  // namespace smoe
