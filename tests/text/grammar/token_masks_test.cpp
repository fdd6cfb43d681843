#include "text/grammar/token_masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/rng.h"
#include "text/grammar/grammar_filter.h"
#include "text/grammar/support.h"
#include "text/support.h"

namespace smoe {
namespace {

// Pieces that cross the borders of JSON's rules, and one control token.
Tokenizer tokenizer_of_pieces() {
  auto description = test::byte_tokenizer();
  auto& vocabulary = description["model"]["vocab"];
  for (const std::string_view piece :
       {"\"}",  "\":",   "\": \"", "ab",    "abc",      "{\"",    "[1",         "1,2",
        "true", "\",\"", "]]",     "}}",    "\\n\"",    "é",      "\xc3\xa9\"", "  ",
        "\n  ", "a\",",  "12345",  "null}", "aaaaaaaa", "<|end|", "\"name\""})
    if (!vocabulary.contains(test::letters(piece)))
      vocabulary[test::letters(piece)] = vocabulary.size();
  const auto next = static_cast<uint32_t>(vocabulary.size());
  description["added_tokens"].push_back(test::added_token(next, "<|end|>"));
  return test::must_parse(description);
}

std::vector<uint64_t> tried(const Tokenizer& tokenizer, Automaton& automaton, StackSet at) {
  std::vector<uint64_t> mask((tokenizer.size() + 63) / 64);
  for (uint32_t id = 0; id < tokenizer.size(); ++id) {
    StackSet set = at;
    const std::string bytes = grammar_bytes(tokenizer, TokenId{id});
    for (const char byte : bytes) set = automaton.step(set, static_cast<uint8_t>(byte));
    if (!bytes.empty() && set != Automaton::kDead) mask[id / 64] |= uint64_t{1} << (id % 64);
  }
  return mask;
}

TokenId drawn_of(const std::vector<uint64_t>& mask, std::mt19937& random) {
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < mask.size() * 64; ++id)
    if ((mask[id / 64] >> (id % 64) & 1U) != 0) ids.push_back(id);
  return TokenId{ids[random() % ids.size()]};
}

class TokenMasksOf : public ::testing::TestWithParam<std::string_view> {};

// Whatever is kept and shared: the mask is that of trying every token.
TEST_P(TokenMasksOf, AreThoseOfTryingEveryToken) {
  const Tokenizer tokenizer = tokenizer_of_pieces();
  const auto grammar =
      GetParam().starts_with('{') ? test::schema(GetParam()) : test::gbnf(GetParam());
  const auto masks = std::make_shared<TokenMasks>(grammar, std::make_shared<TokenTree>(tokenizer));
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    Automaton automaton(grammar);
    StackSet at = automaton.start();
    for (int step = 0; step < 60; ++step) {
      std::vector<uint64_t> mask((tokenizer.size() + 63) / 64);
      masks->allow(automaton, at, mask);
      automaton.allow_work();
      ASSERT_EQ(mask, tried(tokenizer, automaton, at)) << GetParam() << " step " << step;
      if (std::all_of(mask.begin(), mask.end(), [](uint64_t word) { return word == 0; })) {
        EXPECT_TRUE(automaton.ends(at));
        break;
      }
      for (const char byte : grammar_bytes(tokenizer, drawn_of(mask, random)))
        at = automaton.step(at, static_cast<uint8_t>(byte));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grammars, TokenMasksOf,
    ::testing::Values(
        "{}",
        R"({"type":"object","properties":{"name":{"type":"string","maxLength":5},"ab":{"type":"integer"}},"required":["name"]})",
        R"({"type":"array","items":{"type":"string","minLength":3,"maxLength":9},"minItems":2,"maxItems":4})",
        R"({"type":"object","properties":{"ab":{"const":1}},"additionalProperties":{"type":"boolean"}})",
        R"({"type":"string","pattern":"ab.*c"})", R"({"type":"string","minLength":20})",
        "root ::= (\"a\"{2,5} \"b\"?){1,3} | \"abc\"+ [^x]", "root ::= \"a\" root \"b\" | \"c\"",
        "root ::= [^\"]{3,7} \"\\\"\" item*\nitem ::= \"ab\" | \"abc\" | \"c\" item"));

std::vector<uint64_t> allowed_by(GrammarFilter& filter, const Tokenizer& tokenizer) {
  std::vector<uint64_t> mask((tokenizer.size() + 63) / 64);
  filter.allow(mask);
  return mask;
}

TEST(GrammarFilter, AllowsTheEndWhereTheGrammarMayEndAndNowhereElse) {
  const Tokenizer tokenizer = tokenizer_of_pieces();
  const TokenId end = *tokenizer.find("<|end|>");
  const auto masks = std::make_shared<TokenMasks>(test::gbnf("root ::= \"ab\" \"c\"*"),
                                                  std::make_shared<TokenTree>(tokenizer));
  GrammarFilter filter(masks, tokenizer, {end});
  const auto end_allowed = [&] {
    return (allowed_by(filter, tokenizer)[index_of(end) / 64] >> (index_of(end) % 64) & 1U) != 0;
  };
  EXPECT_FALSE(end_allowed());
  filter.accept(*tokenizer.find("ab"));
  EXPECT_TRUE(end_allowed());
  EXPECT_TRUE(filter.complete());
}

TEST(GrammarFilter, TextCannotSpellAControlToken) {
  const Tokenizer tokenizer = tokenizer_of_pieces();
  const auto masks = std::make_shared<TokenMasks>(test::gbnf("root ::= .*"),
                                                  std::make_shared<TokenTree>(tokenizer));
  GrammarFilter filter(masks, tokenizer, {});
  const auto mask = allowed_by(filter, tokenizer);
  const size_t control = index_of(*tokenizer.find("<|end|>"));
  EXPECT_EQ(mask[control / 64] >> (control % 64) & 1U, 0U);
  const size_t begun = index_of(*tokenizer.find("<|end|"));
  EXPECT_EQ(mask[begun / 64] >> (begun % 64) & 1U, 1U);
}

TEST(GrammarFilter, AGrammarMayAskForAControlToken) {
  const Tokenizer tokenizer = tokenizer_of_pieces();
  GrammarRules rules;
  rules.root = rules.add("root");
  rules.rules[0].body = text_of(control_text("<|end|>"));
  const auto masks = std::make_shared<TokenMasks>(test::compiled(std::move(rules)),
                                                  std::make_shared<TokenTree>(tokenizer));
  GrammarFilter filter(masks, tokenizer, {});
  std::vector<uint64_t> wanted((tokenizer.size() + 63) / 64);
  const size_t control = index_of(*tokenizer.find("<|end|>"));
  wanted[control / 64] |= uint64_t{1} << (control % 64);
  EXPECT_EQ(allowed_by(filter, tokenizer), wanted);
  filter.accept(*tokenizer.find("<|end|>"));
  EXPECT_TRUE(filter.complete());
}

TEST(TokenTree, HoldsEveryTokenOnce) {
  const Tokenizer tokenizer = tokenizer_of_pieces();
  const TokenTree tree(tokenizer);
  std::vector<int> seen(tokenizer.size());
  for (uint32_t node = 0; node < tree.size(); ++node)
    for (const TokenId token : tree.tokens_at(node)) ++seen[index_of(token)];
  for (uint32_t id = 0; id < tokenizer.size(); ++id)
    EXPECT_EQ(seen[id], tokenizer.bytes_of(TokenId{id}) == "\xff" ? 0 : 1) << id;
}

}  // namespace
}  // namespace smoe
