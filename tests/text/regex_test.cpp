#include "text/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

namespace smoe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The matched texts, or the error in angle brackets.
std::vector<std::string> found(std::string_view pattern, const std::string& text) {
  const auto regex = Regex::compile(pattern);
  if (!regex) return {"<" + regex.error().message + ">"};
  std::string storage;
  std::vector<TextRange> ranges;
  Regex::Finder finder(*regex, text.size());
  const Status status = finder.find_all(regex->known(text, storage), {0, text.size()}, ranges);
  if (!status) return {"<" + status.error().message + ">"};
  std::vector<std::string> texts;
  for (const TextRange range : ranges)
    texts.push_back(text.substr(range.begin, range.end - range.begin));
  return texts;
}

std::string regex_refusal(std::string_view pattern) {
  const auto regex = Regex::compile(pattern);
  return regex ? "accepted" : regex.error().message;
}

// CONVENTIONS 2c: U+180E is a space to PCRE2, U+0085 is not one to everybody.
TEST(Regex, SpacesAreThoseOfUnicodeInsideAndOutsideOfBrackets) {
  const std::string text = "a\u180e\u0085\u00a0\u3000\u200b";
  EXPECT_THAT(found("\\s", text), ElementsAre("\u0085", "\u00a0", "\u3000"));
  EXPECT_THAT(found("[\\s]", text), ElementsAre("\u0085", "\u00a0", "\u3000"));
  EXPECT_THAT(found("\\S", text), ElementsAre("a", "\u180e", "\u200b"));
  EXPECT_THAT(found("[^\\s]", text), ElementsAre("a", "\u180e", "\u200b"));
  EXPECT_THAT(found("[\\S]", text), ElementsAre("a", "\u180e", "\u200b"));
}

TEST(Regex, CharactersYoungerThanTheRegexLibraryHaveTheirCategory) {
  // Unicode 15: Kawi letter and digit; 16: Garay capital and small letter.
  const std::string text = "\U00011f04\U00011f50\U00010d50\U00010d70";
  EXPECT_THAT(found("\\p{L}+", text), ElementsAre("\U00011f04", "\U00010d50\U00010d70"));
  EXPECT_THAT(found("\\p{N}", text), ElementsAre("\U00011f50"));
  EXPECT_THAT(found("\\p{Lu}", text), ElementsAre("\U00010d50"));
  EXPECT_THAT(found("\\P{L}", text), ElementsAre("\U00011f50"));
  EXPECT_THAT(found("\\p{Cn}", text), ElementsAre());
}

TEST(Regex, AStandInNeverCrossesARangeThatThePatternMentions) {
  const std::string kawi = "\U00011f04";
  EXPECT_THAT(found("[\U00011f00-\U00011f0f]", kawi), ElementsAre(kawi));
  EXPECT_THAT(found("[\U00010000-\U00010fff]", kawi), ElementsAre());
  EXPECT_THAT(found(kawi, kawi), ElementsAre(kawi));
  // An ideograph of Unicode 15.1.
  EXPECT_THAT(found("\\p{Han}", "\U0002ebf0"), ElementsAre("\U0002ebf0"));
  EXPECT_THAT(found("[^\\p{Han}]", "\U0002ebf0"), ElementsAre());
}

TEST(Regex, RubysSpellingsMeanWhatTheyMeanInRuby) {
  EXPECT_THAT(found("\\h+", "fe80 xyz"), ElementsAre("fe80"));
  EXPECT_THAT(found("^a", "a\na"), ElementsAre("a", "a"));
  EXPECT_THAT(found("(?m:a.b)", "a\nb"), ElementsAre("a\nb"));
  EXPECT_THAT(found("a.b", "a\nb a\rb"), ElementsAre("a\rb"));
  EXPECT_THAT(found("a{,2}b", "aaab"), ElementsAre("aab"));
  EXPECT_THAT(found("\\p{N}{1,3}+", "12345"), ElementsAre("12345"));
  EXPECT_THAT(found("a{2}?", "aaa"), ElementsAre("aa", ""));
  EXPECT_THAT(found("a(?i)B|c", "ab aC c"), ElementsAre("ab", "aC"));
  EXPECT_THAT(found("a{x}", "a{x}"), ElementsAre("a{x}"));
}

TEST(Regex, ClassesMayBeNestedAndIntersected) {
  EXPECT_THAT(found("[a-z&&[^aeiou]]+", "banana"), ElementsAre("b", "n", "n"));
  EXPECT_THAT(found("[^a-z&&[^aeiou]]+", "banana"), ElementsAre("a", "a", "a"));
  EXPECT_THAT(found("[a[0-9]]+", "a1b2"), ElementsAre("a1", "2"));
  EXPECT_THAT(found("[]a-]+", "]-ab"), ElementsAre("]-a"));
}

TEST(Regex, EmptyMatchesAreFoundOnceAndNotBehindAMatch) {
  EXPECT_THAT(found("a*", "aab"), ElementsAre("aa", ""));
  EXPECT_THAT(found("", "\u00e9"), ElementsAre("", ""));
}

TEST(Regex, AMatchSeesNothingOutsideItsRange) {
  const auto regex = Regex::compile("(?<!a)b|b(?!c)|^b");
  ASSERT_TRUE(regex);
  std::vector<TextRange> ranges;
  Regex::Finder finder(*regex, 3);
  ASSERT_TRUE(finder.find_all("abc", {1, 2}, ranges));
  EXPECT_THAT(ranges, ElementsAre(TextRange{1, 2}));
}

TEST(Regex, WhatIsNotKnownToMeanTheSameIsRefusedByName) {
  EXPECT_THAT(regex_refusal("a\\Zb"), HasSubstr("escape \\Z"));
  EXPECT_THAT(regex_refusal("\\R"), HasSubstr("escape \\R"));
  EXPECT_THAT(regex_refusal("(a)\\1"), HasSubstr("escape \\1"));
  EXPECT_THAT(regex_refusal("\\p{Script=Han}"), HasSubstr("property {Script=Han}"));
  EXPECT_THAT(regex_refusal("\\p{Bogus}"), HasSubstr("property {Bogus}"));
  EXPECT_THAT(regex_refusal("(?<name>a)"), HasSubstr("group"));
  EXPECT_THAT(regex_refusal("(?x: a)"), HasSubstr("group"));
  EXPECT_THAT(regex_refusal("[[:alpha:]]"), HasSubstr("POSIX"));
  EXPECT_THAT(regex_refusal("(?i:stra\u00dfe)"), HasSubstr("case is ignored"));
  EXPECT_THAT(regex_refusal("(?i)miss"), HasSubstr("\"ss\""));
  EXPECT_THAT(regex_refusal("(?i:\\p{Lu})"), HasSubstr("case"));
  EXPECT_EQ(regex_refusal("miss"), "accepted");
  EXPECT_EQ(regex_refusal("(?i:a(?-i:ss))"), "accepted");
}

TEST(Regex, WhatIsMalformedIsRefused) {
  for (const char* pattern :
       {"(", "a)", "[a", "[]", "*", "a|+", "[z-a]", "\\", "\\p{L", "\\pL", "\\x{110000}",
        "\\x{d800}", "\\u12", "(?<=a+)b", "[a-\\d]", "[\\w-a]"})
    EXPECT_NE(regex_refusal(pattern), "accepted") << pattern;
}

TEST(Regex, AHostilePatternEndsWithAnErrorAndInTime) {
  EXPECT_THAT(found("(a|aa)+$", std::string(60, 'a') + "b"),
              ElementsAre(HasSubstr("gave up at byte")));
  EXPECT_THAT(found("(?:a|a|a?)+[bc]", std::string(20000, 'a')),
              ElementsAre(HasSubstr("gave up at byte")));
  EXPECT_THAT(regex_refusal("((((a{1,99}){1,99}){1,99}){1,99}){1,99}"),
              HasSubstr("regular expression"));
  EXPECT_THAT(regex_refusal(std::string(4097, 'a')), HasSubstr("4097 bytes"));
  EXPECT_THAT(regex_refusal(std::string(2000, '(') + std::string(2000, ')')),
              HasSubstr("regular expression"));
  EXPECT_THAT(regex_refusal(std::string(2000, '[')), HasSubstr("nested"));
}

// Each start stays below the limit, all of them together do not; nor do those of one piece.
TEST(Regex, ManyStartsThatTakeLongShareTheLimit) {
  std::string text;
  for (int run = 0; run < 3000; ++run) text += std::string(28, 'a') + "c";
  const std::clock_t begin = std::clock();
  EXPECT_THAT(found("(?:a|aa)+[bd]", text), ElementsAre(HasSubstr("gave up at byte")));
  EXPECT_LT(static_cast<double>(std::clock() - begin) / double{CLOCKS_PER_SEC}, 10);
  // What is found behind starts that take long is found all the same.
  EXPECT_THAT(found("(?:a|aa)+[bd]", std::string(24, 'a') + "c" + std::string(24, 'a') + "d-ad"),
              ElementsAre(std::string(24, 'a') + "d", "ad"));
}

TEST(Regex, ALongMatchIsNoHostileOne) {
  const std::string text(1 << 20, 'a');
  EXPECT_THAT(found("(?:a|b)+", text), ElementsAre(text));
  EXPECT_EQ(found("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", std::string(1 << 20, ' ')).size(), 1u);
}

TEST(Regex, ALiteralMatchesItselfAlone) {
  const std::string text = ".*[x]$^\\E(\u00e9 1";
  const auto regex = Regex::literal(text);
  ASSERT_TRUE(regex);
  std::vector<TextRange> ranges;
  Regex::Finder finder(*regex, text.size());
  ASSERT_TRUE(finder.find_all(text, {0, text.size()}, ranges));
  EXPECT_THAT(ranges, ElementsAre(TextRange{0, text.size()}));
}

}  // namespace
}  // namespace smoe
