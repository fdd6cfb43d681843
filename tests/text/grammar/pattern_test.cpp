#include "text/grammar/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "text/grammar/support.h"

namespace smoe {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Grammar> matching(std::string_view pattern) {
  auto expression = string_matching(pattern);
  if (!expression) throw std::runtime_error(expression.error().message);
  GrammarRules rules;
  rules.root = rules.add("root");
  rules.rules[0].body = *std::move(expression);
  return test::compiled(std::move(rules));
}

void expect_all(std::string_view pattern, const std::vector<std::string_view>& in,
                const std::vector<std::string_view>& out) {
  const auto grammar = matching(pattern);
  for (const auto text : in) EXPECT_TRUE(test::matches(grammar, text)) << pattern << " " << text;
  for (const auto text : out) EXPECT_FALSE(test::matches(grammar, text)) << pattern << " " << text;
}

TEST(Pattern, MatchesWholeStringsBetweenItsAnchors) {
  expect_all("^ab+c?$", {R"("ab")", R"("abbc")"}, {R"("xab")", R"("abd")", "ab", R"("a")"});
  expect_all("^a|b$", {R"("axx")", R"("xxb")", R"("a")"}, {R"("xax")"});
  expect_all("^(a|bc){2,3}$", {R"("abc")", R"("aaa")"}, {R"("a")", R"("aaaa")"});
  expect_all("^$", {R"("")"}, {R"("a")"});
}

TEST(Pattern, MayStandAnywhereWithoutAnchors) {
  expect_all("b", {R"("b")", R"("abc")", R"("\nb\"")"}, {R"("ac")", R"("")"});
}

TEST(Pattern, KnowsClassesAndEscapes) {
  expect_all(R"(^\d{3}-[\w.-]+\.\s$)", {R"("123-a_b.-. ")", R"("000-x.\n")"}, {R"("12-a. ")"});
  expect_all(R"(^[^a-z]\D\S$)", {R"("AB.")", R"("\"-_")"}, {R"("a.x")", R"("A1x")", R"("AB ")"});
  expect_all(R"(^\u00e9\x41\/[\]\\]$)", {R"("éA/]")", R"("éA/\\")"}, {R"("éA/\")"});
  expect_all("^.$", {R"("a")", R"("é")", R"("\t")"}, {R"("\n")", R"("ab")"});
  expect_all("^(?:a)(?<name>b)?$", {R"("a")", R"("ab")"}, {R"("b")"});
  expect_all("^a*?b+?$", {R"("aab")"}, {R"("aa")"});
}

TEST(Pattern, WritesWhatStringsEscapeInItsEscapedForm) {
  expect_all("^\"\\\\$", {R"("\"\\")"}, {R"(""\")"});
}

TEST(Pattern, RefusesWhatIsNoRegularLanguage) {
  const auto refusal = [](std::string_view pattern) {
    return string_matching(pattern) ? std::string() : string_matching(pattern).error().message;
  };
  EXPECT_THAT(refusal("a(?=b)"), HasSubstr("looks around"));
  EXPECT_THAT(refusal("a(?<!b)"), HasSubstr("looks around"));
  EXPECT_THAT(refusal("(a)\\1"), HasSubstr("\\1"));
  EXPECT_THAT(refusal("\\bword"), HasSubstr("\\b"));
  EXPECT_THAT(refusal("\\p{L}"), HasSubstr("\\p"));
  EXPECT_THAT(refusal("a^b"), HasSubstr("^"));
  EXPECT_THAT(refusal("a$b"), HasSubstr("'b'"));
  EXPECT_THAT(refusal("*a"), HasSubstr("repeats nothing"));
  EXPECT_THAT(refusal("(a"), HasSubstr("not closed"));
  EXPECT_THAT(refusal("[a"), HasSubstr("not closed"));
  EXPECT_THAT(refusal("a)"), HasSubstr("')'"));
  EXPECT_THAT(refusal("[z-a]"), HasSubstr("range"));
  EXPECT_THAT(refusal("a{2,1}"), HasSubstr("bounds"));
}

}  // namespace
}  // namespace smoe
