#include "text/compact_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/checksum.h"
#include "base/file.h"
#include "base/rng.h"
#include "support/temp_dir.h"
#include "text/reference.h"
#include "text/support.h"

namespace smoe {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

ordered_json description() {
  ordered_json text = test::byte_tokenizer();
  text["model"] = test::byte_model({{"a", "b"}, {"ab", "c"}, {" ", "a"}});
  text["added_tokens"] = ordered_json::array({test::added_token(400, "<s>")});
  return text;
}

ordered_json unigram() {
  ordered_json text = test::byte_tokenizer();
  text["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "\u2581"}};
  text["decoder"] = text["pre_tokenizer"];
  text["model"] = {
      {"type", "Unigram"},
      {"unk_id", 0},
      {"vocab", test::scored({{"<unk>", 0.0}, {"\u2581a", -1.25}, {"b", -2.5}, {"\u2581", -3.0}})}};
  return text;
}

std::string must_compact(const ordered_json& tokenizer) {
  auto bytes = compact_tokenizer(tokenizer.dump());
  if (!bytes) throw std::runtime_error(bytes.error().message);
  return *bytes;
}

// As the writer does it, so that damage behind the header is not found by the checksum.
void seal(std::string& bytes) {
  constexpr size_t kChecked = 16;
  if (bytes.size() < kChecked) return;
  const uint64_t checksum = xxh3_64(std::string_view(bytes).substr(kChecked));
  std::memcpy(bytes.data() + 8, &checksum, sizeof checksum);
}

TEST(CompactFile, SaysWhatTheTextSays) {
  for (const ordered_json& text : {description(), unigram()}) {
    const Tokenizer tokenizer = test::must_parse(text);
    const auto compact = Tokenizer::parse_compact(must_compact(text), "tokenizer.bin");
    ASSERT_TRUE(compact) << compact.error().message;
    EXPECT_EQ(compact->size(), tokenizer.size());
    for (uint32_t id = 0; id < tokenizer.size(); ++id) {
      EXPECT_EQ(compact->spelling_of(TokenId{id}), tokenizer.spelling_of(TokenId{id}));
      EXPECT_EQ(compact->bytes_of(TokenId{id}), tokenizer.bytes_of(TokenId{id}));
      EXPECT_EQ(compact->is_special(TokenId{id}), tokenizer.is_special(TokenId{id}));
    }
    for (const char* each : {"abc abcabc <s>ab", "", "a b", "bab\u00e9"})
      EXPECT_EQ(test::numbers(*compact->encode(each)), test::numbers(*tokenizer.encode(each)));
  }
}

TEST(CompactFile, IsTakenWhenItWasMadeFromTheTextBesideIt) {
  const test::TempDir folder;
  ASSERT_TRUE(replace_file(folder / "tokenizer.json", description().dump()));
  ASSERT_TRUE(write_compact_file(folder.path()));
  EXPECT_TRUE(read_compact_file(folder / "tokenizer.bin", folder / "tokenizer.json"));
  EXPECT_EQ(Tokenizer::load(folder.path())->size(), 401u);

  // Whatever is wrong with it, the text decides.
  ordered_json other = description();
  other["added_tokens"] = ordered_json::array({test::added_token(500, "<s>")});
  ASSERT_TRUE(replace_file(folder / "tokenizer.json", other.dump()));
  const auto stale = read_compact_file(folder / "tokenizer.bin", folder / "tokenizer.json");
  ASSERT_FALSE(stale);
  EXPECT_THAT(stale.error().message, HasSubstr("was not made from"));
  EXPECT_EQ(Tokenizer::load(folder.path())->size(), 501u);
  ASSERT_TRUE(replace_file(folder / "tokenizer.bin", "garbage"));
  EXPECT_EQ(Tokenizer::load(folder.path())->size(), 501u);
  ASSERT_TRUE(replace_file(folder / "tokenizer.bin", ""));
  EXPECT_EQ(Tokenizer::load(folder.path())->size(), 501u);

  EXPECT_FALSE(write_compact_file(folder / "missing"));
  ASSERT_TRUE(replace_file(folder / "tokenizer.json", "{}"));
  const Status refused = write_compact_file(folder.path());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("tokenizer.json"));
}

// RELIABILITY F5.
TEST(CompactFile, EveryFlippedBitAndEveryCutIsFound) {
  const std::string bytes = must_compact(unigram());
  for (size_t at = 0; at < bytes.size(); ++at) {
    EXPECT_FALSE(Tokenizer::parse_compact(std::string_view(bytes).substr(0, at), "cut"));
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    const auto parsed = Tokenizer::parse_compact(flipped, "flipped");
    ASSERT_FALSE(parsed) << at;
    EXPECT_EQ(parsed.error().code, Code::kCorrupt);
  }
  EXPECT_FALSE(Tokenizer::parse_compact(bytes + "x", "longer"));
}

// A checksum can be made to fit: what it covers is checked all the same.
TEST(CompactFile, BytesOfAStrangerWithAFittingChecksumDoNoHarm) {
  Rng random(8);
  const std::string sound[] = {must_compact(description()), must_compact(unigram())};
  size_t accepted = 0;
  const int rounds = test::long_run() ? 200'000 : 4'000;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = sound[round % 2];
    const size_t from = random.next() % 4 == 0 ? 16 : 64;
    for (size_t changes = 1 + random.next() % 3; changes > 0; --changes)
      bytes[from + random.next() % (bytes.size() - from)] = static_cast<char>(random.next());
    seal(bytes);
    const auto parsed = Tokenizer::parse_compact(bytes, "stranger");
    if (!parsed) {
      EXPECT_FALSE(parsed.error().message.empty());
      continue;
    }
    ++accepted;
    const auto tokens = parsed->encode("abc \u2581a bab <s> \u00e9");
    if (!tokens) continue;
    for (const TokenId token : *tokens) EXPECT_LT(index_of(token), parsed->size());
    parsed->decode(*tokens, false);
  }
  EXPECT_GT(accepted, 0u);
}

TEST(CompactFile, TablesThatContradictThemselvesAreCorrupt) {
  constexpr size_t kTokens = 44;  // offsets in the header, see docs/tokenizers.md
  constexpr size_t kDescription = 40;
  const std::string bytes = must_compact(unigram());
  uint32_t description_bytes = 0;
  std::memcpy(&description_bytes, bytes.data() + kDescription, sizeof description_bytes);
  const size_t ids = 64 + description_bytes;
  const auto with = [&](size_t at, uint32_t value) {
    std::string changed = bytes;
    std::memcpy(changed.data() + at, &value, sizeof value);
    seal(changed);
    const auto parsed = Tokenizer::parse_compact(changed, "x");
    return parsed ? "accepted" : parsed.error().message;
  };
  EXPECT_THAT(with(32, 2), HasSubstr("version 2"));
  EXPECT_THAT(with(36, 2), HasSubstr("its header says"));
  EXPECT_THAT(with(36, 0), HasSubstr("its header says"));
  EXPECT_THAT(with(kTokens, 1u << 31), HasSubstr("its header says"));
  EXPECT_THAT(with(ids + 4, 0), HasSubstr("the ids are not in order"));
  EXPECT_THAT(with(ids + 12, 1u << 30), HasSubstr("the ids are not in order"));
  EXPECT_THAT(with(ids + 16, 1u << 30), HasSubstr("the tokens' ends are not in order"));
  EXPECT_THAT(with(ids + 20, 6), HasSubstr("the tokens' ends are not in order"));
  EXPECT_THAT(with(ids + 28, 10), HasSubstr("do not make up their text"));
}

}  // namespace
}  // namespace smoe
