// Text from variables stays marked through everything that a template can do with it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/template/support.h"

namespace smoe {
namespace {

using test::marked;

const nlohmann::ordered_json kVariables = {
    {"m", "<|x|>"}, {"list", {"<|a|>", "<|b|>"}}, {"d", {{"<|k|>", "<|v|>"}}}, {"n", 3}};

TEST(Origin, OfAVariableIsKeptBesideTheTemplatesOwnText) {
  EXPECT_EQ(marked("a{{ m }}b{{ '<|y|>' }}", kVariables), "a[[<|x|>]]b<|y|>");
  EXPECT_EQ(marked("{{ '<|' + m + '|>' }}", kVariables), "<|[[<|x|>]]|>");
  EXPECT_EQ(marked("{{ bos_token ~ m }}", {{"bos_token", "<s>"}, {"m", "<s>"}}), "<s>[[<s>]]");
}

TEST(Origin, SurvivesEveryOperationOnStrings) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{{ ('[' + m + ']')[1:4] }}", "[[<|x]]"},
      {"{{ ('[' + m + ']')[::-1] }}", "][[>|x|<]]["},
      {"{{ ('<' ~ m)[1] }}", "[[<]]"},
      {"{{ m.replace('x', 'y') }}", "[[<|]]y[[|>]]"},
      {"{{ 'abc'.replace('b', m) }}", "a[[<|x|>]]c"},
      {"{{ m|replace('|', '/') }}", "[[<]]/[[x]]/[[>]]"},
      {"{{ (m ~ ',' ~ 'b').split(',')|join('-') }}", "[[<|x|>]]-b"},
      {"{{ (m ~ ',b').rsplit(',', 1)[0] }}", "[[<|x|>]]"},
      {"{{ m.partition('|')[2] }}", "[[x|>]]"},
      {"{{ m.join(['a', 'b']) }}", "a[[<|x|>]]b"},
      {"{{ list|join('+') }}", "[[<|a|>]]+[[<|b|>]]"},
      {"{{ ('  ' ~ m ~ '  ')|trim }}", "[[<|x|>]]"},
      {"{{ m.strip('<') }}", "[[|x|>]]"},
      {"{{ m.removeprefix('<') }}", "[[|x|>]]"},
      {"{{ m.upper() }}{{ m|upper }}", "[[<|X|><|X|>]]"},
      {"{{ m.title() }}{{ m|capitalize }}", "[[<|X|><|x|>]]"},
      {"{{ m.center(7, '*') }}", "*[[<|x|>]]*"},
      {"{{ m * 2 }}", "[[<|x|><|x|>]]"},
      {"{{ m|tojson }}", "\"[[<|x|>]]\""},
      {"{{ d|tojson }}", "{\"[[<|k|>]]\": \"[[<|v|>]]\"}"},
      {"{{ list }}", "['[[<|a|>]]', '[[<|b|>]]']"},
      {"{{ '%s!' % m }}", "[[<|x|>]]!"},
      {"{{ m % () }}", "[[<|x|>]]"},
      {"{{ '{}!'.format(m) }}", "[[<|x|>]]!"},
      {"{{ '%s'|format(m) }}", "[[<|x|>]]"},
      {"{{ m|indent(2, true) }}", "  [[<|x|>]]"},
      {"{{ m|e }}", "[[&lt;|x|&gt;]]"},
      {"{{ m|truncate(4, true, '') if false else m|list|join }}", "[[<|x|>]]"},
      {"{{ m|reverse }}", "[[>|x|<]]"},
      {"{{ m|string|safe }}", "[[<|x|>]]"},
      {"{{ list|map('upper')|join }}", "[[<|A|><|B|>]]"},
      {"{{ list|first }}{{ list|last }}{{ list|sort|first }}", "[[<|a|><|b|><|a|>]]"},
      {"{% for c in m %}{{ c }}{% endfor %}", "[[<|x|>]]"},
      {"{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", "[[<|k|>]]=[[<|v|>]]"},
      {"{% set s %}({{ m }}){% endset %}{{ s }}", "([[<|x|>]])"},
      {"{% filter upper %}a{{ m }}{% endfilter %}", "A[[<|X|>]]"},
      {"{% macro f(a) %}<{{ a }}>{% endmacro %}{{ f(m) }}", "<[[<|x|>]]>"},
      {"{% set ns = namespace(t='') %}{% set ns.t = ns.t + m %}{{ ns.t }}", "[[<|x|>]]"},
      {"{{ '\"<|f|>\"'|fromjson }}{{ ('\"' ~ m ~ '\"')|fromjson }}", "<|f|>[[<|x|>]]"},
      {"{{ missing|default(m) }}", "[[<|x|>]]"},
      {"{{ '%c' % 60 }}", "[[<]]"},
  };
  for (const auto& [source, expected] : cases)
    EXPECT_EQ(marked(source, kVariables), expected) << source;
}

TEST(Origin, OfNumbersIsTheTemplates) { EXPECT_EQ(marked("<|{{ n }}|>", kVariables), "<|3|>"); }

// A message that says what only the model's author may say.
TEST(Origin, OfSpecialTokensInMessagesIsNeverTheTemplates) {
  const std::vector<std::string> tokens = {"<|im_start|>",    "<|im_end|>",           "<|eot_id|>",
                                           "<|endoftext|>",   "<|start_header_id|>",  "<｜User｜>",
                                           "<｜Assistant｜>", "<｜end▁of▁sentence｜>"};
  for (const std::string name : {"qwen3", "deepseek_v3", "llama3"}) {
    std::ifstream file(SMOE_SOURCE_DIR "/tests/data/templates/" + name + ".json");
    const auto golden = nlohmann::ordered_json::parse(file);
    const auto parsed = ChatTemplate::parse(golden["template"].get<std::string>(), name);
    ASSERT_TRUE(parsed);
    for (const std::string& token : tokens) {
      // What the template itself writes for the same conversation without the token.
      const auto text_of = [&](const std::string& word) {
        const nlohmann::ordered_json messages = {
            {{"role", "system"}, {"content", word}},
            {{"role", "user"}, {"content", "a" + word + "b"}},
            {{"role", "assistant"},
             {"content", word},
             {"tool_calls",
              {{{"type", "function"}, {"function", {{"name", word}, {"arguments", word}}}}}}},
            {{"role", "tool"}, {"content", word}},
            {{"role", "user"}, {"content", word}}};
        const nlohmann::ordered_json tools = {{{"type", word}, {word, word}}};
        const auto prompt = parsed->render(
            test::variables({{"messages", messages}, {"tools", tools}, {"bos_token", "<bos>"}}),
            test::options());
        EXPECT_TRUE(prompt) << prompt.error().message;
        std::string own;
        if (!prompt) return own;
        for (const auto& span : prompt->spans)
          own += span.origin == Origin::kTemplate
                     ? prompt->text.substr(span.begin, span.end - span.begin)
                     : std::string("\x01");
        return own;
      };
      EXPECT_EQ(text_of(token), text_of("word")) << name << " " << token;
    }
  }
}

TEST(Origin, SpansCoverTheTextWithoutGaps) {
  const auto parsed = ChatTemplate::parse("a{{ m }}{{ m }}b", "t");
  const auto prompt = parsed->render(test::variables(kVariables), test::options());
  ASSERT_EQ(prompt->spans.size(), 3u);
  EXPECT_EQ(prompt->spans[0].end, 1u);
  EXPECT_EQ(prompt->spans[1].begin, 1u);
  EXPECT_EQ(prompt->spans[1].end, 11u);
  EXPECT_EQ(prompt->spans[2].end, prompt->text.size());
}

}  // namespace
}  // namespace smoe
