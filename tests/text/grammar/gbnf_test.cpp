// What llama.cpp documents of GBNF, and what a grammar from outside must not do.
#include "text/grammar/gbnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "text/grammar/support.h"

namespace smoe {
namespace {

using test::gbnf;
using test::gbnf_refusal;
using test::matches;
using ::testing::HasSubstr;

struct GbnfCase {
  std::string_view what;
  std::string_view grammar;
  std::vector<std::string_view> in;
  std::vector<std::string_view> out;
};

class Gbnf : public ::testing::TestWithParam<GbnfCase> {};

TEST_P(Gbnf, MatchesWhatItSays) {
  const auto grammar = gbnf(GetParam().grammar);
  for (const std::string_view text : GetParam().in) EXPECT_TRUE(matches(grammar, text)) << text;
  for (const std::string_view text : GetParam().out) EXPECT_FALSE(matches(grammar, text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Features, Gbnf,
    ::testing::Values(
        GbnfCase{"literal", R"(root ::= "ab\n\"c\"")", {"ab\n\"c\""}, {"ab", "ab\n\"c\"x", ""}},
        GbnfCase{"choice", "root ::= \"a\" | \"bc\" |\n \"d\"", {"a", "bc", "d"}, {"b", "abc"}},
        GbnfCase{"set", R"(root ::= [a-cx\]-])", {"a", "b", "c", "x", "]", "-"}, {"d", "", "ab"}},
        GbnfCase{
            "negated", R"(root ::= [^a-c\n]+)", {"xyz", "é", "\xf0\x9f\x98\xb8"}, {"a", "", "x\n"}},
        GbnfCase{
            "escapes", R"(root ::= "\x41\u00e9\U0001F638\t")", {"Aé\xf0\x9f\x98\xb8\t"}, {"A"}},
        GbnfCase{"unicode set", "root ::= [ぁ-ゟ]+", {"ひらがな"}, {"カ", "a", "\xe3\x81"}},
        GbnfCase{"any",
                 "root ::= . .",
                 {"ab", "é\n"},
                 {"a", "abc",
                  "\xff"
                  "a"}},
        GbnfCase{"star", R"(root ::= "a"* "b")", {"b", "aab"}, {"a", "aba"}},
        GbnfCase{"plus", R"(root ::= ("a" | "b")+)", {"a", "abba"}, {"", "abc"}},
        GbnfCase{"optional", R"(root ::= "a"? "b"?)", {"", "a", "b", "ab"}, {"ba", "aa"}},
        GbnfCase{"exactly", R"(root ::= "ab"{3})", {"ababab"}, {"abab", "abababab"}},
        GbnfCase{"at least", R"(root ::= [0-9]{2,})", {"12", "1234567"}, {"1", ""}},
        GbnfCase{"between",
                 R"(root ::= ("x" "y"?){2,4} ".")",
                 {"xx.", "xyxyx.", "xxxxy."},
                 {"x.", "xxxxx."}},
        GbnfCase{"nested counts",
                 R"(root ::= ("a"{2} "b"){2,3})",
                 {"aabaab", "aabaabaab"},
                 {"aab", "abab"}},
        GbnfCase{"up to", R"(root ::= "a"{0,2})", {"", "a", "aa"}, {"aaa"}},
        GbnfCase{"none", R"(root ::= "a"{0} "b")", {"b"}, {"ab"}},
        GbnfCase{"rules",
                 "# first\nroot ::= key-1 \"=\" value # behind\n\nkey-1 ::= [a-z]+\nvalue ::= (\n  "
                 "\"1\" |\n  \"2\"\n)\n",
                 {"ab=1", "z=2"},
                 {"=1", "ab=3"}},
        GbnfCase{"recursion", "root ::= \"(\" root \")\" | \"x\"", {"x", "((x))"}, {"((x)", "()"}},
        GbnfCase{"right recursion", R"(root ::= "a" root | "")", {"", "aaaa"}, {"b"}},
        GbnfCase{"empty in a loop",
                 "root ::= (a b)* \"!\"\na ::= \"x\"?\nb ::= \"y\"*",
                 {"!", "xyyx!"},
                 {"x"}},
        GbnfCase{"ambiguous", R"(root ::= ("a" | "aa" | "aaa")* "b")", {"b", "aaaaaaab"}, {"aaa"}},
        GbnfCase{"carriage returns", "root ::= a\r\na ::= \"x\"\r\n", {"x"}, {"y"}}),
    [](const auto& instance) {
      std::string name(instance.param.what);
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

// The arithmetic example of its documentation.
TEST(GbnfText, OfLlamaCppMatchesItsTexts) {
  const auto grammar = gbnf(
      "root  ::= (expr \"=\" ws term \"\\n\")+\n"
      "expr  ::= term ([-+*/] term)*\n"
      "term  ::= ident | num | \"(\" ws expr \")\" ws\n"
      "ident ::= [a-z] [a-z0-9_]* ws\n"
      "num   ::= [0-9]+ ws\n"
      "ws    ::= [ \\t\\n]*\n");
  EXPECT_TRUE(matches(grammar, "(1 +x) *3 = y\n"));
  EXPECT_FALSE(matches(grammar, "(1 +x *3 = y\n"));
}

TEST(GbnfText, IsRefusedWithItsLine) {
  EXPECT_THAT(gbnf_refusal("root ::= a"), HasSubstr("rule a, which it does not define"));
  EXPECT_THAT(gbnf_refusal("a ::= \"x\""), HasSubstr("no rule root"));
  EXPECT_THAT(gbnf_refusal(""), HasSubstr("no rule root"));
  EXPECT_THAT(gbnf_refusal("root ::= \"x\n\n"), HasSubstr("line 3: a quote is not closed"));
  EXPECT_THAT(gbnf_refusal("root ::= \"x\"\nroot ::= \"y\""),
              HasSubstr("line 2: rule root is defined twice"));
  EXPECT_THAT(gbnf_refusal("root ::= [b-a]"), HasSubstr("runs backwards"));
  EXPECT_THAT(gbnf_refusal("root ::= (\"a\""), HasSubstr("not closed"));
  EXPECT_THAT(gbnf_refusal("root = \"a\""), HasSubstr("::= is missing"));
  EXPECT_THAT(gbnf_refusal(R"(root ::= "\q")"), HasSubstr("escape"));
  EXPECT_THAT(gbnf_refusal(R"(root ::= "\xg1")"), HasSubstr("hexadecimal"));
  EXPECT_THAT(gbnf_refusal(R"(root ::= "\uD800")"), HasSubstr("no character"));
  EXPECT_THAT(gbnf_refusal("root ::= \"a\"{3,2}"), HasSubstr("backwards"));
  EXPECT_THAT(gbnf_refusal("root ::= \"a\"{9999999999}"), HasSubstr("number up to"));
  EXPECT_THAT(gbnf_refusal("root ::= <[7]>"), HasSubstr("tokens are not supported"));
  EXPECT_THAT(gbnf_refusal("root ::= \"\xff\""), HasSubstr("no UTF-8"));
  EXPECT_THAT(gbnf_refusal("root ::= \"a\" ]"), HasSubstr("']' does not belong here"));
}

TEST(GbnfText, LeftRecursionIsRefusedHoweverItIsHidden) {
  EXPECT_THAT(gbnf_refusal("root ::= root \"a\" | \"b\""), HasSubstr("left recursion"));
  EXPECT_THAT(gbnf_refusal("root ::= a\na ::= b \"x\" | \"y\"\nb ::= a"),
              HasSubstr("left recursion"));
  EXPECT_THAT(gbnf_refusal("root ::= e root \"a\" | \"b\"\ne ::= \"c\"?"),
              HasSubstr("left recursion"));
  EXPECT_THAT(gbnf_refusal("root ::= (root \"a\"){2,3}"), HasSubstr("left recursion"));
  EXPECT_EQ(gbnf_refusal("root ::= \"a\" root \"b\" | \"c\""), "");
}

TEST(GbnfText, CountedLoopsOverNothingAreRefused) {
  EXPECT_THAT(gbnf_refusal("root ::= (\"a\"?){2,1000000}"), HasSubstr("may be empty"));
  EXPECT_THAT(gbnf_refusal("root ::= e{5}\ne ::= \"x\"*"), HasSubstr("may be empty"));
}

TEST(GbnfText, LimitsBoundWhatAGrammarCosts) {
  const std::string deep = "root ::= " + std::string(1000, '(') + "\"a\"" + std::string(1000, ')');
  EXPECT_THAT(gbnf_refusal(deep), HasSubstr("too deep"));
  EXPECT_THAT(gbnf_refusal("root ::= \"" + std::string(2'000'000, 'a') + "\""), HasSubstr("bytes"));
  EXPECT_THAT(gbnf_refusal("root ::= \"" + std::string(600'000, 'a') + "\""), HasSubstr("states"));
  EXPECT_THAT(gbnf_refusal("root ::= \"a\"" + std::string(100, '*')),
              HasSubstr("too many repetitions"));
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 30'000; ++i)
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "?\n";
  chain += "r30000 ::= \"x\"\n";
  EXPECT_EQ(gbnf_refusal(chain), "");
}

}  // namespace
}  // namespace smoe
