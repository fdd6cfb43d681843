#include "text/chat/stop_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace smoe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StopTokens : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  // With the tokenizer of tales: <|endoftext|> is 0 and <|im_end|> is 2.
  Result<std::vector<uint32_t>> stops(std::vector<uint32_t> configured) {
    SMOE_TRY(const Tokenizer tokenizer,
             Tokenizer::load(std::filesystem::path(SMOE_SOURCE_DIR) / "models/tales"));
    SMOE_TRY(const auto tokens, stop_tokens(folder_.path(), configured, tokenizer));
    std::vector<uint32_t> ids;
    for (const TokenId token : tokens) ids.push_back(static_cast<uint32_t>(index_of(token)));
    return ids;
  }

  test::TempDir folder_;
};

TEST_F(StopTokens, AreTheUnionOfEveryPlaceThatNamesThem) {
  EXPECT_THAT(*stops({7}), ElementsAre(7));
  write("generation_config.json", R"({"eos_token_id":[1,7]})");
  write("tokenizer_config.json", R"({"eos_token":"<|im_end|>"})");
  EXPECT_THAT(*stops({7}), ElementsAre(1, 2, 7));
  write("generation_config.json", R"({"eos_token_id":5})");
  write("tokenizer_config.json", R"({"eos_token":{"content":"<|endoftext|>","lstrip":false}})");
  EXPECT_THAT(*stops({}), ElementsAre(0, 5));
}

TEST_F(StopTokens, MayBeNamedNowhere) {
  write("generation_config.json", R"({"eos_token_id":null})");
  write("tokenizer_config.json", R"({"eos_token":null})");
  EXPECT_THAT(*stops({}), ElementsAre());
}

TEST_F(StopTokens, LeaveOutATextThatIsNoToken) {
  write("tokenizer_config.json", R"({"eos_token":"<nowhere>"})");
  EXPECT_THAT(*stops({1}), ElementsAre(1));
}

// Such an id can never be drawn; the log names the file and the id.
TEST_F(StopTokens, LeaveOutAnIdThatIsBeyondTheTokenizer) {
  write("generation_config.json", R"({"eos_token_id":[1,99999999]})");
  testing::internal::CaptureStderr();
  EXPECT_THAT(*stops({1, 88888888}), ElementsAre(1));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("generation_config.json: eos_token_id 99999999 is no token"));
  EXPECT_THAT(log, HasSubstr("/config.json: eos_token_id 88888888 is no token"));
  EXPECT_THAT(log, HasSubstr("a text ends at 1 (\"<|im_start|>\")"));
}

TEST_F(StopTokens, RefuseAFileThatIsNoObject) {
  for (const char* text : {"[]", "3", "\"x\"", "null"}) {
    write("generation_config.json", text);
    const auto result = stops({});
    ASSERT_FALSE(result) << text;
    EXPECT_THAT(result.error().message, HasSubstr("generation_config.json: is no JSON object"));
  }
}

TEST_F(StopTokens, RefuseAnIdThatIsNone) {
  for (const char* id : {"-1", "1.5", "\"2\"", "4294967296", "[1,{}]"}) {
    write("generation_config.json", std::string(R"({"eos_token_id":)") + id + "}");
    const auto result = stops({});
    ASSERT_FALSE(result) << id;
    EXPECT_THAT(result.error().message, HasSubstr("generation_config.json"));
  }
  write("generation_config.json", R"({"eos_token_id":-1})");
  EXPECT_THAT(stops({}).error().message, HasSubstr("eos_token_id -1 is no token id"));
}

}  // namespace
}  // namespace smoe
