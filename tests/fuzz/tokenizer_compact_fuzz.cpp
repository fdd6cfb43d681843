// tokenizer.bin from strangers. RELIABILITY F5. Each input is tried as it stands and with a
// checksum that fits, because one that does not would hide everything behind it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "text/compact_file.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace smoe {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void use(std::string_view compact) {
  const auto tokenizer = Tokenizer::parse_compact(compact, "fuzz");
  if (!tokenizer) {
    require(!tokenizer.error().message.empty());
    return;
  }
  const std::string_view text = "The caf\xc3\xa9's 123 \xe2\x96\x81 <s> aab\n \xf0\x9f\x98\x80";
  const auto tokens = tokenizer->encode(text);
  if (tokens) {
    for (const TokenId token : *tokens) require(index_of(token) < tokenizer->size());
    require(!first_invalid_utf8(tokenizer->decode(*tokens, false)));
  }
  const std::vector<Tokenizer::Span> spans = {{"<s>a", true}, {text, false}};
  const auto spanned = tokenizer->encode_spans(spans);
  if (!spanned) return;
  require(spanned->tokens.size() == spanned->spans.size());
  for (const uint32_t span : spanned->spans) require(span < spans.size());
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string compact(reinterpret_cast<const char*>(data), size);
  smoe::use(compact);
  constexpr size_t kChecksum = 8;  // where it stands; it covers what is behind it
  constexpr size_t kChecked = kChecksum + sizeof(uint64_t);
  if (size <= kChecked) return 0;
  const uint64_t checksum = smoe::xxh3_64(std::string_view(compact).substr(kChecked));
  std::memcpy(compact.data() + kChecksum, &checksum, sizeof checksum);
  smoe::use(compact);
  return 0;
}
