#include "text/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.h"
#include "text/byte_alphabet.h"
#include "text/byte_token.h"
#include "text/reference.h"
#include "text/support.h"
#include "text/utf8.h"

namespace smoe {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using Tokens = std::vector<std::string>;

ordered_json sequence(const std::vector<ordered_json>& steps) {
  return {{"type", "Sequence"}, {"decoders", steps}};
}
ordered_json replace_step(const std::string& from, const std::string& to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}
ordered_json strip(const std::string& content, int start, int stop) {
  return {{"type", "Strip"}, {"content", content}, {"start", start}, {"stop", stop}};
}
ordered_json metaspace_decoder(const std::string& scheme) {
  return {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}};
}
const ordered_json kByteFallback = {{"type", "ByteFallback"}};
const ordered_json kFuse = {{"type", "Fuse"}};
// As Llama 2 has it.
ordered_json llama() {
  return sequence({replace_step("\u2581", " "), kByteFallback, kFuse, strip(" ", 1, 0)});
}

Decoder must_make_decoder(const ordered_json& description) {
  auto decoder = Decoder::from_json(test::to_json(description));
  if (!decoder) throw std::runtime_error(decoder.error().message);
  return std::move(*decoder);
}

// What comes with each token, and at the end.
Tokens streamed(const Decoder& decoder, const Tokens& tokens) {
  Decoder::Stream stream(decoder);
  Tokens pieces;
  for (const std::string& token : tokens) stream.push(token, pieces.emplace_back());
  stream.finish(pieces.emplace_back());
  return pieces;
}

std::string decoded_whole(const Decoder& decoder, const Tokens& tokens) {
  const Tokens pieces = streamed(decoder, tokens);
  return std::accumulate(pieces.begin(), pieces.end(), std::string());
}

TEST(Decoder, TextComesAsSoonAsNoTokenCanChangeIt) {
  const Decoder decoder = must_make_decoder(llama());
  EXPECT_THAT(streamed(decoder, {"\u2581the", "\u2581end", "."}),
              ElementsAre("the", " end", ".", ""));
  // Bytes wait for the end of their run: one that is no UTF-8 would make replacements of all.
  EXPECT_THAT(streamed(decoder, {"<0xC3>", "<0xA9>", "a", "<0x0A>"}),
              ElementsAre("", "", "\u00e9a", "", "\n"));
  EXPECT_THAT(streamed(decoder, {"<0xC3>", "a"}), ElementsAre("", "\ufffda", ""));
  EXPECT_THAT(streamed(decoder, {"<0x41>", "<0xFF>", "<0x42>", "<0x43>", "a"}),
              ElementsAre("", "\ufffd\ufffd", "\ufffd", "\ufffd", "a", ""));
  EXPECT_THAT(streamed(decoder, {"<0xE2>", "<0x82>"}), ElementsAre("", "", "\ufffd\ufffd"));
}

TEST(Decoder, TheFirstTokenLosesEachVisibleSpaceUnlessNoneWasPutThere) {
  EXPECT_EQ(
      decoded_whole(must_make_decoder(metaspace_decoder("always")), {"\u2581a\u2581b", "\u2581c"}),
      "ab c");
  EXPECT_EQ(
      decoded_whole(must_make_decoder(metaspace_decoder("first")), {"\u2581a\u2581b", "\u2581c"}),
      "ab c");
  EXPECT_EQ(
      decoded_whole(must_make_decoder(metaspace_decoder("never")), {"\u2581a\u2581b", "\u2581c"}),
      " a b c");
}

TEST(Decoder, AStripAtTheEndHoldsBackNoMoreThanItMayTake) {
  const Decoder decoder = must_make_decoder(sequence({kFuse, strip("x", 1, 2)}));
  EXPECT_THAT(streamed(decoder, {"xxa", "xxx", "b", "xxx"}),
              ElementsAre("xa", "x", "xxb", "x", ""));
}

TEST(Decoder, AReplacementIsFoundAcrossTokensThatWereFused) {
  const Decoder decoder = must_make_decoder(sequence({kFuse, replace_step("aab", "-")}));
  EXPECT_THAT(streamed(decoder, {"xa", "a", "a", "bc", "aa"}),
              ElementsAre("x", "", "a", "-c", "", "aa"));
  EXPECT_EQ(decoded_whole(must_make_decoder(replace_step("aab", "-")), {"a", "ab", "aab"}), "aab-");
}

// The steps as the reference defines them, on whole lists of tokens.

Tokens apply_byte_fallback(const Tokens& tokens) {
  Tokens result;
  std::string run;
  const auto end_run = [&] {
    if (!run.empty() && !first_invalid_utf8(run)) {
      result.push_back(run);
    } else {
      result.insert(result.end(), run.size(), "\ufffd");
    }
    run.clear();
  };
  for (const std::string& token : tokens) {
    if (const auto byte = byte_of_token(token)) {
      run.push_back(static_cast<char>(*byte));
      continue;
    }
    end_run();
    result.push_back(token);
  }
  end_run();
  return result;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string stripped(std::string text, const ordered_json& step) {
  const std::string content = step["content"];
  for (int count = step["start"]; count > 0 && text.starts_with(content); --count)
    text.erase(0, content.size());
  for (int count = step["stop"]; count > 0 && text.ends_with(content); --count)
    text.resize(text.size() - content.size());
  return text;
}

Tokens applied(const ordered_json& step, const Tokens& tokens) {
  const std::string type = step["type"];
  if (type == "ByteFallback") return apply_byte_fallback(tokens);
  const std::string joined = std::accumulate(tokens.begin(), tokens.end(), std::string());
  if (type == "Fuse") return {joined};
  if (type == "ByteLevel") {
    std::string bytes;
    for (const std::string& token : tokens) append_bytes_of_letters(bytes, token);
    std::string text;
    append_repaired(text, bytes);
    return {text};
  }
  Tokens result;
  for (const std::string& token : tokens) {
    if (type == "Replace") {
      result.push_back(replaced(token, step["pattern"]["String"], step["content"]));
    } else if (type == "Strip") {
      result.push_back(stripped(token, step));
    } else {
      const bool drops = result.empty() && step["prepend_scheme"] != "never";
      result.push_back(replaced(token, "\u2581", drops ? "" : " "));
    }
  }
  return result;
}

ordered_json random_step(Rng& random) {
  const auto pick = [&](const std::vector<ordered_json>& all) {
    return all[random.next() % all.size()];
  };
  return pick(
      {kByteFallback, kByteFallback, kFuse, test::byte_level(), metaspace_decoder("always"),
       metaspace_decoder("never"), replace_step("\u2581", " "), replace_step("aa", "b"),
       replace_step("ab", ""), strip(" ", 1, 0),
       strip("a", static_cast<int>(random.next() % 3), static_cast<int>(random.next() % 3))});
}

// RELIABILITY F12: every decoder, any tokens; the pieces make up the whole, each is valid UTF-8.
TEST(Decoder, StreamedPiecesMakeUpWhatTheStepsMakeOfAllTokens) {
  Rng random(9);
  const Tokens vocabulary = {
      "\u2581", "\u2581the",     "a",      "aa",     "ab",     "b",       " ",
      "",       "<0xF0>",        "<0x9F>", "<0x98>", "<0x80>", "<0xC3>",  "<0xA9>",
      "<0x41>", "<0x0a>",        "\u4f60", "<0xZZ>", "<s>",    "\u0120x", "\u00c3",
      "\u00a9", "a\u2581\u2581b"};
  const size_t rounds =
      test::rounds({.usual = 20'000, .sanitized = 4'000, .in_long_run = 1'000'000});
  for (size_t round = 0; round < rounds; ++round) {
    std::vector<ordered_json> steps;
    if (round % 4 == 0) {
      steps = llama()["decoders"].get<std::vector<ordered_json>>();
    } else {
      for (size_t count = 1 + random.next() % 4; count > 0; --count)
        steps.push_back(random_step(random));
    }
    const Decoder decoder = must_make_decoder(sequence(steps));
    for (int text = 0; text < 2; ++text) {
      Tokens tokens;
      for (size_t count = random.next() % 12; count > 0; --count)
        tokens.push_back(vocabulary[random.next() % vocabulary.size()]);
      Tokens expected = tokens;
      for (const ordered_json& step : steps) expected = applied(step, expected);
      const Tokens pieces = streamed(decoder, tokens);
      for (const std::string& piece : pieces) ASSERT_EQ(first_invalid_utf8(piece), std::nullopt);
      ASSERT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::string()),
                std::accumulate(expected.begin(), expected.end(), std::string()))
          << sequence(steps).dump() << ordered_json(tokens).dump();
    }
  }
}

// Trap 1.
TEST(Decoder, WhatIsNotKnownStopsWithItsName) {
  const auto refusal = [](const ordered_json& description) {
    const auto decoder = Decoder::from_json(test::to_json(description));
    return decoder ? "accepted" : decoder.error().message;
  };
  EXPECT_EQ(refusal({{"type", "WordPiece"}}), "decoder WordPiece is not supported by this version");
  EXPECT_EQ(refusal(sequence({kFuse, {{"type", "CTC"}}})),
            "decoder CTC is not supported by this version");
  EXPECT_EQ(refusal(nullptr), "decoder: none is not supported by this version");
  EXPECT_NE(refusal({{"type", "Fuse"}, {"by", 1}}), "accepted");
  EXPECT_NE(refusal(replace_step("", "a")), "accepted");
  EXPECT_NE(refusal(strip("ab", 1, 0)), "accepted");
  EXPECT_NE(refusal(strip(" ", -1, 0)), "accepted");
  EXPECT_NE(refusal(strip(" ", 5000, 0)), "accepted");
  EXPECT_NE(refusal(metaspace_decoder("sometimes")), "accepted");
  EXPECT_NE(refusal(replace_step("a", std::string(65, 'a'))), "accepted");
  EXPECT_NE(refusal(sequence({replace_step("a", "aaaaaaaaa"), replace_step("a", "aaaaaaaaa")})),
            "accepted");
  EXPECT_NE(refusal(sequence(std::vector<ordered_json>(33, kFuse))), "accepted");
}

}  // namespace
}  // namespace smoe
