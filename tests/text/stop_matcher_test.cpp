// Trap 14, C18.
#include "text/stop_matcher.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace smoe {
namespace {

struct Outcome {
  std::string text;
  bool matched;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(stops);
  std::string text;
  for (const std::string& piece : pieces) text += matcher.push(piece);
  text += matcher.finish();
  return {text, matcher.matched()};
}

TEST(StopMatcher, EndsTheTextBeforeAStopThatIsSplitOverPieces) {
  EXPECT_EQ(run({"own fox"}, {"a br", "own", " f", "ox jumps"}), (Outcome{"a br", true}));
}

TEST(StopMatcher, GivesBackATailThatTurnsOutToBeNoStop) {
  EXPECT_EQ(run({"abcd"}, {"xab", "c", "e"}), (Outcome{"xabce", false}));
  EXPECT_EQ(run({"abcd"}, {"xabc"}), (Outcome{"xabc", false}));
}

TEST(StopMatcher, HoldsBackOnlyWhatMayStillBecomeAStop) {
  StopMatcher matcher({"\n\n"});
  EXPECT_EQ(matcher.push("line\n"), "line");
  EXPECT_EQ(matcher.push("next"), "\nnext");
  EXPECT_EQ(matcher.push("\n\nmore"), "");
  EXPECT_TRUE(matcher.matched());
}

TEST(StopMatcher, TakesTheStopThatIsCompleteFirst) {
  EXPECT_EQ(run({"ab", "abc"}, {"xabc"}), (Outcome{"x", true}));
  EXPECT_EQ(run({"bc", "abc"}, {"xabc"}),
            (Outcome{"x", true}));  // both end here: the longer begins first
}

TEST(StopMatcher, FindsAStopThatBeginsInsideAFailedOne) {
  EXPECT_EQ(run({"aab"}, {"aaab"}), (Outcome{"a", true}));
}

TEST(StopMatcher, IgnoresEmptyStops) { EXPECT_EQ(run({""}, {"abc"}), (Outcome{"abc", false})); }

TEST(StopMatcher, DoesNotDependOnHowTheTextIsCut) {
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 30; ++i) text += "abc"[rng.below(3)];
    std::vector<std::string> stops;
    for (uint64_t i = 0; i <= rng.below(3); ++i) {
      std::string stop;
      for (uint64_t k = 0; k <= rng.below(4) + 1; ++k) stop += "abc"[rng.below(3)];
      stops.push_back(stop);
    }
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t length = 1 + rng.below(5);
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    ASSERT_EQ(run(stops, pieces), run(stops, {text})) << text;
  }
}

}  // namespace
}  // namespace smoe
