// The Unicode tables, character by character, against the reference library.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/normalizer.h"
#include "text/reference.h"
#include "text/regex.h"
#include "text/support.h"
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

std::vector<char32_t> expand(const nlohmann::json& ranges) {
  std::vector<char32_t> result;
  for (const auto& range : ranges)
    for (auto code_point = range[0].get<uint32_t>(); code_point <= range[1]; ++code_point)
      result.push_back(code_point);
  return result;
}

std::vector<char32_t> all_but(const std::vector<char32_t>& some) {
  std::vector<char32_t> result;
  auto next = some.begin();
  for (const CodePointRange range : kMeaningful) {
    for (char32_t code_point = range.first; code_point <= range.last; ++code_point) {
      if (next != some.end() && *next == code_point) {
        ++next;
      } else {
        result.push_back(code_point);
      }
    }
  }
  return result;
}

// What the reference's normalisers change, by step and text.
using Changes = std::map<std::string, std::unordered_map<std::string, std::string>>;

void expect_changes(const Changes& changes, const std::string& step) {
  const auto normalizer =
      Normalizer::from_json(test::to_json(nlohmann::ordered_json{{"type", step}}));
  ASSERT_TRUE(normalizer);
  const auto& changed = changes.at(step);
  size_t different = 0;
  const char32_t step_width = test::kSanitized ? 7 : 1;
  for (const CodePointRange range : kMeaningful) {
    for (char32_t code_point = range.first; code_point <= range.last; code_point += step_width) {
      std::string character;
      append_utf8(character, code_point);
      std::vector<std::string> contexts = {character};
      if (step == "NFC" || step == "NFKD") {
        contexts.push_back("a\u0345" + character + "\u0334");
        contexts.push_back(character + "\u3099");
      }
      for (const std::string& from : contexts) {
        const auto expected = changed.find(from);
        const auto actual = normalizer->normalize(from);
        if (actual && *actual == (expected == changed.end() ? from : expected->second)) continue;
        if (different++ < 10)
          ADD_FAILURE() << step << ' ' << std::hex << static_cast<uint32_t>(code_point);
      }
    }
  }
  EXPECT_EQ(different, 0u) << step;
}

// CONVENTIONS 2c: classes are those of the pinned Unicode, whatever PCRE2 and utf8proc know.
TEST(Unicode, ClassesAndNormalFormsAreThoseOfTheReferenceForEveryCharacter) {
  size_t classes = 0;
  Changes changes;
  test::for_each_reference_line("unicode.js", [&](const nlohmann::json& line) {
    if (line.contains("step")) {
      changes[line["step"]][line["from"]] = line["to"];
    } else if (line.contains("class")) {
      ++classes;
      const auto regex = Regex::compile(line["class"].get<std::string>());
      ASSERT_TRUE(regex) << line["class"];
      EXPECT_EQ(members(*regex), expand(line["ranges"])) << line["class"];
    } else if (line.contains("without")) {
      EXPECT_EQ(all_but(members(*Regex::compile(punctuation_pattern()))), expand(line["ranges"]));
    } else {
      EXPECT_EQ(members(*Regex::compile(number_pattern())),
                line["numbers"].get<std::vector<char32_t>>());
    }
  });
  EXPECT_EQ(classes, 34u);
  for (const std::string step : {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}) {
    EXPECT_GT(changes[step].size(), 1000u);
    expect_changes(changes, step);
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
