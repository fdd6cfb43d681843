#include "text/unigram.h"

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

Result<Unigram> make_unigram(const ordered_json& model) {
  return Unigram::from_json(test::to_json(model), model["vocab"].dump());
}

ordered_json small_unigram() {
  return {
      {"type", "Unigram"},
      {"unk_id", 0},
      {"vocab",
       test::scored(
           {{"<unk>", 0.0}, {"a", -1.0}, {"b", -1.0}, {"ab", -1.5}, {"abc", -9.0}, {"c", -2.0}})}};
}

std::vector<uint32_t> unigram_ids(const ordered_json& model, std::string_view text) {
  const auto unigram = make_unigram(model);
  if (!unigram) throw std::runtime_error(unigram.error().message);
  std::vector<TokenId> tokens;
  const Status status = unigram->encode(text, tokens);
  if (!status) throw std::runtime_error(status.error().message);
  return test::numbers(tokens);
}

std::string unigram_refusal(const ordered_json& model) {
  const auto unigram = make_unigram(model);
  return unigram ? "accepted" : unigram.error().message;
}

TEST(Unigram, TakesTheMostProbableTokensNotTheLongest) {
  EXPECT_THAT(unigram_ids(small_unigram(), "ab"), ElementsAre(3));
  EXPECT_THAT(unigram_ids(small_unigram(), "abc"), ElementsAre(3, 5));
  EXPECT_THAT(unigram_ids(small_unigram(), ""), ElementsAre());
}

TEST(Unigram, NeighboursWithoutATokenBecomeOneUnknownOne) {
  EXPECT_THAT(unigram_ids(small_unigram(), "axyb"), ElementsAre(1, 0, 2));
  ordered_json model = small_unigram();
  model["unk_id"] = nullptr;
  std::vector<TokenId> tokens;
  const auto unigram = make_unigram(model);
  ASSERT_TRUE(unigram);
  const Status status = unigram->encode("ax", tokens);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUnsupported);
  EXPECT_THAT(status.error().message, HasSubstr("no token for \"x\""));
}

TEST(Unigram, CharactersWithoutATokenFallBackToTheirBytes) {
  ordered_json model = small_unigram();
  model["byte_fallback"] = true;
  model["vocab"].push_back(ordered_json::array({"<0xC3>", -3.0}));
  model["vocab"].push_back(ordered_json::array({"<0xA9>", -3.0}));
  EXPECT_THAT(unigram_ids(model, "a\u00e9"), ElementsAre(1, 6, 7));
  EXPECT_THAT(unigram_ids(model, "a\u00e8"), ElementsAre(1, 0));
}

// The best score of all ways to cut the text, by trying them.
double best_score(const std::map<std::string, double>& scores, const std::string& text) {
  double best = text.empty() ? 0.0 : -1e9;
  for (size_t length = 1; length <= text.size(); ++length) {
    const auto token = scores.find(text.substr(0, length));
    if (token != scores.end())
      best = std::max(best, token->second + best_score(scores, text.substr(length)));
  }
  return best;
}

TEST(Unigram, NoOtherWayToCutATextIsMoreProbable) {
  Rng random(4);
  for (int round = 0; round < 100; ++round) {
    ordered_json model = {
        {"type", "Unigram"}, {"unk_id", 0}, {"vocab", test::scored({{"<unk>", 0.0}})}};
    std::map<std::string, double> scores;
    for (int token = 0; token < 20; ++token) {
      std::string text;
      for (size_t length = token < 3 ? 1 : 1 + random.next() % 4; length > 0; --length)
        text += static_cast<char>('a' + (token < 3 ? token : static_cast<int>(random.next() % 3)));
      const double score = -static_cast<double>(random.next() % 1000) / 100.0;
      if (scores.emplace(text, score).second)
        model["vocab"].push_back(ordered_json::array({text, score}));
    }
    std::string text;
    for (int length = 0; length < 12; ++length)
      text += static_cast<char>('a' + static_cast<int>(random.next() % 3));
    double score = 0.0;
    std::string joined;
    for (const uint32_t id : unigram_ids(model, text)) {
      score += model["vocab"][id][1].get<double>();
      joined += model["vocab"][id][0].get<std::string>();
    }
    EXPECT_EQ(joined, text);
    EXPECT_NEAR(score, best_score(scores, text), 1e-9) << model.dump() << text;
  }
}

TEST(Unigram, AVocabularyThatContradictsItselfIsRefused) {
  const auto with = [](const std::string& field, const ordered_json& value) {
    ordered_json model = small_unigram();
    model[field] = value;
    return unigram_refusal(model);
  };
  EXPECT_THAT(with("unk_id", 6), HasSubstr("\"unk_id\" should be"));
  EXPECT_THAT(with("vocab", ordered_json::array()), HasSubstr("empty"));
  EXPECT_THAT(with("vocab", ordered_json::object()), HasSubstr("should be an array"));
  EXPECT_THAT(with("vocab", ordered_json::array({ordered_json::array({"a", "b"})})),
              HasSubstr("no score"));
  EXPECT_THAT(with("vocab", ordered_json::array({ordered_json::array({1, 2})})),
              HasSubstr("no pair"));
  ordered_json twice = small_unigram();
  twice["vocab"].push_back(ordered_json::array({"a", -3.0}));
  EXPECT_THAT(unigram_refusal(twice), HasSubstr("there twice"));
  EXPECT_THAT(with("alpha", 0.1), HasSubstr("\"alpha\""));
}

}  // namespace
}  // namespace smoe
