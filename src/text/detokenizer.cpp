#include "text/tokenizer.h"
#include "text/tokenizer_impl.h"

namespace smoe {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(tokenizer), skip_special_(skip_special), stream_(tokenizer.impl_->file.decoder) {}

std::string Detokenizer::push(TokenId id) {
  std::string text;
  if (tokenizer_.impl_->holds(id) && !(skip_special_ && tokenizer_.is_special(id)))
    stream_.push(tokenizer_.spelling_of(id), text);
  return text;
}

std::string Detokenizer::finish() {
  std::string text;
  stream_.finish(text);
  stream_ = Decoder::Stream(tokenizer_.impl_->file.decoder);
  return text;
}

}  // namespace smoe
