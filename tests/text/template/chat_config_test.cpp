// Which template and which tokens a model folder names.
#include "text/template/chat_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "text/template/support.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

class ChatConfigTest : public testing::Test {
 protected:
  ChatConfigTest()
      : folder_(fs::temp_directory_path() /
                ("smoe_chat_config_" + std::to_string(::getpid()) + "_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(folder_);
  }
  ~ChatConfigTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::string text_of(bool with_tools) const {
    const auto config = read_chat_config(folder_);
    if (!config) return "error: " + config.error().message;
    const ChatTemplate* found = config->find(with_tools);
    if (found == nullptr) return "none";
    return found->render(config->special_tokens, {})->text;
  }

  fs::path folder_;
};

TEST_F(ChatConfigTest, AFolderWithoutATemplateHasNone) {
  EXPECT_EQ(text_of(false), "none");
  write("tokenizer_config.json", "{\"bos_token\": null}");
  EXPECT_EQ(text_of(false), "none");
}

TEST_F(ChatConfigTest, ATemplateInTheConfigIsRead) {
  write("tokenizer_config.json", R"({"chat_template": "A{{ bos_token }}", "bos_token": "<s>"})");
  EXPECT_EQ(text_of(false), "A<s>");
  EXPECT_EQ(text_of(true), "A<s>");
}

TEST_F(ChatConfigTest, AFileOfItsOwnBeatsTheConfig) {
  write("tokenizer_config.json", R"({"chat_template": "A"})");
  write("chat_template.jinja", "B\n");
  EXPECT_EQ(text_of(false), "B");
}

TEST_F(ChatConfigTest, NamedTemplatesAreChosenByTheConversation) {
  write("tokenizer_config.json", R"({"chat_template": [
      {"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]})");
  EXPECT_EQ(text_of(false), "D");
  EXPECT_EQ(text_of(true), "T");
  write("additional_chat_templates/tool_use.jinja", "U");
  EXPECT_EQ(text_of(true), "U");
}

TEST_F(ChatConfigTest, TokensMayBeObjectsAndAreTheTemplatesOwn) {
  write("tokenizer_config.json",
        R"({"chat_template": "{{ bos_token }}{{ pad_token }}",
            "bos_token": {"__type": "AddedToken", "content": "<b>"}, "pad_token": "<p>"})");
  const auto config = read_chat_config(folder_);
  ASSERT_TRUE(config);
  const auto prompt = config->find(false)->render(config->special_tokens, {});
  EXPECT_EQ(prompt->text, "<b><p>");
  ASSERT_EQ(prompt->spans.size(), 1u);
  EXPECT_EQ(prompt->spans[0].origin, Origin::kTemplate);
}

TEST_F(ChatConfigTest, MistakesNameTheFile) {
  write("tokenizer_config.json", R"({"chat_template": "{{ x|frob }}"})");
  EXPECT_EQ(text_of(false), "error: " + (folder_ / "tokenizer_config.json").string() +
                                " chat_template:1:6: no filter is named 'frob'");
  write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_NE(text_of(false).find("must be a string or a list"), std::string::npos);
  write("tokenizer_config.json", "{");
  EXPECT_NE(text_of(false).find("tokenizer_config.json: not valid JSON"), std::string::npos);
}

}  // namespace
}  // namespace smoe
