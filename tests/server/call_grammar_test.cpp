// What a forced call may be, in each format, is what that format's reader reads.
#include "server/tool_calls/call_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/support.h"

namespace smoe::server {
namespace {

constexpr std::string_view kTools = R"([
  {"type":"function","function":{"name":"paint","parameters":{"type":"object","properties":{
    "color":{"type":"string","enum":["red","sky blue"]},"coats":{"type":"integer","minimum":1,"maximum":3},
    "dry":{"type":"boolean"}},"required":["color","coats"]}}},
  {"type":"function","function":{"name":"stop","parameters":{"type":"object","properties":{}}}}])";

enum class Around : uint8_t { kNothing, kText };

std::shared_ptr<const Grammar> grammar_of(const ToolFormat& format, std::string_view function,
                                          std::string_view source,
                                          Around around = Around::kNothing) {
  const Tokenizer tokenizer = test::must_parse(test::byte_tokenizer());
  const std::vector<TokenId> stops;
  GrammarRules rules;
  const CallSpelling spelling{format, tokenizer, source, stops};
  auto call = call_expression(rules, spelling, *Json::parse(kTools), function);
  if (!call) return nullptr;
  rules.root = rules.add("answer");
  Expression answer = around == Around::kText ? text_with_calls(rules, spelling, *std::move(call))
                                              : behind_mark(spelling, *std::move(call));
  rules.rules[rules.root].body = std::move(answer);
  auto grammar = Grammar::compile(rules);
  return grammar ? std::make_shared<const Grammar>(*std::move(grammar)) : nullptr;
}

std::string random_call(const std::shared_ptr<const Grammar>& grammar, std::mt19937& random) {
  Automaton automaton(grammar);
  StackSet at = automaton.start();
  std::string text;
  while (!automaton.ends(at) && text.size() < 2000) {
    std::vector<uint8_t> bytes;
    for (unsigned byte = 0; byte < 256; ++byte)
      if (automaton.step(at, static_cast<uint8_t>(byte)) != Automaton::kDead)
        bytes.push_back(static_cast<uint8_t>(byte));
    if (bytes.empty()) return "";
    const uint8_t chosen = bytes[random() % bytes.size()];
    text += static_cast<char>(chosen);
    at = automaton.step(at, chosen);
  }
  return text;
}

TEST(CallGrammar, AllowsWhatTheReaderOfEachFormatReads) {
  std::mt19937 random(2);
  for (const ToolFormat& format : tool_formats()) {
    for (const std::string_view source : {"", "```json"}) {
      const auto grammar = grammar_of(format, "paint", source);
      ASSERT_NE(grammar, nullptr) << format.name;
      for (int round = 0; round < 20; ++round) {
        const std::string text = random_call(grammar, random);
        ASSERT_TRUE(text.starts_with(format.open)) << format.name << text;
        ASSERT_TRUE(text.ends_with(format.close)) << format.name << text;
        const auto inside =
            text.substr(format.open.size(), text.size() - format.open.size() - format.close.size());
        const auto calls = format.read(inside, *Json::parse(kTools));
        ASSERT_TRUE(calls && calls->size() == 1) << format.name << text;
        EXPECT_EQ(calls->front().name, "paint");
        const auto arguments = Json::parse(calls->front().arguments);
        ASSERT_TRUE(arguments.has_value());
        const auto color = arguments->find("color")->as_string();
        EXPECT_TRUE(color == "red" || color == "sky blue") << text;
        EXPECT_LE(arguments->find("coats")->as_uint().value_or(9), 3U) << text;
      }
    }
  }
}

TEST(CallGrammar, ChoosesAmongAllFunctionsWhereNoneIsNamed) {
  std::mt19937 random(4);
  std::string names;
  const ToolFormat& hermes = *tool_format_of("<tool_call>");
  const auto grammar = grammar_of(hermes, "", "");
  for (int round = 0; round < 30; ++round) names += random_call(grammar, random);
  EXPECT_THAT(names, ::testing::HasSubstr("\"paint\""));
  EXPECT_THAT(names, ::testing::HasSubstr(R"("stop", "arguments": {})"));
}

bool matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Automaton automaton(grammar);
  StackSet at = automaton.start();
  for (const char byte : text) at = automaton.step(at, static_cast<uint8_t>(byte));
  return automaton.ends(at);
}

// A strict function under tool_choice auto: text stays free, calls do not.
TEST(CallGrammar, LeavesTextFreeAndHoldsTheCallsInIt) {
  const std::string call =
      "<tool_call>\n{\"name\": \"paint\", \"arguments\": {\"color\": \"red\", \"coats\": 2}}\n"
      "</tool_call>";
  const std::string wrong =
      "<tool_call>\n{\"name\": \"paint\", \"arguments\": {\"color\": \"blue\", \"coats\": 2}}\n"
      "</tool_call>";
  const auto grammar = grammar_of(*tool_format_of("<tool_call>"), "", "", Around::kText);
  ASSERT_NE(grammar, nullptr);
  for (const std::string& text : {std::string(), std::string("plain <tool_ text"), call,
                                  "I look.\n" + call + "\n" + call + "x"})
    EXPECT_TRUE(matches(grammar, text)) << text;
  for (const std::string& text :
       {wrong, "I look. " + wrong, call + wrong, std::string("a <tool_call>"),
        std::string("<tool_call>x</tool_call>")})
    EXPECT_FALSE(matches(grammar, text)) << text;
}

TEST(CallGrammar, RefusesAFunctionThatIsNotThere) {
  EXPECT_EQ(grammar_of(tool_formats().front(), "fly", ""), nullptr);
}

}  // namespace
}  // namespace smoe::server
