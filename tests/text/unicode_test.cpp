// The Unicode tables, character by character, against the reference library.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "text/normalizer.h"
#include "text/reference.h"
#include "text/regex.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace smoe {
namespace {

// What any version of Unicode so far has given a meaning; as tests/oracles/unicode.js.
constexpr auto kMeaningful =
    std::to_array<CodePointRange>({{0, 0xd7ff}, {0xe000, 0x32fff}, {0xe0000, 0xe0fff}});

std::vector<char32_t> members(const Regex& regex) {
  std::string text;
  for (const CodePointRange range : kMeaningful)
    for (char32_t code_point = range.first; code_point <= range.last; ++code_point)
      append_utf8(text, code_point);
  std::string storage;
  std::vector<TextRange> matches;
  Regex::Finder finder(regex, text.size());
  const Status status = finder.find_all(regex.known(text, storage), {0, text.size()}, matches);
  EXPECT_TRUE(status);
  std::vector<char32_t> result;
  for (const TextRange match : matches) result.push_back(utf8_step(text, match.begin).code_point);
  return result;
}

// CONVENTIONS 2c: classes are those of the pinned Unicode, whatever PCRE2 and utf8proc know.
TEST(Unicode, ClassesAndNormalFormsAreThoseOfTheReferenceForEveryCharacter) {
  size_t classes = 0;
  std::map<std::string, std::string> normal_forms;
  test::for_each_reference_line("unicode.js", [&](const nlohmann::json& line) {
    if (line.contains("nfc")) {
      normal_forms[line["from"]] = line["nfc"];
      return;
    }
    ++classes;
    const auto regex = Regex::compile(line["class"].get<std::string>());
    ASSERT_TRUE(regex) << line["class"];
    std::vector<char32_t> expected;
    for (const auto& range : line["ranges"])
      for (auto code_point = range[0].get<uint32_t>(); code_point <= range[1]; ++code_point)
        expected.push_back(code_point);
    EXPECT_EQ(members(*regex), expected) << line["class"];
  });
  EXPECT_EQ(classes, 34u);
  EXPECT_GT(normal_forms.size(), 4000u);

  for (const CodePointRange range : kMeaningful) {
    for (char32_t code_point = range.first; code_point <= range.last; ++code_point) {
      std::string character;
      append_utf8(character, code_point);
      for (const std::string& from :
           {character, "a\u0345" + character + "\u0334", character + "\u3099"}) {
        const auto expected = normal_forms.find(from);
        ASSERT_EQ(to_nfc(from), expected == normal_forms.end() ? from : expected->second)
            << std::hex << static_cast<uint32_t>(code_point);
      }
    }
  }
}

TEST(Unicode, SpacesAreTheCharactersOfTheSpaceClass) {
  std::vector<char32_t> spaces;
  for (char32_t code_point = 0; code_point < 0x110000; ++code_point)
    if (is_space(code_point)) spaces.push_back(code_point);
  EXPECT_EQ(spaces, members(*Regex::compile("\\s")));
}

}  // namespace
}  // namespace smoe
