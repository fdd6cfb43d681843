#include "server/answer_parser.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace smoe::server {
namespace {

using Kind = AnswerPart::Kind;

// What a client puts together from the parts.
struct Answer {
  std::string text;
  std::string reasoning;
  std::vector<ToolCall> calls;
  friend bool operator==(const Answer&, const Answer&) = default;
};

Answer answer_of(const std::vector<std::string>& pieces, const AnswerParser::Options& options) {
  AnswerParser parser(options);
  Answer answer;
  const auto take = [&](const std::vector<AnswerPart>& parts) {
    for (const AnswerPart& part : parts) {
      if (part.kind == Kind::kText) answer.text += part.text;
      if (part.kind == Kind::kReasoning) answer.reasoning += part.text;
      if (part.kind == Kind::kToolCall) answer.calls.push_back(part.call);
    }
  };
  for (const std::string& piece : pieces) take(parser.push(piece));
  take(parser.finish());
  return answer;
}

Answer whole(const std::string& text, const AnswerParser::Options& options) {
  return answer_of({text}, options);
}

AnswerParser::Options hermes() {
  return {.format = tool_format_of("<tool_call>"), .split_reasoning = true};
}

TEST(AnswerParser, TellsThoughtsTextAndCallsApart) {
  const Answer answer = whole(
      "<think>\nhm\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
      "1}}\n"
      "</tool_call>\n<tool_call>\n{\"name\": \"g\"}\n</tool_call>",
      hermes());
  EXPECT_EQ(answer.reasoning, "hm");
  EXPECT_EQ(answer.text, "I look.");
  EXPECT_EQ(answer.calls, (std::vector<ToolCall>{{"f", R"({"a":1})"}, {"g", "{}"}}));
}

TEST(AnswerParser, GivesTextBackThatOnlyBeginsLikeACall) {
  for (const std::string text : {"<tool_call>nothing</tool_call> more", "a <tool_call>",
                                 "<tool_call>\n{\"name\": \"f\", \"argum", "a <tool_", "x < y"})
    EXPECT_EQ(whole(text, hermes()), (Answer{text, "", {}})) << text;
}

TEST(AnswerParser, ReadsACallWhoseEndWasAStopToken) {
  AnswerParser::Options options{.format = tool_format_of("<|channel|>")};
  const Answer answer =
      whole("<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\":1}", options);
  EXPECT_EQ(answer.text, "");
  EXPECT_EQ(answer.calls, (std::vector<ToolCall>{{"f", R"({"a":1})"}}));
}

TEST(AnswerParser, LeavesMarksAloneWhenNoToolsWereOffered) {
  const std::string text = "<tool_call>{\"name\":\"f\"}</tool_call>";
  EXPECT_EQ(whole(text, {}), (Answer{text, "", {}}));
}

TEST(AnswerParser, KeepsBlanksThatAreTheAnswer) {
  EXPECT_EQ(whole("a \n\n b \n", hermes()).text, "a \n\n b \n");
}

// RELIABILITY F12: what is streamed is what is answered at once.
TEST(AnswerParser, DoesNotDependOnHowTheTextIsCut) {
  rc::check([] {
    const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "<tool_call>", "</tool_call>", "<tool_", "{\"name\":\"f\"}", "{\"name\":\"g\",", " ", "\n",
        "<think>", "</think>", "text", "é", "<", ">", "\"arguments\":{}}", "</tool"));
    std::string text;
    for (const std::string& word : words) text += word;
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t length = *rc::gen::inRange<size_t>(1, 7);
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    AnswerParser::Options options = hermes();
    options.starts_thinking = *rc::gen::arbitrary<bool>();
    RC_ASSERT(answer_of(pieces, options) == whole(text, options));
  });
}

}  // namespace
}  // namespace smoe::server
