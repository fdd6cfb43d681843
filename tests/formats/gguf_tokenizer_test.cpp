// Tokenizers of GGUF files as tokenizer.json texts. Traps 1, 4, 6.
#include "formats/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "base/json.h"
#include "formats/gguf_pretokenizer.h"
#include "support/gguf_checkpoint.h"
#include "support/gguf_writer.h"

namespace smoe {
namespace {

using test::GgufWriter;

// A byte-level BPE with a special, a user-defined and an unused token.
GgufWriter small_bpe() {
  GgufWriter file;
  file.set_string("tokenizer.ggml.model", "gpt2");
  file.set_string("tokenizer.ggml.pre", "qwen2");
  file.set_strings("tokenizer.ggml.tokens", {"a", "b", "ab", "<|end|>", "<tool>", "[PAD5]"});
  file.set_ints("tokenizer.ggml.token_type", {1, 1, 1, 3, 4, 5});
  file.set_strings("tokenizer.ggml.merges", {"a b"});
  file.set_u32("tokenizer.ggml.eos_token_id", 3);
  return file;
}

GgufWriter small_sentencepiece() {
  GgufWriter file;
  file.set_string("tokenizer.ggml.model", "llama");
  file.set_strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "<0x41>", "\u2581", "a", "b",
                                             "ab", "\u2581a", "\u2581ab"});
  file.set_ints("tokenizer.ggml.token_type", {2, 3, 3, 6, 1, 1, 1, 1, 1, 1});
  file.set_floats("tokenizer.ggml.scores", {0, 0, 0, 0, -9, -8, -7, -2, -1, -3});
  file.set_u32("tokenizer.ggml.bos_token_id", 1);
  file.set_u32("tokenizer.ggml.eos_token_id", 2);
  return file;
}

Result<std::optional<std::string>> convert(const GgufWriter& file) {
  const std::string bytes = file.bytes();
  const auto header = GgufHeader::parse(std::as_bytes(std::span(bytes)), "m.gguf");
  if (!header) return header.error();
  return tokenizer_json_of(*header);
}

Json converted(const GgufWriter& file) {
  const auto text = convert(file);
  EXPECT_TRUE(text) << text.error().message;
  const auto json = Json::parse(text.value_or(std::nullopt).value_or("null"));
  EXPECT_TRUE(json);
  return json.value_or(Json());
}

std::string vocabulary_refusal(const GgufWriter& file) {
  const auto text = convert(file);
  return text ? "accepted" : std::string(name_of(text.error().code)) + ": " + text.error().message;
}

const Json& at(const Json& json, std::initializer_list<std::string_view> path) {
  static const Json none;
  const Json* found = &json;
  for (const std::string_view key : path) {
    found = found->find(key);
    if (found == nullptr) return none;
  }
  return *found;
}

std::vector<std::string> strings_in(const Json& json) {
  std::vector<std::string> strings;
  for (const Json& item : json.items()) strings.emplace_back(item.as_string().value_or("?"));
  return strings;
}

std::map<std::string, uint64_t> ids_in(const Json& json) {
  std::map<std::string, uint64_t> ids;
  for (const auto& [text, id] : json.members()) ids[text] = id.as_uint().value_or(~0U);
  return ids;
}

TEST(GgufTokenizer, IsNothingWhereTheFileHasNone) {
  const auto text = convert(test::small_gguf());
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, std::nullopt);
}

TEST(GgufTokenizer, KeepsTokensAndMergesOfAByteLevelBpe) {
  const Json json = converted(small_bpe());
  EXPECT_EQ(at(json, {"version"}).as_string(), "1.0");
  EXPECT_EQ(at(json, {"model", "type"}).as_string(), "BPE");
  EXPECT_EQ(ids_in(at(json, {"model", "vocab"})),
            (std::map<std::string, uint64_t>{{"a", 0}, {"b", 1}, {"ab", 2}}));
  EXPECT_EQ(strings_in(at(json, {"model", "merges"})), std::vector<std::string>{"a b"});
  EXPECT_TRUE(at(json, {"post_processor"}).is_null());
  const auto& added = at(json, {"added_tokens"}).items();
  ASSERT_EQ(added.size(), 2U);
  EXPECT_EQ(at(added[0], {"content"}).as_string(), "<|end|>");
  EXPECT_EQ(at(added[0], {"id"}).as_uint(), 3U);
  EXPECT_EQ(at(added[0], {"special"}).as_bool(), true);
  EXPECT_EQ(at(added[1], {"content"}).as_string(), "<tool>");
  EXPECT_EQ(at(added[1], {"special"}).as_bool(), false);
}

// Trap 6: fillers are no tokens that text could be decoded to.
TEST(GgufTokenizer, LeavesOutUnusedTokens) {
  const auto text = convert(small_bpe());
  ASSERT_TRUE(text && *text);
  EXPECT_EQ((*text)->find("PAD"), std::string::npos);
}

TEST(GgufTokenizer, SplitsTextAsTheNamedPretokenizerDoes) {
  const auto patterns_of = [](std::string_view pre) {
    GgufWriter file = small_bpe();
    file.set_string("tokenizer.ggml.pre", pre);
    std::vector<std::string> patterns;
    const Json json = converted(file);
    for (const Json& step : at(json, {"pre_tokenizer", "pretokenizers"}).items())
      if (at(step, {"type"}).as_string() == "Split")
        patterns.emplace_back(at(step, {"pattern", "Regex"}).as_string().value_or("?"));
    return patterns;
  };
  ASSERT_EQ(patterns_of("qwen2").size(), 1U);
  EXPECT_NE(patterns_of("qwen2")[0].find("|\\p{N}| "), std::string::npos);
  EXPECT_NE(patterns_of("llama-bpe")[0].find("|\\p{N}{1,3}| "), std::string::npos);
  EXPECT_EQ(patterns_of("llama3"), patterns_of("llama-bpe"));
  EXPECT_EQ(patterns_of("deepseek-v3").size(), 3U);
  EXPECT_EQ(patterns_of("deepseek-llm").size(), 6U);
  EXPECT_EQ(patterns_of("default").size(), 4U);
  EXPECT_NE(patterns_of("gpt-4o")[0].find("\\p{Lt}"), std::string::npos);
  EXPECT_EQ(patterns_of("olmo"), patterns_of("gpt-2"));
}

TEST(GgufTokenizer, ComposesTextWhereTheModelsTokenizerDoes) {
  for (const auto& [pre, nfc] : {std::pair{"qwen2", true}, {"olmo", true}, {"llama-bpe", false}}) {
    GgufWriter file = small_bpe();
    file.set_string("tokenizer.ggml.pre", pre);
    const Json json = converted(file);
    EXPECT_EQ(at(json, {"normalizer", "type"}).as_string() == "NFC", nfc) << pre;
  }
}

// Trap 1: a guess would change tokens without a word.
TEST(GgufTokenizer, RefusesToGuessThePretokenizer) {
  GgufWriter file = small_bpe();
  file.set_string("tokenizer.ggml.pre", "brand-new");
  EXPECT_EQ(vocabulary_refusal(file).find(
                "unsupported: tokenizer.ggml.pre is \"brand-new\", this build knows "
                "qwen2, deepseek-r1-qwen, llama-bpe"),
            0U)
      << vocabulary_refusal(file);
  file.unset("tokenizer.ggml.pre");
  EXPECT_EQ(vocabulary_refusal(file).find("unsupported: tokenizer.ggml.pre is missing"), 0U);
  file.set_string("tokenizer.ggml.model", "bert");
  EXPECT_EQ(vocabulary_refusal(file),
            "unsupported: tokenizer.ggml.model is \"bert\", this build knows gpt2, llama");
}

// Trap 4: BOS where the file asks for it, and once.
TEST(GgufTokenizer, AddsSpecialTokensAsTheFileAsks) {
  GgufWriter file = small_bpe();
  file.set_u32("tokenizer.ggml.bos_token_id", 4);
  EXPECT_TRUE(at(converted(file), {"post_processor"}).is_null());
  file.set_bool("tokenizer.ggml.add_bos_token", true);
  const Json with_bos = converted(file);
  EXPECT_EQ(at(with_bos, {"post_processor", "type"}).as_string(), "TemplateProcessing");
  EXPECT_EQ(at(with_bos, {"post_processor", "single"}).items().size(), 2U);
  EXPECT_EQ(at(with_bos, {"post_processor", "special_tokens", "<tool>", "ids"}).items().size(), 1U);
  file.set_bool("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(at(converted(file), {"post_processor", "single"}).items().size(), 3U);
  file.set_bool("tokenizer.ggml.add_eos_token", false);
  file.unset("tokenizer.ggml.add_bos_token");
  file.set_string("tokenizer.ggml.pre", "llama-bpe");  // adds it unless told not to
  EXPECT_EQ(at(converted(file), {"post_processor", "single"}).items().size(), 2U);
  EXPECT_EQ(at(converted(file), {"model", "ignore_merges"}).as_bool(), true);
  file.set_bool("tokenizer.ggml.add_bos_token", false);
  EXPECT_TRUE(at(converted(file), {"post_processor"}).is_null());
}

TEST(GgufTokenizer, RefusesTablesThatDoNotFitTogether) {
  const auto refused = [](const std::function<void(GgufWriter&)>& change) {
    GgufWriter file = small_bpe();
    change(file);
    return vocabulary_refusal(file);
  };
  EXPECT_EQ(refused([](GgufWriter& file) { file.unset("tokenizer.ggml.tokens"); }),
            "corrupt: tokenizer.ggml.tokens must be a list of strings");
  EXPECT_EQ(refused([](GgufWriter& file) { file.set_ints("tokenizer.ggml.token_type", {1}); }),
            "corrupt: tokenizer.ggml.token_type must have a whole number for each of the 6 tokens");
  EXPECT_EQ(refused([](GgufWriter& file) {
              file.set_ints("tokenizer.ggml.token_type", {1, 1, 1, 3, 4, 7});
            }),
            "corrupt: tokenizer.ggml.token_type has a 7, must be 1 to 6");
  EXPECT_EQ(refused([](GgufWriter& file) { file.unset("tokenizer.ggml.merges"); }),
            "corrupt: tokenizer.ggml.merges must be a list of strings");
  EXPECT_EQ(refused([](GgufWriter& file) { file.set_u32("tokenizer.ggml.eos_token_id", 6); }),
            "corrupt: tokenizer.ggml.eos_token_id must be one of the 6 tokens");
  EXPECT_EQ(refused([](GgufWriter& file) {
              file.set_strings("tokenizer.ggml.tokens", {"a", "b", "b", "c", "d", "e"});
            }),
            "corrupt: tokenizer.ggml.tokens: tokens 1 and 2 are both \"b\"");
  EXPECT_EQ(refused([](GgufWriter& file) {
              file.set_strings("tokenizer.ggml.tokens", {"a", "\xff", "b", "c", "d", "e"});
            }),
            "corrupt: tokenizer.ggml.tokens: token 1 is no UTF-8");
  EXPECT_EQ(refused([](GgufWriter& file) { file.set_u32("tokenizer.ggml.add_bos_token", 1); }),
            "corrupt: tokenizer.ggml.add_bos_token must be a boolean");
}

// The best piece is the first merge; every way to cut a piece into two others is one.
TEST(GgufTokenizer, MakesMergesOfTheScoresOfSentencePiece) {
  const Json json = converted(small_sentencepiece());
  EXPECT_EQ(strings_in(at(json, {"model", "merges"})),
            (std::vector<std::string>{"\u2581 a", "a b", "\u2581 ab", "\u2581a b"}));
  EXPECT_EQ(at(json, {"model", "byte_fallback"}).as_bool(), true);
  EXPECT_EQ(at(json, {"model", "unk_token"}).as_string(), "<unk>");
  EXPECT_EQ(ids_in(at(json, {"model", "vocab"})).size(), 10U);
  EXPECT_EQ(at(json, {"added_tokens"}).items().size(), 3U);
  EXPECT_EQ(at(json, {"normalizer", "normalizers"}).items().size(), 2U);
  EXPECT_EQ(at(json, {"post_processor", "single"}).items().size(), 2U);  // BOS by default
}

// A megabyte would take a million cuts of a million bytes.
TEST(GgufTokenizer, RefusesPiecesOfAbsurdLength) {
  GgufWriter file = small_sentencepiece();
  file.set_strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "<0x41>", "a", "b", "c", "d",
                                             "e", std::string(1025, 'x')});
  EXPECT_EQ(vocabulary_refusal(file),
            "corrupt: tokenizer.ggml.tokens: token 9 has 1025 bytes, at most 1024");
}

TEST(GgufTokenizer, PutsNoSpaceInFrontWhereTheFileSaysSo) {
  GgufWriter file = small_sentencepiece();
  file.set_bool("tokenizer.ggml.add_space_prefix", false);
  const Json json = converted(file);
  EXPECT_EQ(at(json, {"normalizer", "normalizers"}).items().size(), 1U);
  EXPECT_EQ(at(json, {"decoder", "decoders"}).items().size(), 3U);
  file.set_bool("tokenizer.ggml.remove_extra_whitespaces", true);
  EXPECT_EQ(
      vocabulary_refusal(file).find("unsupported: tokenizer.ggml.remove_extra_whitespaces is true"),
      0U);
  file.unset("tokenizer.ggml.scores");
  file.unset("tokenizer.ggml.remove_extra_whitespaces");
  EXPECT_EQ(vocabulary_refusal(file),
            "corrupt: tokenizer.ggml.scores must have a number for each of the 10 tokens");
}

TEST(GgufTokenizer, NamesTheSpecialTokensInItsConfig) {
  GgufWriter file = small_sentencepiece();
  const std::string bytes = file.bytes();
  const auto header = GgufHeader::parse(std::as_bytes(std::span(bytes)), "m.gguf");
  ASSERT_TRUE(header);
  const auto text = tokenizer_config_of(*header);
  ASSERT_TRUE(text && *text);
  const auto json = Json::parse(**text);
  ASSERT_TRUE(json);
  EXPECT_EQ(at(*json, {"bos_token"}).as_string(), "<s>");
  EXPECT_EQ(at(*json, {"eos_token"}).as_string(), "</s>");
  EXPECT_EQ(at(*json, {"add_bos_token"}).as_bool(), true);
  EXPECT_EQ(at(*json, {"add_eos_token"}).as_bool(), false);
}

// The tokenizer of the demo model, there and back.
TEST(GgufTokenizer, GivesBackARealTokenizer) {
  std::ifstream in(std::string(SMOE_SOURCE_DIR) + "/models/tales/tokenizer.json");
  const std::string original{std::istreambuf_iterator<char>(in), {}};
  GgufWriter file;
  test::set_tokenizer(file, original, "qwen2");
  const Json found = converted(file);
  const auto wanted = Json::parse(original);
  ASSERT_TRUE(wanted);
  auto vocabulary = ids_in(at(*wanted, {"model", "vocab"}));
  for (const Json& token : at(*wanted, {"added_tokens"}).items())
    vocabulary.erase(std::string(*at(token, {"content"}).as_string()));
  EXPECT_EQ(ids_in(at(found, {"model", "vocab"})), vocabulary);
  const auto& merges = at(*wanted, {"model", "merges"}).items();
  ASSERT_EQ(at(found, {"model", "merges"}).items().size(), merges.size());
  for (const auto path : {"normalizer"})
    EXPECT_EQ(at(found, {path, "type"}).as_string(), at(*wanted, {path, "type"}).as_string());
  EXPECT_EQ(at(at(found, {"pre_tokenizer", "pretokenizers"}).items()[0], {"pattern", "Regex"})
                .as_string(),
            at(at(*wanted, {"pre_tokenizer", "pretokenizers"}).items()[0], {"pattern", "Regex"})
                .as_string());
}

}  // namespace
}  // namespace smoe
