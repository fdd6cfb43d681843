#include <gtest/gtest.h>

#include "base/rng.h"
#include "text/reference.h"
#include "text/support.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace smoe {
namespace {

Tokenizer byte_tokens() {
  auto description = test::byte_tokenizer();
  description["model"] = test::byte_model({{"\xf0", "\x9f"},
                                           {"\x98", "\x80"},
                                           {"\xc3", "\xa9"},
                                           {"a", "\xc3"},
                                           {"\x80", "b"},
                                           {"\xe2", "\x80"}});
  const auto next = static_cast<uint32_t>(description["model"]["vocab"].size());
  description["added_tokens"].push_back(test::added_token(next, "<|end|>"));
  return test::must_parse(description);
}

std::vector<std::string> pieces(const Tokenizer& tokenizer, std::string_view bytes) {
  Detokenizer detokenizer(tokenizer);
  std::vector<std::string> result;
  for (const char byte : bytes)
    result.push_back(detokenizer.push(TokenId{static_cast<uint8_t>(byte)}));
  result.push_back(detokenizer.finish());
  return result;
}

using Pieces = std::vector<std::string>;

// Trap 12.
TEST(Detokenizer, ACharacterSpreadOverTokensComesWholeWithItsLastByte) {
  const Tokenizer tokenizer = byte_tokens();
  EXPECT_EQ(pieces(tokenizer, "\xf0\x9f\x98\xb8"), (Pieces{"", "", "", "\U0001f638", ""}));
  EXPECT_EQ(pieces(tokenizer, "a\xc3\xa9"), (Pieces{"a", "", "\u00e9", ""}));
}

// Trap 12.
TEST(Detokenizer, AFamilyJoinedByZeroWidthJoinersComesCharacterByCharacter) {
  const Tokenizer tokenizer = byte_tokens();
  const std::string family = "\U0001f468\u200d\U0001f469\u200d\U0001f467";
  std::string text;
  for (const std::string& piece : pieces(tokenizer, family)) {
    EXPECT_EQ(first_invalid_utf8(piece), std::nullopt);
    text += piece;
  }
  EXPECT_EQ(text, family);
}

// Trap 12.
TEST(Detokenizer, ATruncatedEndBecomesOneReplacementCharacter) {
  const Tokenizer tokenizer = byte_tokens();
  EXPECT_EQ(pieces(tokenizer, "\xf0"), (Pieces{"", "\ufffd"}));
  EXPECT_EQ(pieces(tokenizer, "\xf0\x9f\x98"), (Pieces{"", "", "", "\ufffd"}));
}

TEST(Detokenizer, BytesThatCanBeNoCharacterComeAtOnce) {
  const Tokenizer tokenizer = byte_tokens();
  EXPECT_EQ(pieces(tokenizer, "\xff"), (Pieces{"\ufffd", ""}));
  EXPECT_EQ(pieces(tokenizer, "\xe2'"), (Pieces{"", "\ufffd'", ""}));
  EXPECT_EQ(pieces(tokenizer, "\xed\xa0"), (Pieces{"", "\ufffd\ufffd", ""}));
}

TEST(Detokenizer, SpecialTokensAreSkippedWithoutBreakingACharacter) {
  const Tokenizer tokenizer = byte_tokens();
  const TokenId end = *tokenizer.find("<|end|>");
  Detokenizer skipping(tokenizer);
  EXPECT_EQ(skipping.push(TokenId{0xc3}), "");
  EXPECT_EQ(skipping.push(end), "");
  EXPECT_EQ(skipping.push(TokenId{0xa9}), "\u00e9");
  Detokenizer showing(tokenizer, false);
  EXPECT_EQ(showing.push(TokenId{0xc3}), "");
  EXPECT_EQ(showing.push(end), "\ufffd<|end|>");
}

TEST(Detokenizer, CanBeUsedAgainAfterItsEnd) {
  const Tokenizer tokenizer = byte_tokens();
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.push(TokenId{0xc3}), "");
  EXPECT_EQ(detokenizer.finish(), "\ufffd");
  EXPECT_EQ(detokenizer.push(TokenId{0xa9}), "\ufffd");
  EXPECT_EQ(detokenizer.finish(), "");
}

// The end of `text` that is the beginning of a character.
size_t unfinished_bytes(std::string_view bytes) {
  for (size_t length = std::min<size_t>(3, bytes.size()); length > 0; --length)
    if (utf8_step(bytes.substr(bytes.size() - length), 0).truncated) return length;
  return 0;
}

// RELIABILITY F12, for the detokenizer: the pieces make up the whole, each is valid, none is late.
TEST(Detokenizer, StreamedTextIsTheDecodedTextForAnyTokens) {
  const Tokenizer tokenizer = byte_tokens();
  Rng random(3);
  // Mostly bytes of long characters, so that they are cut, joined and broken often.
  const std::string likely =
      "\xf0\x9f\x98\x80\xe2\x80\x8d\xc3\xa9\xed\xa0\xf4\x90"
      "a";
  const size_t rounds =
      test::rounds({.usual = 30'000, .sanitized = 6'000, .in_long_run = 1'000'000});
  for (size_t round = 0; round < rounds; ++round) {
    const bool skip_special = round % 2 == 0;
    Detokenizer detokenizer(tokenizer, skip_special);
    std::vector<TokenId> tokens;
    std::string bytes;
    std::string streamed;
    for (size_t count = 1 + random.next() % 12; count > 0; --count) {
      const bool byte = random.next() % 3 != 0;
      const auto id = byte ? static_cast<uint8_t>(likely[random.next() % likely.size()])
                           : static_cast<uint32_t>(random.next() % (tokenizer.size() + 5));
      tokens.push_back(TokenId{id});
      if (!skip_special || !tokenizer.is_special(TokenId{id}))
        bytes += tokenizer.bytes_of(TokenId{id});
      const std::string piece = detokenizer.push(TokenId{id});
      ASSERT_EQ(first_invalid_utf8(piece), std::nullopt);
      streamed += piece;
      std::string certain;
      append_repaired(certain,
                      std::string_view(bytes).substr(0, bytes.size() - unfinished_bytes(bytes)));
      ASSERT_EQ(streamed, certain) << "a character came late or early";
    }
    streamed += detokenizer.finish();
    ASSERT_EQ(streamed, tokenizer.decode(tokens, skip_special));
  }
}

}  // namespace
}  // namespace smoe
