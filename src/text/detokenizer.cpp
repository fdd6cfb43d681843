#include <utility>

#include "text/tokenizer.h"
#include "text/utf8.h"

namespace smoe {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(tokenizer), skip_special_(skip_special) {}

std::string Detokenizer::push(TokenId id) {
  if (skip_special_ && tokenizer_.is_special(id)) return {};
  pending_ += tokenizer_.bytes_of(id);
  // What is certain: all but a character that the next bytes could still complete.
  size_t certain = 0;
  while (certain < pending_.size()) {
    const Utf8Step step = utf8_step(pending_, certain);
    if (step.truncated) break;
    certain += step.bytes;
  }
  std::string text;
  append_repaired(text, std::string_view(pending_).substr(0, certain));
  pending_.erase(0, certain);
  return text;
}

std::string Detokenizer::finish() {
  std::string text;
  append_repaired(text, std::exchange(pending_, {}));
  return text;
}

}  // namespace smoe
