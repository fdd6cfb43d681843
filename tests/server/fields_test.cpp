#include "server/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/sampling.h"

namespace smoe::server {
namespace {

// The field that is blamed; "" when nothing is wrong.
std::string blamed(const std::string& text, Sampling* sampling = nullptr) {
  const auto body = parse_body(text);
  if (!body) return "body";
  Fields fields(*body);
  const Sampling read = read_sampling(fields, {}, 100);
  if (sampling != nullptr) *sampling = read;
  return fields.error() ? fields.error()->param : "";
}

// Trap 46: every number with values that no field can have.
TEST(Fields, RefuseNumbersThatMakeNoSense) {
  for (const std::string name : {"temperature", "top_p", "min_p", "repeat_penalty", "top_k",
                                 "repeat_last_n", "max_tokens", "max_completion_tokens"})
    for (const std::string value :
         {"-1", "9223372036854775808", "1e30", "\"5\"", "true", "[1]", "{}", "-0.5"})
      EXPECT_EQ(blamed("{\"" + name + "\":" + value + "}"), name) << value;
  EXPECT_EQ(blamed(R"({"temperature":1e309})"), "temperature");
  EXPECT_EQ(blamed(R"({"temperature":NaN})"), "body");
  EXPECT_EQ(blamed(R"({"seed":-5})"), "seed");
  EXPECT_EQ(blamed(R"({"presence_penalty":2.5})"), "presence_penalty");
  EXPECT_EQ(blamed(R"({"typical_p":0.5})"), "typical_p");
}

TEST(Fields, TakeNullForAbsentAndIgnoreWhatTheyDoNotKnow) {
  Sampling sampling;
  EXPECT_EQ(blamed(R"({"temperature":null,"max_tokens":null,"n_discard":-5,"x":[]})", &sampling),
            "");
  EXPECT_EQ(sampling.max_tokens, 0U);
}

TEST(Fields, ReadWhatIsRight) {
  Sampling sampling;
  EXPECT_EQ(blamed(R"({"temperature":0,"top_k":7,"seed":18446744073709551615,"stop":["a","b"],
                       "max_completion_tokens":3,"logit_bias":{"5":-100,"99":1.5}})",
                   &sampling),
            "");
  EXPECT_EQ(sampling.sampler.temperature, 0);
  EXPECT_EQ(sampling.sampler.top_k, 7U);
  EXPECT_EQ(sampling.sampler.seed, 18446744073709551615U);
  EXPECT_EQ(sampling.max_tokens, 3U);
  EXPECT_THAT(sampling.stops, testing::ElementsAre("a", "b"));
  EXPECT_THAT(sampling.logit_bias, testing::ElementsAre(testing::Pair(TokenId{5}, -100.0F),
                                                        testing::Pair(TokenId{99}, 1.5F)));
  EXPECT_EQ(blamed(R"({"stop":"x","logit_bias":[[7,false],[8,2]],"seed":-1})", &sampling), "");
  EXPECT_EQ(sampling.logit_bias.size(), 2U);
}

TEST(Fields, RefuseStopsAndBiasesOfTheWrongKind) {
  EXPECT_EQ(blamed(R"({"stop":""})"), "stop");
  EXPECT_EQ(blamed(R"({"stop":[1]})"), "stop");
  EXPECT_EQ(blamed(R"({"stop":{}})"), "stop");
  EXPECT_EQ(blamed("{\"stop\":\"" + std::string(257, 'x') + "\"}"), "stop");
  EXPECT_EQ(blamed(R"({"stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15",
                              "16","17"]})"),
            "stop");
  for (const std::string value : {R"({"100":1})", R"({"x":1})", R"({"1":101})", R"({"1":"2"})",
                                  R"({"-1":1})", "[[1]]", "[[1,true]]", "7"})
    EXPECT_EQ(blamed("{\"logit_bias\":" + value + "}"), "logit_bias") << value;
}

TEST(Fields, RefuseABodyThatIsNoObject) {
  for (const std::string body : {"", "[]", "7", "{", "{\"a\":1}x", "\"\\ud800\"", "nul"})
    EXPECT_FALSE(parse_body(body)) << body;
  EXPECT_FALSE(parse_body(std::string(200, '[') + std::string(200, ']')));
  EXPECT_FALSE(parse_body("{\"a\":" + std::string(130, '[') + std::string(130, ']') + "}"));
  EXPECT_TRUE(parse_body("{\"a\":" + std::string(120, '[') + std::string(120, ']') + "}"));
}

TEST(WriteJson, KeepsTheTextOfNumbers) {
  const std::string text = R"({"a":1.0,"b":12345678901234567890,"c":[1e-7,null,true],"d":"é\n"})";
  EXPECT_EQ(json_text(*Json::parse(text)), text);
}

}  // namespace
}  // namespace smoe::server
