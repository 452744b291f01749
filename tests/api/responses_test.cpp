// /v1/responses, §7 of the conformity sheet.
#include "api/service_fixture.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

class Responses : public ServiceTest {};

TEST_F(Responses, ResponseHasEveryRequiredField) {
  start(Answering{.pieces = {"<think>", "hm", "</think>", "Yes"}, .reused = 2});
  const Got got = post("/v1/responses", R"({"input":"hi","instructions":"Be brief.","metadata":{"a":"b"}})");
  ASSERT_EQ(got.status, 200) << got.body;
  const Json json = got.json();
  EXPECT_TRUE(json["id"].get<std::string>().starts_with("resp_"));
  EXPECT_EQ(json["object"], "response");
  EXPECT_TRUE(json["created_at"].is_number());
  EXPECT_EQ(json["status"], "completed");
  for (const char* key : {"error", "incomplete_details", "instructions", "metadata", "temperature", "top_p",
                          "max_output_tokens", "previous_response_id", "text", "reasoning", "truncation", "usage",
                          "store", "completed_at", "parallel_tool_calls", "tool_choice", "tools", "model"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["output"][0]["type"], "reasoning");
  EXPECT_EQ(json["output"][0]["content"][0]["text"], "hm");
  EXPECT_EQ(json["output"][0]["summary"], Json::array());
  EXPECT_EQ(json["output"][1]["role"], "assistant");
  EXPECT_EQ(json["output"][1]["content"][0]["text"], "Yes");
  EXPECT_EQ(json["output"][1]["content"][0]["annotations"], Json::array());
  EXPECT_EQ(json["usage"]["input_tokens_details"].dump(), R"({"cached_tokens":2,"cache_write_tokens":0})");
  EXPECT_TRUE(json["usage"]["output_tokens_details"].contains("reasoning_tokens"));
}

TEST_F(Responses, StreamHasItsEventsInOrder) {
  start();
  const Got got = post("/v1/responses", R"({"input":"hi","stream":true})");
  const std::vector<std::string> wanted = {"response.created",           "response.in_progress",
                                           "response.output_item.added", "response.content_part.added",
                                           "response.output_text.delta", "response.output_text.delta",
                                           "response.output_text.delta", "response.output_text.done",
                                           "response.content_part.done", "response.output_item.done",
                                           "response.completed"};
  EXPECT_EQ(got.names(), wanted) << got.body;
  const auto events = got.events();
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["sequence_number"], i);
    EXPECT_EQ(events[i]["type"], wanted[i]);
  }
  EXPECT_EQ(events[4]["logprobs"], Json::array());
  EXPECT_EQ(events[4]["item_id"], events[2]["item"]["id"]);
  EXPECT_EQ(events[9]["item"]["id"], events[2]["item"]["id"]);
  EXPECT_EQ(events[10]["response"]["output"][0]["id"], events[2]["item"]["id"]);
  EXPECT_EQ(events[7]["text"], "Hello there.");
  EXPECT_EQ(events[10]["response"]["usage"]["output_tokens"], 3);
  EXPECT_EQ(got.body.find("[DONE]"), std::string::npos);
}

TEST_F(Responses, LengthIsIncomplete) {
  start(Answering{.reason = FinishReason::kLength});
  const Json json = post("/v1/responses", R"({"input":"hi","max_output_tokens":3})").json();
  EXPECT_EQ(json["status"], "incomplete");
  EXPECT_EQ(json["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(post("/v1/responses", R"({"input":"hi","stream":true})").names().back(), "response.incomplete");
}

TEST_F(Responses, PreviousResponseIsRememberedAndAnUnknownOneIs404) {
  start();
  const Json first = post("/v1/responses", R"({"input":"first","instructions":"I"})").json();
  const Got second =
      post("/v1/responses", fmt::format(R"({{"input":"second","previous_response_id":{}}})", first["id"].dump()),
           {{"x-anedvd-trace", "1"}});
  EXPECT_EQ(
      second.json()["anedvd_trace"]["messages"].dump(),
      R"([{"role":"user","content":"first"},{"role":"assistant","content":"Hello there."},{"role":"user","content":"second"}])");
  const Got unknown = post("/v1/responses", R"({"input":"x","previous_response_id":"resp_nothing"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.error()["param"], "previous_response_id");
}

TEST_F(Responses, StoredOnesAreReadAndDeletedOthersNot) {
  start(Answering{}, {.response_store = 2});
  const std::string id = post("/v1/responses", R"({"input":"a"})").json()["id"];
  EXPECT_EQ(get("/v1/responses/" + id).json()["id"], id);
  EXPECT_EQ(ask(request("DELETE", "/v1/responses/" + id)).json()["deleted"], true);
  EXPECT_EQ(get("/v1/responses/" + id).status, 404);
  const std::string unkept = post("/v1/responses", R"({"input":"a","store":false})").json()["id"];
  EXPECT_EQ(get("/v1/responses/" + unkept).status, 404);
  const std::string oldest = post("/v1/responses", R"({"input":"a"})").json()["id"];
  post("/v1/responses", R"({"input":"a"})");
  post("/v1/responses", R"({"input":"a"})");
  EXPECT_EQ(get("/v1/responses/" + oldest).status, 404);  // two are kept
}

// The last bytes are sent before the answer's object goes: whoever asks then must not hear of the past.
TEST_F(Responses, AWholeAnswerIsNotUnderWayAnyMore) {
  start();
  const auto response = begin(request("POST", "/v1/responses", R"({"input":"a","stream":true})"));
  std::string bytes;
  for (bool is_done = false; !is_done;) {
    Outgoing out;
    response->advance(out);
    bytes += out.bytes;
    is_done = out.done;
  }
  const std::string id = bytes.substr(bytes.find("resp_"), 29);
  EXPECT_EQ(get("/v1/responses/" + id).json()["status"], "completed");
  EXPECT_EQ(post("/v1/responses/" + id + "/cancel", "").json()["status"], "completed");
}

TEST_F(Responses, CancelStopsAnAnswerUnderWay) {
  start([](const GenerationRequest&, Ticket& ticket) { ticket.post(TextDelta{"Hel", {}}); });
  const auto response = begin(request("POST", "/v1/responses", R"({"input":"a","stream":true})"));
  Outgoing out;
  response->advance(out);
  const size_t at = out.bytes.find("resp_");
  const std::string id = out.bytes.substr(at, 29);
  EXPECT_EQ(get("/v1/responses/" + id).json()["status"], "in_progress");
  const Json cancelled = post("/v1/responses/" + id + "/cancel", "").json();
  EXPECT_EQ(cancelled["id"], id);
  EXPECT_EQ(cancelled["status"], "cancelled");
  for (const char* key : {"output", "model", "tools", "tool_choice", "parallel_tool_calls", "created_at"})
    EXPECT_TRUE(cancelled.contains(key)) << key;  // the official client reads them
  EXPECT_TRUE(cancelled["output"].is_array());
  EXPECT_TRUE(engine_->tickets().front()->cancelled());
  EXPECT_EQ(post("/v1/responses/resp_nothing/cancel", "").status, 404);
}

TEST_F(Responses, AReferenceStandsForAStoredItem) {
  start();
  const Json stored = post("/v1/responses", R"({"input":"a"})").json();
  const Json reference = {{"type", "item_reference"}, {"id", stored["output"][0]["id"]}};
  const Json body = {{"input", Json::array({reference, {{"role", "user"}, {"content", "go on"}}})}};
  const Got got = post("/v1/responses", body.dump(), {{"x-anedvd-trace", "1"}});
  ASSERT_EQ(got.status, 200) << got.body;
  const Json first = got.json()["anedvd_trace"]["messages"][0];
  EXPECT_EQ(first["role"], "assistant");
  EXPECT_EQ(first["content"], stored["output"][0]["content"][0]["text"]);
  EXPECT_EQ(post("/v1/responses", R"({"input":[{"type":"item_reference","id":"msg_none"}]})").status, 404);
  EXPECT_EQ(post("/v1/responses", R"({"input":[{"type":"item_reference"}]})").status, 400);
}

TEST_F(Responses, TheirPathsGoWithoutVersionToo) {
  start();
  const std::string id = post("/responses", R"({"input":"a"})").json()["id"];
  EXPECT_EQ(get("/responses/" + id).json()["id"], id);
  EXPECT_EQ(post("/responses/input_tokens", R"({"input":"a"})").status, 200);
  EXPECT_EQ(post("/responses/" + id + "/cancel", "").status, 200);
  EXPECT_EQ(ask(request("DELETE", "/responses/" + id)).status, 200);
  EXPECT_EQ(get("/responses/" + id).status, 404);
}

TEST_F(Responses, EffortsAndMetadataAreChecked) {
  start();
  for (const char* wrong : {R"("reasoning":{"effort":"bogus"})", R"("metadata":5)", R"("parallel_tool_calls":"x")"})
    EXPECT_EQ(post("/v1/responses", fmt::format(R"({{"input":"a",{}}})", wrong)).status, 400) << wrong;
}

TEST_F(Responses, ItemsOfEveryKind) {
  start();
  const Got got = post(
      "/v1/responses",
      R"({"input":[{"role":"developer","content":"D"},{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]},)"
      R"({"type":"reasoning","id":"rs","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},)"
      R"({"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"r"}]},)"
      R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]},{"role":"system","content":"E"},{"role":"user","content":"z"}],"instructions":"I"})",
      {{"x-anedvd-trace", "1"}});
  ASSERT_EQ(got.status, 200) << got.body;
  const Json messages = got.json()["anedvd_trace"]["messages"];
  EXPECT_EQ(messages[0]["content"], "I");
  EXPECT_EQ(messages[1]["content"], "D");
  EXPECT_EQ(messages[2]["content"], "E");
  EXPECT_EQ(messages[4]["tool_calls"][0]["function"]["arguments"]["a"], 1);
  EXPECT_EQ(messages[5]["content"], "r");
}

TEST_F(Responses, WhatIsNotSupportedIsRefused) {
  start();
  struct Row {
    const char *body, *param;
    int status;
  };
  const Row rows[] = {
      {R"({})", "input", 400},
      {R"({"input":[]})", "input", 400},
      {R"({"input":"a","background":true})", "background", 400},
      {R"({"input":"a","prompt":{"id":"x"}})", "prompt", 400},
      {R"({"input":"a","conversation":"x"})", "conversation", 400},
      {R"({"input":"a","tools":[{"type":"function","name":"f"}]})", "tools", 400},
      {R"({"input":"a","text":{"format":{"type":"json_object"}}})", "text.format", 400},
      {R"({"input":"a","max_output_tokens":0})", "max_output_tokens", 400},
      {R"({"input":[{"type":"item_reference","id":"x"}]})", "input[0].id", 404},
      {R"({"input":[{"type":"new_thing"}]})", "input[0].type", 400},
      {R"({"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]})", "input[0].content[0]", 400},
  };
  for (const Row& row : rows) {
    const Got got = post("/v1/responses", row.body);
    EXPECT_EQ(got.status, row.status) << row.body << got.body;
    EXPECT_EQ(got.error()["param"], row.param) << row.body << got.body;
  }
  EXPECT_EQ(post("/v1/responses", R"({"input":"a","tools":[{"type":"web_search"}]})").status, 200);
}

TEST_F(Responses, InputTokensAreCounted) {
  start();
  const Json whole = post("/v1/responses", R"({"input":"hi","instructions":"I"})").json();
  const Json counted = post("/v1/responses/input_tokens", R"({"input":"hi","instructions":"I"})").json();
  EXPECT_EQ(counted["object"], "response.input_tokens");
  EXPECT_EQ(counted["input_tokens"], whole["usage"]["input_tokens"]);
}

TEST_F(Responses, FailureIsAnEventWithTheResponse) {
  start([](const GenerationRequest&, Ticket& ticket) {
    ticket.post(Started{3, 0});
    ticket.post(Failed{{ErrorCode::kNumeric, "logits"}});
  });
  const Got got = post("/v1/responses", R"({"input":"a","stream":true})");
  EXPECT_EQ(got.names().back(), "response.failed");
  EXPECT_EQ(got.events().back()["response"]["status"], "failed");
}

}  // namespace
}  // namespace anedvd
