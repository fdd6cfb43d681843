#include "server/chat_messages.h"

#include <gtest/gtest.h>

#include <string>

namespace smoe::server {
namespace {

using Reader = ApiResult<Conversation> (*)(const Json& body);

std::string messages_of(Reader read, const std::string& body) {
  const auto conversation = read(*Json::parse(body));
  return conversation ? conversation->messages : "error: " + conversation.error().param;
}

// Trap 10.
TEST(OpenAiConversation, TakesContentInEveryFormAndRole) {
  EXPECT_EQ(messages_of(openai_conversation, R"({"messages":[
      {"role":"developer","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
      {"role":"user","content":"hi"},
      {"role":"assistant","content":null,"reasoning":"hm","tool_calls":[{"id":"c1","type":"function",
       "function":{"name":"f","arguments":"{\"x\": 1.0}"}}]},
      {"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"}]}]})"),
            R"([{"role":"system","content":"ab"},{"role":"user","content":"hi"},)"
            R"({"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"c1",)"
            R"("type":"function","function":{"name":"f","arguments":{"x":1.0}}}]},)"
            R"({"role":"tool","content":"r","tool_call_id":"c1"}])");
}

// Trap 7.
TEST(OpenAiConversation, LeavesArgumentsThatAreNoJsonAsText) {
  EXPECT_EQ(messages_of(openai_conversation,
                        R"({"messages":[{"role":"assistant","tool_calls":[
                           {"function":{"name":"f","arguments":"{broken"}}]}]})"),
            R"([{"role":"assistant","content":"","tool_calls":[{"type":"function",)"
            R"("function":{"name":"f","arguments":"{broken"}}]}])");
}

TEST(OpenAiConversation, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(messages_of(openai_conversation, "{}"), "error: messages");
  EXPECT_EQ(messages_of(openai_conversation, R"({"messages":[]})"), "error: messages");
  EXPECT_EQ(messages_of(openai_conversation, R"({"messages":[7]})"), "error: messages[0]");
  EXPECT_EQ(messages_of(openai_conversation, R"({"messages":[{"role":"king"}]})"),
            "error: messages[0].role");
  EXPECT_EQ(messages_of(openai_conversation,
                        R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})"),
            "error: messages[0].content[0].type");
  EXPECT_EQ(messages_of(openai_conversation, R"({"messages":[{"role":"user","content":{}}]})"),
            "error: messages[0].content");
  EXPECT_EQ(messages_of(openai_conversation,
                        R"({"messages":[{"role":"user","content":"x"}],"tools":[{"type":"x"}]})"),
            "error: tools[0]");
}

TEST(AnthropicConversation, BecomesTheMessagesOfTemplates) {
  EXPECT_EQ(
      messages_of(anthropic_conversation, R"({"system":[{"type":"text","text":"be"},
      {"type":"text","text":"kind"}],"messages":[{"role":"user","content":"hi"},
      {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},
       {"type":"text","text":"I look"},{"type":"tool_use","id":"t1","name":"f","input":{"x":1.0}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[
        {"type":"text","text":"r"}]},{"type":"text","text":"and?"}]}]})"),
      R"([{"role":"system","content":"be\nkind"},{"role":"user","content":"hi"},)"
      R"({"role":"assistant","content":"I look","reasoning_content":"hm","tool_calls":[)"
      R"({"id":"t1","type":"function","function":{"name":"f","arguments":{"x":1.0}}}]},)"
      R"({"role":"tool","tool_call_id":"t1","content":"r"},{"role":"user","content":"and?"}])");
}

// Trap 24.
TEST(AnthropicConversation, LeavesTheLineOutThatChangesWithEveryCall) {
  const std::string rest = R"(","messages":[{"role":"user","content":"hi"}]})";
  EXPECT_EQ(messages_of(anthropic_conversation,
                        R"({"system":"x-anthropic-billing-header: v=1; cch=ab12;\nbe kind)" + rest),
            messages_of(anthropic_conversation, R"({"system":"be kind)" + rest));
  EXPECT_EQ(messages_of(anthropic_conversation,
                        R"({"system":[{"type":"text","text":"x-anthropic-billing-header: cch=1;"},
                            {"type":"text","text":"be kind"}],"messages":[{"role":"user",
                            "content":"hi"}]})"),
            messages_of(anthropic_conversation, R"({"system":"be kind)" + rest));
}

TEST(ResponsesConversation, BecomesTheMessagesOfTemplates) {
  EXPECT_EQ(messages_of(responses_conversation, R"({"instructions":"be kind","input":"hi"})"),
            R"([{"role":"system","content":"be kind"},{"role":"user","content":"hi"}])");
  EXPECT_EQ(messages_of(responses_conversation, R"({"input":[{"type":"message","role":"user",
      "content":[{"type":"input_text","text":"hi"},{"type":"input_image"}]}]})"),
            "error: input[0].content[1].type");
  EXPECT_EQ(messages_of(responses_conversation, R"({"input":[
      {"role":"user","content":"hi"},
      {"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},
      {"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
      {"type":"function_call_output","call_id":"c","output":"r"}]})"),
            R"([{"role":"user","content":"hi"},{"role":"assistant","content":"",)"
            R"("reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":)"
            R"({"name":"f","arguments":{}}}]},{"role":"tool","tool_call_id":"c","content":"r"}])");
}

TEST(Conversation, GivesToolsOneForm) {
  const std::string expected =
      R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}])";
  const std::string user = R"("messages":[{"role":"user","content":"x"}],"input":"x",)";
  EXPECT_EQ(openai_conversation(*Json::parse("{" + user + R"("tools":[{"type":"function","function":
      {"name":"f","description":"d","parameters":{"type":"object"}}}]})"))
                ->tools,
            expected);
  EXPECT_EQ(anthropic_conversation(*Json::parse("{" + user + R"("tools":[{"name":"f",
      "description":"d","input_schema":{"type":"object"}}]})"))
                ->tools,
            expected);
  EXPECT_EQ(responses_conversation(*Json::parse("{" + user + R"("tools":[{"type":"function",
      "name":"f","description":"d","parameters":{"type":"object"}}]})"))
                ->tools,
            expected);
}

}  // namespace
}  // namespace smoe::server
