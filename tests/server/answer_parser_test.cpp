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
      if (part.kind == Kind::kArguments) answer.calls.back().arguments += part.text;
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

AnswerParser::Options options_of(std::string_view sign) {
  AnswerParser::Options options{.format = tool_format_of(sign)};
  options.tools = *Json::parse(
      R"([{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":
      {"s":{"type":"string"},"n":{"type":"integer"}}}}}])");
  return options;
}

// CONVENTIONS C25, C14: a long argument is not withheld until its call is complete.
TEST(AnswerParser, TellsArgumentsWhileTheyAreWritten) {
  struct Row {
    std::string_view sign;
    std::string before;
    std::string behind;
  };
  for (const Row& row :
       {Row{"<tool_call>", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": \"",
            "\", \"n\": 3}}\n</tool_call>"},
        Row{"<function=", "<tool_call>\n<function=f>\n<parameter=s>\n",
            "\n</parameter>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>"},
        Row{"<arg_key>", "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>",
            "</arg_value>\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"},
        Row{"<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"s\":\"",
            "\",\"n\":3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
        Row{"<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"s\":"
            "\"",
            "\",\"n\":3}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
        Row{"<|channel|>",
            "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"s\":\"",
            "\",\"n\":3}<|call|>"},
        Row{"<|channel|>", " to=functions.f<|channel|>commentary json<|message|>{\"s\":\"",
            "\",\"n\":3}<|call|>"}}) {
    AnswerParser parser(options_of(row.sign));
    std::vector<AnswerPart> told = parser.push(row.before);
    ASSERT_FALSE(told.empty()) << row.before;
    EXPECT_EQ(told.front(), (AnswerPart{Kind::kToolCall, "", {"f", ""}})) << row.before;
    told = parser.push("long é");
    ASSERT_EQ(told.size(), 1U) << row.before;
    EXPECT_EQ(told.front(), (AnswerPart{Kind::kArguments, "long é", {}})) << row.before;
    EXPECT_EQ(whole(row.before + "long é" + row.behind + " end", options_of(row.sign)),
              (Answer{"end", "", {{"f", R"({"s":"long é","n":3})"}}}))
        << row.before;
  }
}

TEST(AnswerParser, TellsSeveralCallsBetweenOnePairOfMarks) {
  EXPECT_EQ(whole("<tool_call><function=f>\n<parameter=s>\na \"b\"\n\n</parameter></function>\n"
                  "<function=g></function></tool_call>x",
                  options_of("<function=")),
            (Answer{"x", "", {{"f", R"({"s":"a \"b\"\n"})"}, {"g", "{}"}}}));
  EXPECT_EQ(whole("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\":\"\\\"}\"}"
                  "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
                  "<｜tool▁calls▁end｜>",
                  options_of("<｜tool▁calls▁begin｜>")),
            (Answer{"", "", {{"f", R"({"a":"\"}"})"}, {"g", "{}"}}}));
}

// A call that is cut off has been told already: its arguments end where the model did.
TEST(AnswerParser, LeavesArgumentsThatAreCutOffAsTheyAre) {
  EXPECT_EQ(whole("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b", hermes()),
            (Answer{"", "", {{"f", R"({"a":"b)"}}}));
  EXPECT_EQ(whole("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1</tool_call> so", hermes()),
            (Answer{"so", "", {{"f", R"({"a":1)"}}}));
  EXPECT_EQ(whole("<tool_call><function=f><parameter=s>\nab", options_of("<function=")),
            (Answer{"", "", {{"f", R"({"s":"ab)"}}}));
}

// The channels of gpt-oss: what it thinks, a word before a call, the answer.
TEST(AnswerParser, ReadsChannels) {
  AnswerParser::Options options = options_of("<|channel|>");
  options.split_reasoning = true;
  options.marks = reasoning_marks_of("<|channel|>analysis<|message|>");
  EXPECT_EQ(whole("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final"
                  "<|message|>Hello",
                  options),
            (Answer{"Hello", "hm", {}}));
  EXPECT_EQ(whole("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary"
                  "<|message|>I look<|end|><|start|>assistant to=functions.f<|channel|>commentary "
                  "json<|message|>{\"n\": 1}<|call|>",
                  options),
            (Answer{"I look", "hm", {{"f", R"({"n":1})"}}}));
  EXPECT_EQ(whole("say to=functions. and more", options),
            (Answer{"say to=functions. and more", "", {}}));
}

// RELIABILITY F12: what is streamed is what is answered at once.
TEST(AnswerParser, DoesNotDependOnHowTheTextIsCut) {
  rc::check([] {
    const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "<tool_call>", "</tool_call>", "<tool_", "{\"name\":\"f\"}", "{\"name\":\"g\",", " ", "\n",
        "<think>", "</think>", "text", "é", "<", ">", "\"arguments\":{}}", "</tool",
        "{\"name\": \"f\", \"arguments\": {\"a\": \"", "\"", "\\", "}", "<function=f>",
        "<parameter=s>", "<parameter=n>", "</parameter>", "</function>", "3", "f<arg_key>s",
        "</arg_key>", "<arg_value>", "</arg_value>", " to=functions.", "<|message|>", "<|call|>",
        "<|channel|>commentary", "<|end|>"));
    std::string text;
    for (const std::string& word : words) text += word;
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t length = *rc::gen::inRange<size_t>(1, 7);
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    AnswerParser::Options options = options_of(
        *rc::gen::element<std::string>("<tool_call>", "<function=", "<arg_key>", "<|channel|>"));
    options.split_reasoning = true;
    options.starts_thinking = *rc::gen::arbitrary<bool>();
    RC_ASSERT(answer_of(pieces, options) == whole(text, options));
  });
}

}  // namespace
}  // namespace smoe::server
