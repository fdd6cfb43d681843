#include "text/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"
#include "text/reference.h"
#include "text/support.h"

namespace smoe {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

Result<Bpe> make_bpe(const ordered_json& model) {
  return Bpe::from_json(test::to_json(model), model["vocab"].dump(), model["merges"].dump());
}

Bpe must_make_bpe(const ordered_json& model) {
  auto bpe = make_bpe(model);
  if (!bpe) throw std::runtime_error(bpe.error().message);
  return std::move(*bpe);
}

std::vector<std::string> encoded(const Bpe& bpe, const std::string& piece) {
  std::vector<TokenId> tokens;
  bpe.encode(piece, tokens);
  std::vector<std::string> texts;
  for (const TokenId token : tokens) texts.emplace_back(bpe.vocabulary().text_of(token));
  return texts;
}

std::string bpe_refusal(const ordered_json& model) {
  const auto bpe = make_bpe(model);
  return bpe ? "accepted" : bpe.error().message;
}

// Braces alone would make_bpe an object of pairs of strings.
ordered_json pairs(const std::vector<std::vector<std::string>>& merges) { return merges; }

ordered_json small_bpe() {
  return {{"type", "BPE"},
          {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"bc", 4}, {"abc", 5}, {"?", 6}}},
          {"merges", pairs({{"b", "c"}, {"a", "b"}, {"a", "bc"}})}};
}

TEST(Bpe, MergesTheLowestRankFirstAndTheLeftmostOfThem) {
  const Bpe bpe = must_make_bpe(small_bpe());
  EXPECT_THAT(encoded(bpe, "abc"), ElementsAre("abc"));
  EXPECT_THAT(encoded(bpe, "ab"), ElementsAre("ab"));
  EXPECT_THAT(encoded(bpe, "aabcb"), ElementsAre("a", "abc", "b"));
  EXPECT_THAT(encoded(bpe, ""), ElementsAre());
}

TEST(Bpe, MergesMayBePairsOrLines) {
  ordered_json model = small_bpe();
  model["merges"] = {"#version: 0.2", "b c", "a b", "a bc"};
  EXPECT_THAT(encoded(must_make_bpe(model), "abc"), ElementsAre("abc"));
}

TEST(Bpe, ALaterMergeOfTheSamePairReplacesTheEarlier) {
  ordered_json model = small_bpe();
  model["merges"] = pairs({{"b", "c"}, {"a", "b"}, {"b", "c"}});
  EXPECT_THAT(encoded(must_make_bpe(model), "abc"), ElementsAre("ab", "c"));
}

TEST(Bpe, AWholePieceOfTheVocabularyIsTakenWhereMergesAreIgnored) {
  ordered_json model = small_bpe();
  model["merges"] = ordered_json::array();
  EXPECT_THAT(encoded(must_make_bpe(model), "abc"), ElementsAre("a", "b", "c"));
  model["ignore_merges"] = true;
  EXPECT_THAT(encoded(must_make_bpe(model), "abc"), ElementsAre("abc"));
}

TEST(Bpe, CharactersWithoutATokenBecomeTheUnknownOneOrNothing) {
  ordered_json model = small_bpe();
  EXPECT_THAT(encoded(must_make_bpe(model), "axx\u4e2dc"), ElementsAre("a", "c"));
  model["unk_token"] = "?";
  EXPECT_THAT(encoded(must_make_bpe(model), "axx\u4e2dc"), ElementsAre("a", "?", "?", "?", "c"));
  model["fuse_unk"] = true;
  EXPECT_THAT(encoded(must_make_bpe(model), "axx\u4e2dc"), ElementsAre("a", "?", "c"));
}

// The definition, without any cleverness.
std::vector<uint32_t> merged_naively(
    std::vector<uint32_t> symbols,
    const std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, uint32_t>>& merges) {
  for (;;) {
    size_t best = symbols.size();
    for (size_t index = 0; index + 1 < symbols.size(); ++index) {
      const auto merge = merges.find({symbols[index], symbols[index + 1]});
      if (merge == merges.end()) continue;
      if (best == symbols.size() ||
          merge->second.first < merges.at({symbols[best], symbols[best + 1]}).first)
        best = index;
    }
    if (best == symbols.size()) return symbols;
    symbols[best] = merges.at({symbols[best], symbols[best + 1]}).second;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, ShortAndLongPiecesAreMergedAsTheDefinitionSays) {
  Rng random(5);
  for (int round = 0; round < 200; ++round) {
    ordered_json model = {{"type", "BPE"},
                          {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}}},
                          {"merges", ordered_json::array()}};
    std::vector<std::string> tokens = {"a", "b", "c"};
    std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, uint32_t>> merges;
    for (uint32_t rank = 0; rank < 12; ++rank) {
      const auto left = static_cast<uint32_t>(random.next() % tokens.size());
      const auto right = static_cast<uint32_t>(random.next() % tokens.size());
      const std::string joined = tokens[left] + tokens[right];
      const auto known = std::find(tokens.begin(), tokens.end(), joined);
      const auto id = static_cast<uint32_t>(known - tokens.begin());
      if (merges.contains({left, right})) continue;
      if (known == tokens.end()) {
        model["vocab"][joined] = id;
        tokens.push_back(joined);
      }
      merges[{left, right}] = {static_cast<uint32_t>(model["merges"].size()), id};
      model["merges"].push_back({tokens[left], tokens[right]});
    }
    const Bpe bpe = must_make_bpe(model);
    for (const size_t length : {1u, 2u, 7u, 47u, 48u, 49u, 300u}) {
      std::string piece;
      std::vector<uint32_t> symbols;
      for (size_t index = 0; index < length; ++index) {
        symbols.push_back(static_cast<uint32_t>(random.next() % 3));
        piece += static_cast<char>('a' + symbols.back());
      }
      std::vector<TokenId> actual;
      bpe.encode(piece, actual);
      ASSERT_EQ(test::numbers(actual), merged_naively(symbols, merges)) << piece << model.dump();
    }
  }
}

// Trap 1.
TEST(Bpe, OptionsThatAreNotKnownStopWithTheirName) {
  const auto with = [](const std::string& field, const ordered_json& value) {
    ordered_json model = small_bpe();
    model[field] = value;
    return bpe_refusal(model);
  };
  EXPECT_EQ(with("type", "WordPiece"), "model WordPiece is not supported by this version");
  EXPECT_THAT(with("dropout", 0.1), HasSubstr("dropout"));
  EXPECT_THAT(with("continuing_subword_prefix", "##"), HasSubstr("continuing_subword_prefix"));
  EXPECT_THAT(with("end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(with("surprise", 1), HasSubstr("\"surprise\""));
  EXPECT_EQ(with("dropout", nullptr), "accepted");
  EXPECT_EQ(with("dropout", 0.0), "accepted");
  EXPECT_EQ(with("end_of_word_suffix", ""), "accepted");
}

TEST(Bpe, AVocabularyThatContradictsItselfIsCorrupt) {
  const auto with = [](const std::string& field, const ordered_json& value) {
    ordered_json model = small_bpe();
    model[field] = value;
    return bpe_refusal(model);
  };
  EXPECT_THAT(with("merges", pairs({{"a", "c"}})),
              HasSubstr("needs a token that the vocabulary lacks"));
  EXPECT_THAT(with("merges", pairs({{"a", "x"}})),
              HasSubstr("needs a token that the vocabulary lacks"));
  EXPECT_THAT(with("merges", {"a b c"}), HasSubstr("merge 0 is no pair"));
  EXPECT_THAT(with("merges", {"ab"}), HasSubstr("merge 0 is no pair"));
  EXPECT_THAT(with("merges", {{"a"}}), HasSubstr("merge 0 is no pair"));
  EXPECT_THAT(with("merges", {1}), HasSubstr("merge 0 is no pair"));
  EXPECT_THAT(with("merges", nullptr), HasSubstr("\"merges\" should be an array"));
  EXPECT_THAT(with("vocab", {{"a", 0}, {"b", 0}}), HasSubstr("another token has id 0"));
  EXPECT_THAT(with("vocab", {{"a", -1}}), HasSubstr("no usable id"));
  EXPECT_THAT(with("vocab", {{"a", 4294967295}}), HasSubstr("no usable id"));
  EXPECT_THAT(with("vocab", {{"a", "0"}}), HasSubstr("no usable id"));
  EXPECT_THAT(with("vocab", ordered_json::array()), HasSubstr("\"vocab\" should be an object"));
  EXPECT_THAT(with("unk_token", "<unk>"), HasSubstr("\"unk_token\" should be"));
}

TEST(Vocabulary, FindsEveryStringAndKnowsHoles) {
  Vocabulary vocabulary;
  for (uint32_t id = 0; id < 5000; id += 2)
    ASSERT_TRUE(vocabulary.add("token " + std::to_string(id), TokenId{id}));
  EXPECT_EQ(vocabulary.size(), 4999u);
  EXPECT_EQ(vocabulary.tokens(), 2500u);
  for (uint32_t id = 0; id < 5000; ++id) {
    const bool there = id % 2 == 0;
    const std::string text = "token " + std::to_string(id);
    EXPECT_EQ(vocabulary.find(text), there ? std::optional(TokenId{id}) : std::nullopt);
    EXPECT_EQ(vocabulary.text_of(TokenId{id}), there ? text : "");
    EXPECT_EQ(vocabulary.holds(TokenId{id}), there);
  }
  EXPECT_FALSE(vocabulary.add("other", TokenId{0}));
  EXPECT_FALSE(vocabulary.add("token 0", TokenId{1}));
  EXPECT_TRUE(vocabulary.add("token 0", TokenId{0}));
}

}  // namespace
}  // namespace smoe
