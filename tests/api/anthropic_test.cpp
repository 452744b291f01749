// /v1/messages and count_tokens, §5 and §6 of the conformity sheet.
#include "api/service_fixture.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHi = R"({"model":"claude-x","max_tokens":50,"messages":[{"role":"user","content":"hi"}]})";

std::string with(const std::string& fields) {
  return R"({"max_tokens":50,"messages":[{"role":"user","content":"hi"}],)" + fields + "}";
}

class Anthropic : public ServiceTest {};

TEST_F(Anthropic, ResponseHasEveryRequiredField) {
  start(Answering{.reused = 4});
  const Got got = post("/v1/messages?beta=true", kHi);
  ASSERT_EQ(got.status, 200) << got.body;
  const Json json = got.json();
  EXPECT_TRUE(json["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(json["type"], "message");
  EXPECT_EQ(json["role"], "assistant");
  EXPECT_EQ(json["model"], "claude-x");  // the requested name
  EXPECT_EQ(json["content"].dump(), R"([{"type":"text","text":"Hello there.","citations":null}])");
  EXPECT_EQ(json["stop_reason"], "end_turn");
  EXPECT_TRUE(json["stop_sequence"].is_null());
  EXPECT_EQ(got.header("request-id"), "req_test");
}

TEST_F(Anthropic, InputTokensLeaveCachedOnesOut) {
  start(Answering{.reused = 4});
  const Json usage = post("/v1/messages", kHi).json()["usage"];
  EXPECT_EQ(usage["input_tokens"], int(last().prompt.size()) - 4);
  EXPECT_EQ(usage["cache_read_input_tokens"], 4);
  EXPECT_EQ(usage["cache_creation_input_tokens"], 0);
  EXPECT_EQ(usage["output_tokens"], 3);
}

TEST_F(Anthropic, StreamHasItsEventsInOrder) {
  start(Answering{.pieces = {"<think>", "hm", "</think>", "Yes"}, .reused = 4});
  const Got got = post("/v1/messages", with(R"("stream":true)"));
  const std::vector<std::string> wanted = {"message_start",       "ping",
                                           "content_block_start", "content_block_delta",
                                           "content_block_delta", "content_block_stop",
                                           "content_block_start", "content_block_delta",
                                           "content_block_stop",  "message_delta",
                                           "message_stop"};
  EXPECT_EQ(got.names(), wanted) << got.body;
  const auto events = got.events();
  EXPECT_EQ(events[0]["message"]["usage"]["input_tokens"], int(last().prompt.size()) - 4);
  EXPECT_EQ(events[0]["message"]["content"], Json::array());
  EXPECT_EQ(events[2]["content_block"]["type"], "thinking");
  EXPECT_EQ(events[3]["delta"]["thinking"], "hm");
  EXPECT_EQ(events[4]["delta"]["type"], "signature_delta");
  EXPECT_EQ(events[6]["index"], 1);
  EXPECT_EQ(events[7]["delta"].dump(), R"({"type":"text_delta","text":"Yes"})");
  EXPECT_EQ(events[9]["delta"]["stop_reason"], "end_turn");
  EXPECT_EQ(events[9]["usage"]["output_tokens"], 4);
  EXPECT_EQ(got.body.find("[DONE]"), std::string::npos);
}

TEST_F(Anthropic, StopReasons) {
  start(Answering{.stop = "END"});
  const Json stopped = post("/v1/messages", with(R"("stop_sequences":["END"])")).json();
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], "END");
  EXPECT_EQ(last().stop, std::vector<std::string>{"END"});
}

TEST_F(Anthropic, LengthIsMaxTokensOrTheWindow) {
  start(Answering{.reason = FinishReason::kLength});
  EXPECT_EQ(
      post("/v1/messages", R"({"max_tokens":3,"messages":[{"role":"user","content":"hi"}]})").json()["stop_reason"],
      "max_tokens");
  EXPECT_EQ(post("/v1/messages", kHi).json()["stop_reason"], "model_context_window_exceeded");
}

TEST_F(Anthropic, ErrorsHaveTheDialectsShape) {
  start();
  const Got got = post("/v1/messages", R"({"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(got.status, 400);
  EXPECT_EQ(got.json()["type"], "error");
  EXPECT_EQ(got.error()["type"], "invalid_request_error");
  EXPECT_NE(got.error()["message"].get<std::string>().find("max_tokens"), std::string::npos);
  EXPECT_EQ(got.json()["request_id"], "req_test");
  EXPECT_EQ(post("/v1/messages", with(R"("model":"nobody")")).error()["type"], "not_found_error");
}

TEST_F(Anthropic, TooLongAPromptIsSaidInTheWordsThatAgentsLookFor) {
  start();
  std::string text;
  for (int i = 0; i < 600; ++i) text += "a b ";
  const Got got = post("/v1/messages", R"({"max_tokens":5,"messages":[{"role":"user","content":")" + text + R"("}]})");
  EXPECT_EQ(got.status, 400);
  const std::string message = got.error()["message"];
  EXPECT_TRUE(message.starts_with("prompt is too long: ")) << message;
  EXPECT_TRUE(message.ends_with(" tokens > 512 maximum")) << message;
}

TEST_F(Anthropic, BlocksOfEveryKindInTheHistory) {
  start();
  const Got got = post(
      "/v1/messages",
      R"({"max_tokens":5,"system":[{"type":"text","text":"x-anthropic-billing-header: abc"},{"type":"text","text":"A","cache_control":{"type":"ephemeral"}},{"type":"text","text":"B"}],)"
      R"("messages":[{"role":"user","content":[{"type":"text","text":"q"}]},)"
      R"({"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"ok"},{"type":"tool_use","id":"1","name":"f","input":{}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"}],"is_error":false},{"type":"text","text":"and"}]},)"
      R"({"role":"system","content":"mid"},{"role":"user","content":"end"}]})",
      {{"x-anedvd-trace", "1"}});
  ASSERT_EQ(got.status, 200) << got.body;
  const Json messages = got.json()["anedvd_trace"]["messages"];
  EXPECT_EQ(messages[0].dump(), R"({"role":"system","content":"A\nB"})");
  EXPECT_EQ(messages[2]["tool_calls"][0]["function"]["name"], "f");
  EXPECT_EQ(messages[2]["reasoning_content"], "t");
  EXPECT_EQ(messages[3].dump(), R"({"role":"tool","content":"r","tool_call_id":"1"})");
  EXPECT_EQ(messages[4].dump(), R"({"role":"user","content":"and"})");
}

TEST_F(Anthropic, NothingOfATurnWithResultsIsDropped) {
  start();
  const Got got = post(
      "/v1/messages",
      R"({"max_tokens":5,"messages":[{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"1","content":"r"},)"
      R"({"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"2","name":"f","input":{}}]},{"role":"user","content":"end"}]})",
      {{"x-anedvd-trace", "1"}});
  ASSERT_EQ(got.status, 200) << got.body;
  const Json messages = got.json()["anedvd_trace"]["messages"];
  EXPECT_EQ(messages[0]["role"], "tool");
  EXPECT_EQ(messages[1]["tool_calls"][0]["function"]["name"], "f");
  EXPECT_EQ(messages[1]["reasoning_content"], "t");
}

struct BadField {
  const char *fields, *word;
};

TEST_F(Anthropic, FaultsNameTheirField) {
  start();
  const BadField rows[] = {
      {R"("system":5)", "system"},
      {R"("stop_sequences":"x")", "stop_sequences"},
      {R"("temperature":-1)", "temperature"},
      {R"("stream":1)", "stream"},
      {R"("tools":[{"name":"f","input_schema":{}}])", "tools"},
      {R"("tool_choice":{"type":"any"})", "tool_choice"},
      {R"("tool_choice":{"type":"bogus"})", "tool_choice.type"},
      {R"("thinking":{"type":"maybe"})", "thinking.type"},
      {R"("thinking":{"type":"enabled","budget_tokens":"x"})", "thinking.budget_tokens"},
      {R"("output_config":{"format":{"type":"json_schema"}})", "output_config.format"},
  };
  for (const BadField& row : rows) {
    const Got got = post("/v1/messages", with(row.fields));
    EXPECT_EQ(got.status, 400) << row.fields;
    EXPECT_NE(got.error()["message"].get<std::string>().find(row.word), std::string::npos) << got.body;
  }
  for (const char* content :
       {R"([{"type":"image","source":{}}])", R"([{"type":"new_thing"}])", R"([{"type":"tool_result"}])", "5", "null"})
    EXPECT_EQ(
        post("/v1/messages", fmt::format(R"({{"max_tokens":5,"messages":[{{"role":"user","content":{}}}]}})", content))
            .status,
        400)
        << content;
}

TEST_F(Anthropic, ServersToolsArePassedOver) {
  start();
  EXPECT_EQ(post("/v1/messages", with(R"("tools":[{"type":"web_search_20250305","name":"web_search"}])")).status, 200);
}

TEST_F(Anthropic, CountTokensEqualsWhatMessagesReports) {
  start(Answering{.reused = 3});
  const Json usage =
      post("/v1/messages", R"({"max_tokens":5,"system":"S","messages":[{"role":"user","content":"hi there"}]})")
          .json()["usage"];
  engine_->is_full = true;  // counting takes no place
  const Json counted =
      post("/v1/messages/count_tokens", R"({"system":"S","messages":[{"role":"user","content":"hi there"}]})").json();
  EXPECT_EQ(counted["input_tokens"], usage["input_tokens"].get<int>() + usage["cache_read_input_tokens"].get<int>());
}

TEST_F(Anthropic, FaultAfterTheFirstByteIsAnErrorEvent) {
  start([](const GenerationRequest&, Ticket& ticket) {
    ticket.post(Started{3, 0});
    ticket.post(TextDelta{"Hel", {}});
    ticket.post(Failed{{ErrorCode::kNumeric, "logits"}});
  });
  const Got got = post("/v1/messages", with(R"("stream":true)"));
  EXPECT_EQ(got.names().back(), "error");
  EXPECT_EQ(got.events().back()["error"]["type"], "api_error");
}

}  // namespace
}  // namespace anedvd
