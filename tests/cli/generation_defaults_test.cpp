// What a model's generation_config.json says about sampling.
#include "cli/generation_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

using testing::HasSubstr;

class GenerationDefaults : public testing::Test {
 protected:
  Result<SamplerOptions> of(const std::string& config, Settings settings = {}) const {
    std::ofstream(folder_ / "generation_config.json") << config;
    settings.model = folder_.path();
    return sampler_options(settings);
  }
  std::string refusal(const std::string& config) const {
    const auto options = of(config);
    return options ? "no error" : options.error().message;
  }

  test::TempDir folder_;
};

TEST_F(GenerationDefaults, AreThoseOfTheFileUnlessAFlagSaysOtherwise) {
  const auto options = of(R"({"temperature":0.6,"top_p":0.95,"top_k":20,"min_p":null,)"
                          R"("repetition_penalty":1.05,"eos_token_id":[1,2]})");
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_FLOAT_EQ(options->temperature, 0.6F);
  EXPECT_FLOAT_EQ(options->top_p, 0.95F);
  EXPECT_EQ(options->top_k, 20U);
  EXPECT_FLOAT_EQ(options->min_p, SamplerOptions().min_p);
  EXPECT_FLOAT_EQ(options->repeat_penalty, 1.05F);
  Settings settings;
  settings.top_k = 7;
  EXPECT_EQ(of(R"({"top_k":20})", settings)->top_k, 7U);
}

// 0 is Hugging Face's way of saying it, -1 vLLM's.
TEST_F(GenerationDefaults, TakeATopKOfZeroOrMinusOneForAllTokens) {
  for (const char* all : {"0", "-1", "-1.0"}) {
    const auto options = of(std::string(R"({"top_k":)") + all + "}");
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->top_k, 0U) << all;
  }
  EXPECT_EQ(of(R"({"top_k":null})")->top_k, SamplerOptions().top_k);
  for (const char* bad : {"-2", "1.5", "4294967296", "\"all\"", "[]", "true"})
    EXPECT_THAT(refusal(std::string(R"({"top_k":)") + bad + "}"),
                HasSubstr("generation_config.json: top_k is "))
        << bad;
}

TEST_F(GenerationDefaults, AreShownAsPeopleWriteThem) {
  const auto options = of(R"({"temperature":0.7,"top_p":0.95,"top_k":-1})");
  const Settings shown = effective_settings({}, *options);
  EXPECT_EQ(shown.temperature, 0.7);
  EXPECT_EQ(shown.top_p, 0.95);
  EXPECT_EQ(shown.top_k, 0U);
  EXPECT_FALSE(shown.seed);
}

TEST_F(GenerationDefaults, AreGreedyWhereTheAuthorsDoNotSample) {
  EXPECT_EQ(of(R"({"do_sample":false,"temperature":0.6})")->temperature, 0);
  EXPECT_FLOAT_EQ(of(R"({"do_sample":true,"temperature":0.6})")->temperature, 0.6F);
}

TEST_F(GenerationDefaults, NameTheFieldThatIsOutOfRange) {
  EXPECT_THAT(refusal(R"({"temperature":-1})"), HasSubstr("temperature is -1, not a number"));
  EXPECT_THAT(refusal(R"({"top_p":"high"})"), HasSubstr("top_p is \"high\", not a number"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("is no JSON object with settings"));
  EXPECT_THAT(refusal("{"), HasSubstr("generation_config.json"));
}

}  // namespace
}  // namespace smoe::cli
