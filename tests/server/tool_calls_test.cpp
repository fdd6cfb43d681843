#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/tool_calls/readers.h"
#include "server/tool_calls/tool_format.h"

namespace smoe::server {
namespace {

const Json kNoTools;

Json weather_tools() {
  return *Json::parse(R"([{"type":"function","function":{"name":"weather","parameters":
    {"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},
     "tags":{"type":"array"}}}}}])");
}

using Calls = std::vector<ToolCall>;

TEST(ToolFormat, IsFoundByWhatTheTemplateContains) {
  struct Row {
    std::string_view source;
    std::string_view name;
  };
  for (const Row& row : {Row{"<tool_call>\n{\"name\": <function-name>", "hermes"},
                         Row{"<tool_call>\n<function=example>", "qwen3-coder"},
                         Row{"<tool_call>{n}\n<arg_key>{k}</arg_key>", "glm"},
                         Row{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "deepseek"},
                         Row{"<|start|>assistant<|channel|>analysis", "gpt-oss"}}) {
    const ToolFormat* format = tool_format_of(row.source);
    ASSERT_NE(format, nullptr) << row.name;
    EXPECT_EQ(format->name, row.name);
  }
  EXPECT_EQ(tool_format_of("{{ messages }}"), nullptr);
}

TEST(ToolReaders, ReadJson) {
  EXPECT_EQ(read_json_calls("\n{\"name\": \"f\", \"arguments\": {\"a\": 1.0, \"b\": "
                            "12345678901234567890}}\n",
                            kNoTools),
            (Calls{{"f", R"({"a":1.0,"b":12345678901234567890})"}}));
  EXPECT_EQ(read_json_calls(R"({"name":"f","arguments":"{\"a\": 1}"})", kNoTools),
            (Calls{{"f", R"({"a":1})"}}));
  EXPECT_EQ(read_json_calls(R"({"name":"f"})", kNoTools), (Calls{{"f", "{}"}}));
  EXPECT_EQ(read_json_calls(R"([{"name":"f"},{"name":"g","parameters":{"x":[]}}])", kNoTools),
            (Calls{{"f", "{}"}, {"g", R"({"x":[]})"}}));
}

TEST(ToolReaders, RefuseWhatIsNoCall) {
  for (const std::string_view text :
       {"", "hello", "{\"name\": \"f\", \"arguments\": {", R"({"arguments":{}})", R"({"name":""})",
        R"({"name":"f","arguments":[1]})", "[]", "7"})
    EXPECT_EQ(read_json_calls(text, kNoTools), std::nullopt) << text;
}

TEST(ToolReaders, ReadXmlWithTheTypesOfTheSchema) {
  EXPECT_EQ(read_xml_calls("\n<function=weather>\n<parameter=city>\n1900\n</parameter>\n"
                           "<parameter=days>\n3\n</parameter>\n<parameter=tags>\n[\"a\"]\n"
                           "</parameter>\n<parameter=other>\nplain words\n</parameter>\n"
                           "</function>\n",
                           weather_tools()),
            (Calls{{"weather", R"({"city":"1900","days":3,"tags":["a"],"other":"plain words"})"}}));
}

TEST(ToolReaders, ReadXmlValuesOfSeveralLinesAndSeveralFunctions) {
  EXPECT_EQ(read_xml_calls("<function=f>\n<parameter=code>\na <b>\n\nc\n</parameter>\n</function>\n"
                           "<function=g>\n</function>",
                           kNoTools),
            (Calls{{"f", R"({"code":"a <b>\n\nc"})"}, {"g", "{}"}}));
  EXPECT_EQ(read_xml_calls("<function=f>\n<parameter=code>\nnever ends", kNoTools), std::nullopt);
}

TEST(ToolReaders, ReadPairs) {
  EXPECT_EQ(read_pair_calls("weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
                            "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n",
                            weather_tools()),
            (Calls{{"weather", R"({"city":"Paris","days":3})"}}));
  EXPECT_EQ(read_pair_calls("now", kNoTools), (Calls{{"now", "{}"}}));
}

TEST(ToolReaders, ReadBothSpellingsOfDeepSeek) {
  EXPECT_EQ(read_deepseek_calls(
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": \"```\"}\n```"
                "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
                kNoTools),
            (Calls{{"f", R"({"a":"```"})"}, {"g", "{}"}}));
}

TEST(ToolReaders, ReadChannels) {
  EXPECT_EQ(read_channel_calls("f <|constrain|>json<|message|>{\"a\": 1}", kNoTools),
            (Calls{{"f", R"({"a":1})"}}));
  EXPECT_EQ(read_channel_calls("f<|message|>", kNoTools), (Calls{{"f", "{}"}}));
}

}  // namespace
}  // namespace smoe::server
