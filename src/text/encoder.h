// The path from text to tokens through the parts of a tokenizer.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "text/tokenizer_file.h"

namespace smoe {

// The stretches of a text in which control tokens may be written.
class TrustedRanges {
 public:
  // In ascending order; ranges that touch stay apart.
  void add(uint32_t begin, uint32_t end) { ranges_.emplace_back(begin, end); }
  bool cover(uint32_t begin, uint32_t end) const;

 private:
  std::vector<std::pair<uint32_t, uint32_t>> ranges_;
};

struct EncodeRequest {
  std::string_view text;
  bool parse_special = true;
  bool tracked = false;                    // `begins` is asked for
  const TrustedRanges* trusted = nullptr;  // everything is, when there are none; needs `tracked`
};

struct EncodedText {
  std::vector<TokenId> tokens;
  std::vector<uint32_t> begins;  // where in the text each token begins, ascending
};

// Without what the post-processor adds. Fails: kCorrupt for text that is no UTF-8 (with the byte
// offset), kUnsupported when a regex passes its limits or a text cannot be said.
Result<EncodedText> encode_text(const TokenizerFile& file, const EncodeRequest& request);

}  // namespace smoe
