#include "text/grammar/automaton.h"

#include <gtest/gtest.h>

#include "text/grammar/rules.h"
#include "text/grammar/support.h"

namespace smoe {
namespace {

using test::gbnf;
using test::matches;

StackSet after(Automaton& automaton, std::string_view text) {
  StackSet at = automaton.start();
  for (const char byte : text) at = automaton.step(at, static_cast<uint8_t>(byte));
  return at;
}

TEST(Automaton, ListsThatEndInThemselvesNeedNoDeeperStack) {
  Automaton automaton(gbnf("root ::= \"a\" root | \"b\""));
  EXPECT_EQ(after(automaton, "a"), after(automaton, std::string(10'000, 'a')));
}

TEST(Automaton, CountsTurnsWithoutAStateForEach) {
  const auto grammar = gbnf("root ::= \"a\"{1000,100000}");
  EXPECT_LT(grammar->states(), 10U);
  EXPECT_FALSE(matches(grammar, std::string(999, 'a')));
  EXPECT_TRUE(matches(grammar, std::string(1000, 'a')));
  EXPECT_TRUE(matches(grammar, std::string(50'000, 'a')));
}

TEST(Automaton, NestsAsDeepAsItsLimitAndNoDeeper) {
  const auto grammar = gbnf("root ::= \"[\" root \"]\" | \"x\"");
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + "x" + std::string(depth, ']');
  };
  EXPECT_TRUE(matches(grammar, nested(400)));
  EXPECT_FALSE(matches(grammar, nested(2000)));
}

TEST(Automaton, CompactingChangesNothingThatFollows) {
  const auto grammar = test::schema(R"({"type":"array","items":{"type":"array","maxItems":3}})");
  const std::string text = R"([[1,"a",{"b":[]}],[true],[)";
  Automaton automaton(grammar);
  StackSet at = after(automaton, text);
  at = automaton.compact(at);
  for (const char byte : std::string_view("2,3,4]]"))
    at = automaton.step(at, static_cast<uint8_t>(byte));
  EXPECT_TRUE(automaton.ends(at));
  at = automaton.compact(after(automaton, text));
  for (const char byte : std::string_view("2,3,4,5"))
    at = automaton.step(at, static_cast<uint8_t>(byte));
  EXPECT_EQ(at, Automaton::kDead);
}

TEST(Automaton, EndsATextThatHasTooManyReadings) {
  // Each rule doubles the readings of what is behind it.
  std::string text = "root ::= s0\n";
  for (int i = 0; i < 14; ++i)
    text += "s" + std::to_string(i) + " ::= \"a\" s" + std::to_string(i + 1) + " \"x\" | \"a\" s" +
            std::to_string(i + 1) + " \"y\"\n";
  text += "s14 ::= \"b\"\n";
  Automaton automaton(gbnf(text));
  EXPECT_EQ(after(automaton, std::string(14, 'a')), Automaton::kDead);
}

GrammarRules with_thought(std::string_view mark) {
  GrammarRules rules;
  rules.root = rules.add("root");
  std::vector<Expression> parts;
  parts.push_back(until(mark));
  parts.push_back(text_of("{}"));
  rules.rules[0].body = all_of(std::move(parts));
  return rules;
}

TEST(Automaton, ReadsAnythingUpToTheFirstMark) {
  const auto grammar = test::compiled(with_thought("aabaac"));
  for (const std::string_view before : {"", "a", "aabaa", "aabaabaabaa", "x\ny", "aabaaaabaa"})
    EXPECT_TRUE(matches(grammar, std::string(before) + "aabaac{}")) << before;
  EXPECT_FALSE(matches(grammar, "aabaac"));
  EXPECT_FALSE(matches(grammar, "aabaac aabaac{}"));
  EXPECT_FALSE(matches(grammar, "\xff<|end|>aabaac{}"));
}

TEST(Automaton, ReadsAnythingWithoutTheMark) {
  GrammarRules rules;
  rules.root = rules.add("root");
  std::vector<Expression> parts;
  parts.push_back(without("aab"));
  parts.push_back(text_of("."));
  rules.rules[0].body = all_of(std::move(parts));
  const auto grammar = test::compiled(rules);
  for (const std::string_view text : {"", "a", "aa", "aaaa", "b aa b", "ab", "x. y"})
    EXPECT_TRUE(matches(grammar, std::string(text) + ".")) << text;
  for (const std::string_view text : {"aab", "aaab", "x aab y", "aaaab"})
    EXPECT_FALSE(matches(grammar, std::string(text) + ".")) << text;
}

TEST(Automaton, AControlTokenIsAMarkOnlyAsAWhole) {
  const auto grammar = test::compiled(with_thought("\xff<|end|>"));
  EXPECT_TRUE(matches(grammar, "a<|end|>b\xff<|end|>{}"));
  EXPECT_FALSE(matches(grammar, "a\xff<|start|>b\xff<|end|>{}"));
}

}  // namespace
}  // namespace smoe
