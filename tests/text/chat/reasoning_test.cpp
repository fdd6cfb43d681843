#include "text/chat/reasoning.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace smoe {
namespace {

struct Split {
  std::string thought;
  std::string answer;
  friend bool operator==(const Split&, const Split&) = default;
};

void add(Split& split, const std::vector<ReasoningSplitter::Part>& parts) {
  for (const auto& part : parts) (part.thinking ? split.thought : split.answer) += part.text;
}

Split split_at_once(std::string_view text, bool starts_thinking = false) {
  ReasoningSplitter splitter({}, starts_thinking);
  Split split;
  add(split, splitter.push(text));
  add(split, splitter.finish());
  return split;
}

TEST(Reasoning, IsCutFromTheAnswerWithTheSpaceAroundItsMarks) {
  EXPECT_EQ(split_at_once("<think>\nhm, two\n</think>\n\nTwo."), (Split{"hm, two", "Two."}));
  EXPECT_EQ(split_at_once("\n<think>\n\n</think>\n\nTwo."), (Split{"", "Two."}));
  EXPECT_EQ(split_at_once("hm\n</think>\n\nTwo.", true), (Split{"hm", "Two."}));
}

TEST(Reasoning, LeavesATextWithoutMarksAsItIs) {
  EXPECT_EQ(split_at_once("  Two < three.\n"), (Split{"", "  Two < three.\n"}));
  EXPECT_EQ(split_at_once(""), Split{});
}

TEST(Reasoning, TakesMarksInTheAnswerForText) {
  EXPECT_EQ(split_at_once("Write <think> first, then </think>."),
            (Split{"", "Write <think> first, then </think>."}));
  EXPECT_EQ(split_at_once("<think>a</think>b <think>c</think>"),
            (Split{"a", "b <think>c</think>"}));
}

TEST(Reasoning, KeepsAThoughtThatWasCutShort) {
  EXPECT_EQ(split_at_once("<think>\nonly half of </thi"), (Split{"only half of </thi", ""}));
  EXPECT_EQ(split_at_once("<thi"), (Split{"", "<thi"}));
}

TEST(Reasoning, IsTheSameHoweverTheTextArrives) {
  Rng rng(7);
  const std::string text = "\n<think>\nlet me </thin k>\n\n see \n</think>\n\nIt is <think>. \n";
  const Split whole = split_at_once(text);
  EXPECT_EQ(whole, (Split{"let me </thin k>\n\n see", "It is <think>. \n"}));
  for (int round = 0; round < 2000; ++round) {
    ReasoningSplitter splitter({}, false);
    Split split;
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + rng.next() % 5;
      add(split, splitter.push(std::string_view(text).substr(at, size)));
      at += size;
    }
    add(split, splitter.finish());
    ASSERT_EQ(split, whole) << "round " << round;
  }
}

TEST(Reasoning, IsOpenWhenThePromptEndsWithItsMark) {
  EXPECT_TRUE(ends_in_thought("<|im_start|>assistant\n<think>\n", {}));
  EXPECT_FALSE(ends_in_thought("<|im_start|>assistant\n<think>\n\n</think>\n\n", {}));
  EXPECT_FALSE(ends_in_thought("<|im_start|>assistant\n", {}));
}

}  // namespace
}  // namespace smoe
