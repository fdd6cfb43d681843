// What is refused before a template is ever rendered, and where the messages point.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "text/template/support.h"

namespace smoe {
namespace {

Error error_of(std::string_view source) {
  const auto parsed = ChatTemplate::parse(source, "chat.jinja");
  return parsed ? Error{Code::kCancelled, "no error"} : parsed.error();
}

// Trap 8: whichever branch they are in.
TEST(Load, FindsUnknownNamesInBranchesThatAreNeverTaken) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{% if false %}{{ x|frobnicate }}{% endif %}", "1:20: no filter is named 'frobnicate'"},
      {"{% if false %}{{ x is odder }}{% endif %}", "1:23: no test is named 'odder'"},
      {"{% if false %}{{ x.frob() }}{% endif %}", "1:19: no type has a method 'frob'"},
      {"{% if false %}{{ frob(x) }}{% endif %}", "1:18: no function is named 'frob'"},
      {"{% macro m() %}{{ x|map('frob') }}{% endmacro %}", "1:25: no filter is named 'frob'"},
      {"{{ '' if true else x|select('frob') }}", "1:29: no test is named 'frob'"},
      {"{{ '' if true else x|selectattr('a', 'frob') }}", "1:38: no test is named 'frob'"},
      {"{% for x in [] %}\n  {% filter frob %}{% endfilter %}\n{% endfor %}",
       "2:13: no filter is named 'frob'"},
      {"{% set x | frob %}{% endset %}", "1:12: no filter is named 'frob'"},
  };
  for (const auto& [source, message] : cases) {
    const Error error = error_of(source);
    EXPECT_EQ(error.code, Code::kUnsupported) << source;
    EXPECT_EQ(error.message, "chat.jinja:" + std::string(message)) << source;
  }
}

TEST(Load, AcceptsFunctionsAndMethodsThatTheTemplateItselfMakes) {
  for (const std::string_view source :
       {"{% macro f() %}x{% endmacro %}{{ f() }}",
        "{% macro f() %}x{% endmacro %}{% set ns = namespace(g=f) %}{{ ns.g() }}",
        "{% macro f() %}x{% endmacro %}{% set ns = namespace() %}{% set ns.h = f %}{{ ns.h() }}",
        "{% macro f(g) %}{{ g() }}{% endmacro %}{% macro h() %}x{% endmacro %}{{ f(h) }}"})
    EXPECT_EQ(test::rendered(source), "x") << source;
}

TEST(Load, SaysWhereTheSyntaxIsWrong) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a\n  {{ 1 + }}", "2:10: expected an expression, found the end of the expression"},
      {"{% if x %}\n\n", "2:1: the template ends before 'endif'"},
      {"{{ 'abc }}", "1:4: this string is never closed"},
      {"{{ (1 }}", "1:7: unexpected '}', expected ')'"},
      {"é{{ ? }}", "1:5: unexpected character '?'"},
      {"{# never", "1:1: missing end of comment tag"},
      {"{% raw %}", "1:1: missing end of raw directive"},
      {"{{ x", "1:1: this tag is never closed"},
      {"{% frob %}", "1:4: the tag 'frob' is unknown"},
      {"{% include 'x' %}", "1:4: the tag 'include' is not supported"},
      {"{% break %}", "1:4: this stands outside of a loop"},
      {"{{ '\\x4' }}", "1:4: truncated \\x escape"},
      {"{{ f(a=1, 2) }}", "1:11: an argument by position behind one by name"},
      {"{% set true = 1 %}", "1:8: cannot assign to 'true'"},
      {"{% set x = 1", "1:1: this tag is never closed"},
  };
  for (const auto& [source, message] : cases)
    EXPECT_EQ(error_of(source).message, "chat.jinja:" + std::string(message)) << source;
}

TEST(Load, RefusesSourcesThatAreTooLargeOrTooDeep) {
  EXPECT_EQ(error_of(std::string((256 << 10) + 1, 'a')).code, Code::kUnsupported);
  EXPECT_EQ(error_of(std::string(256 << 10, 'a')).message, "no error");
  const auto repeated = [](std::string_view text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
  };
  for (const std::string& source :
       {"{{ " + repeated("(", 50'000) + "1" + repeated(")", 50'000) + " }}",
        "{{ " + repeated("[", 50'000) + repeated("]", 50'000) + " }}",
        "{{ " + repeated("not ", 50'000) + "1 }}", "{{ " + repeated("- ", 50'000) + "1 }}",
        "{{ 1" + repeated(" + 1", 50'000) + " }}", "{{ x" + repeated(".a", 50'000) + " }}",
        "{{ x" + repeated("|d", 50'000) + " }}",
        "{{ 1 if 1" + repeated(" else 1 if 1", 15'000) + " }}",
        repeated("{% if 1 %}", 10'000) + repeated("{% endif %}", 10'000),
        repeated("{% for a in b %}", 7'000) + repeated("{% endfor %}", 7'000)}) {
    EXPECT_NE(error_of(source).message.find("too deep"), std::string::npos)
        << source.substr(0, 40) << ": " << error_of(source).message;
  }
}

TEST(Load, RefusesBytesThatAreNoText) {
  EXPECT_EQ(error_of("a\xff").message, "chat.jinja: not valid UTF-8");
}

}  // namespace
}  // namespace smoe
