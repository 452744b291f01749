// /v1/chat/completions against the conformity sheet, §3: each test carries the row that it checks.
#include "api/service_fixture.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHi = R"({"messages":[{"role":"user","content":"hi"}]})";

std::string with(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"hi"}],)" + fields + "}";
}

class OpenAiChat : public ServiceTest {};

TEST_F(OpenAiChat, ResponseHasEveryRequiredField) {
  start(Answering{.reused = 2});
  const Got got = post("/v1/chat/completions", kHi);
  ASSERT_EQ(got.status, 200) << got.body;
  const Json json = got.json();
  EXPECT_TRUE(json["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(json["object"], "chat.completion");
  EXPECT_TRUE(json["created"].is_number_integer());
  EXPECT_EQ(json["model"], "tiny");
  const Json& choice = json["choices"][0];
  EXPECT_EQ(choice["index"], 0);
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], "Hello there.");
  EXPECT_TRUE(choice["logprobs"].is_null());
  EXPECT_EQ(choice["finish_reason"], "stop");
  const int prompt = int(last().prompt.size());
  EXPECT_EQ(json["usage"]["prompt_tokens"], prompt);
  EXPECT_EQ(json["usage"]["completion_tokens"], 3);
  EXPECT_EQ(json["usage"]["total_tokens"], prompt + 3);
  EXPECT_EQ(json["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
  EXPECT_EQ(json["usage"]["prompt_tokens_dropped"], 0);
}

TEST_F(OpenAiChat, StreamBeginsWithTheRoleAndEndsWithDone) {
  start();
  const Got got = post("/v1/chat/completions", with(R"("stream":true,"stream_options":{"include_usage":true})"));
  EXPECT_EQ(got.header("Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(got.header("Cache-Control"), "no-cache, no-transform");
  EXPECT_EQ(got.header("X-Accel-Buffering"), "no");
  const auto events = got.events();
  ASSERT_EQ(events.size(), 7u) << got.body;
  EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(events[1]["choices"][0]["delta"]["content"], "Hello");
  EXPECT_EQ(events[1]["id"], events[0]["id"]);
  EXPECT_TRUE(events[1]["usage"].is_null());
  EXPECT_EQ(events[4]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(events[4]["choices"][0]["delta"], Json::object());
  EXPECT_EQ(events[5]["choices"], Json::array());
  EXPECT_EQ(events[5]["usage"]["completion_tokens"], 3);
  EXPECT_EQ(events[6], "[DONE]");
  EXPECT_EQ(got.body.find("event:"), std::string::npos);
}

TEST_F(OpenAiChat, UsageIsNotSentUnasked) {
  start();
  const auto events = post("/v1/chat/completions", with(R"("stream":true)")).events();
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    EXPECT_FALSE(events[i].contains("usage"));
    EXPECT_FALSE(events[i]["choices"].empty());
  }
}

TEST_F(OpenAiChat, StreamedTextEqualsTheWhole) {
  start(Answering{.pieces = {"<think>", "a b", " c", "</think>", "\n\n", "Done", "."}});
  const Json whole = post("/v1/chat/completions", kHi).json();
  std::string text, reasoning;
  for (const Json& event : post("/v1/chat/completions", with(R"("stream":true)")).events()) {
    if (!event.is_object() || event["choices"].empty()) continue;
    const Json& delta = event["choices"][0]["delta"];
    text += delta.value("content", "");
    reasoning += delta.value("reasoning_content", "");
  }
  EXPECT_EQ(text, "Done.");
  EXPECT_EQ(reasoning, "a b c");
  EXPECT_EQ(whole["choices"][0]["message"]["content"], text);
  EXPECT_EQ(whole["choices"][0]["message"]["reasoning_content"], reasoning);
  EXPECT_EQ(whole["choices"][0]["message"]["reasoning"], reasoning);
}

TEST_F(OpenAiChat, ChoicesOfOneRequestShareItsPromptAndSeed) {
  start();
  const Json json = post("/v1/chat/completions", with(R"("n":3,"seed":-5)")).json();
  ASSERT_EQ(json["choices"].size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(json["choices"][size_t(i)]["index"], i);
  EXPECT_EQ(json["usage"]["completion_tokens"], 9);
  EXPECT_EQ(json["usage"]["prompt_tokens"], int(last().prompt.size()));
  const auto requests = engine_->requests();
  EXPECT_EQ(requests[0].prompt, requests[2].prompt);
  EXPECT_EQ(*requests[2].sampling.seed, *requests[0].sampling.seed + 2);
}

TEST_F(OpenAiChat, StreamedChoicesEachHaveRoleAndFinish) {
  start();
  int roles = 0, finishes = 0;
  for (const Json& event : post("/v1/chat/completions", with(R"("n":2,"stream":true)")).events()) {
    if (!event.is_object()) continue;
    roles += event["choices"][0]["delta"].contains("role");
    finishes += !event["choices"][0]["finish_reason"].is_null();
  }
  EXPECT_EQ(roles, 2);
  EXPECT_EQ(finishes, 2);
}

TEST_F(OpenAiChat, LogprobsListBytesAndAnArrayEvenWhenEmpty) {
  start();
  const Json none = post("/v1/chat/completions", with(R"("logprobs":true)")).json()["choices"][0]["logprobs"];
  ASSERT_EQ(none["content"].size(), 3u);
  EXPECT_EQ(none["content"][0]["top_logprobs"], Json::array());
  EXPECT_TRUE(none["content"][0]["bytes"].is_array());
  EXPECT_TRUE(none["refusal"].is_null());
  const Json two =
      post("/v1/chat/completions", with(R"("logprobs":true,"top_logprobs":2)")).json()["choices"][0]["logprobs"];
  EXPECT_EQ(two["content"][0]["top_logprobs"].size(), 2u);
  EXPECT_EQ(last().top_logprobs, 2);
}

TEST_F(OpenAiChat, FinishReasonIsLengthWhenCut) {
  start(Answering{.reason = FinishReason::kLength});
  EXPECT_EQ(post("/v1/chat/completions", kHi).json()["choices"][0]["finish_reason"], "length");
}

TEST_F(OpenAiChat, FieldsReachTheSampler) {
  start();
  post(
      "/v1/chat/completions",
      with(
          R"("temperature":0.25,"top_p":0.5,"top_k":7,"min_p":0.1,"repetition_penalty":1.5,"repeat_last_n":9,"presence_penalty":1,)"
          R"("frequency_penalty":-1,"seed":3,"logit_bias":{"5":-100,"6":2.5,"7":100},"max_completion_tokens":4,"max_tokens":9,)"
          R"("stop":["x","","y"],"min_tokens":2,"ignore_eos":true,"cache_prompt":false)"));
  const GenerationRequest request = last();
  EXPECT_EQ(request.sampling.temperature, 0.25f);
  EXPECT_EQ(request.sampling.top_p, 0.5f);
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_EQ(request.sampling.min_p, 0.1f);
  EXPECT_EQ(request.sampling.repeat_penalty, 1.5f);
  EXPECT_EQ(request.sampling.repeat_last_n, 9);
  EXPECT_EQ(request.sampling.presence_penalty, 1);
  EXPECT_EQ(request.sampling.frequency_penalty, -1);
  EXPECT_EQ(request.sampling.seed, 3u);
  ASSERT_EQ(request.sampling.logit_bias.size(), 3u);
  EXPECT_EQ(request.sampling.logit_bias[0].second, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(request.sampling.logit_bias[1].second, 2.5f);
  EXPECT_EQ(request.sampling.logit_bias[2].second, std::numeric_limits<float>::infinity());
  EXPECT_EQ(request.max_tokens, 4);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(request.min_tokens, 2);
  EXPECT_TRUE(request.ignore_end);
  EXPECT_FALSE(request.reuse);
}

struct BadField {
  const char *fields, *param, *code;
};

TEST_F(OpenAiChat, FaultsNameTheirField) {
  start();
  const BadField rows[] = {
      {R"("temperature":-1)", "temperature", "invalid_value"},
      {R"("temperature":"warm")", "temperature", "invalid_type"},
      {R"("temperature":11)", "temperature", "invalid_value"},
      {R"("top_p":1.5)", "top_p", "invalid_value"},
      {R"("n":0)", "n", "invalid_value"},
      {R"("n":129)", "n", "invalid_value"},
      {R"("n":1.5)", "n", "invalid_type"},
      {R"("max_tokens":0)", "max_tokens", "invalid_value"},
      {R"("max_tokens":-2)", "max_tokens", "invalid_value"},
      {R"("max_tokens":1.5)", "max_tokens", "invalid_type"},
      {R"("max_tokens":"5")", "max_tokens", "invalid_type"},
      {R"("stop":5)", "stop", "invalid_type"},
      {R"("stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"])", "stop",
       "invalid_value"},
      {R"("seed":"x")", "seed", "invalid_type"},
      {R"("presence_penalty":3)", "presence_penalty", "invalid_value"},
      {R"("logit_bias":{"99999":1})", "logit_bias", "invalid_value"},
      {R"("logit_bias":{"x":1})", "logit_bias", "invalid_value"},
      {R"("logit_bias":{"5":101})", "logit_bias", "invalid_value"},
      {R"("top_logprobs":3)", "top_logprobs", "invalid_value"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs", "invalid_value"},
      {R"("logprobs":1)", "logprobs", "invalid_type"},
      {R"("stream":"yes")", "stream", "invalid_type"},
      {R"("stream_options":[])", "stream_options", "invalid_type"},
      {R"("response_format":{"type":"json_object"})", "response_format", "not_supported"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"x"}})", "response_format", "not_supported"},
      {R"("response_format":{"type":"xml"})", "response_format.type", "invalid_value"},
      {R"("tools":[{"type":"function","function":{"name":"f"}}])", "tools", "not_supported"},
      {R"("functions":[{"name":"f"}])", "functions", "not_supported"},
      {R"("tool_choice":"required")", "tool_choice", "invalid_value"},
      {R"("modalities":["text","audio"])", "modalities", "not_supported"},
      {R"("audio":{"voice":"x"})", "audio", "not_supported"},
      {R"("grammar":"root ::= x")", "grammar", "not_supported"},
      {R"("mirostat":2)", "mirostat", "not_supported"},
      {R"("reasoning_effort":"huge")", "reasoning_effort", "invalid_value"},
      {R"("truncation":"maybe")", "truncation", "invalid_value"},
      {R"("model":5)", "model", "invalid_type"},
  };
  for (const BadField& row : rows) {
    // The fault shows before the first byte, so a stream of it is no stream either.
    for (const std::string& more : {std::string(), std::string(R"(,"stream":true)")}) {
      const std::string fields = row.fields;
      if (!more.empty() && fields.find("stream") != std::string::npos) continue;
      const Got got = post("/v1/chat/completions", with(fields + more));
      EXPECT_EQ(got.status, 400) << row.fields << got.body;
      EXPECT_EQ(got.error()["param"], row.param) << row.fields << got.body;
      EXPECT_EQ(got.error()["code"], row.code) << row.fields << got.body;
      EXPECT_EQ(got.error().size(), 4u) << got.body;
    }
  }
}

TEST_F(OpenAiChat, NullIsAbsentAndUnknownFieldsAreIgnored) {
  start();
  const Got got = post(
      "/v1/chat/completions",
      with(
          R"("temperature":null,"max_tokens":null,"stop":null,"tools":[],"tool_choice":null,"seed":null,"n":null,"logit_bias":null,)"
          R"("user":"x","metadata":{"a":1},"store":true,"service_tier":"auto","prediction":{},"something_new":[1],"model":"")"));
  EXPECT_EQ(got.status, 200) << got.body;
}

TEST_F(OpenAiChat, ToolsWithChoiceNoneAreServed) {
  start();
  EXPECT_EQ(post("/v1/chat/completions",
                 with(R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none")"))
                .status,
            200);
}

TEST_F(OpenAiChat, MaxTokensMinusOneIsTheRestOfTheContext) {
  start();
  EXPECT_EQ(post("/v1/chat/completions", with(R"("max_tokens":-1)")).status, 200);
  EXPECT_EQ(last().max_tokens, -1);
  EXPECT_EQ(post("/v1/chat/completions", with(R"("max_tokens":1000000000000)")).status, 200);
}

TEST_F(OpenAiChat, UnknownModelIs404AndKnownAliasIsServedUnderItsId) {
  start();
  const Got unknown = post("/v1/chat/completions", with(R"("model":"gpt-9")"));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.error()["code"], "model_not_found");
  EXPECT_NE(unknown.error()["message"].get<std::string>().find("tiny"), std::string::npos);
  EXPECT_EQ(post("/v1/chat/completions", with(R"("model":"small")")).json()["model"], "tiny");
}

TEST_F(OpenAiChat, BodiesThatAreNoJsonObject) {
  start();
  const std::string deep(100000, '[');
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("{} x"), std::string("\xff"), "{\"a\":" + deep,
        std::string(R"({"a":1e999})"), std::string("{\"a\":\"\xff\"}")}) {
    const Got got = post("/v1/chat/completions", body);
    EXPECT_EQ(got.status, 400) << body.substr(0, 20);
    EXPECT_EQ(got.error()["code"], "invalid_json") << body.substr(0, 20);
  }
}

TEST_F(OpenAiChat, LastOfTwoEqualKeysWinsAndAByteOrderMarkIsSkipped) {
  start();
  EXPECT_EQ(post("/v1/chat/completions", "\xef\xbb\xbf" + with(R"("max_tokens":"x","max_tokens":3)")).status, 200);
  EXPECT_EQ(last().max_tokens, 3);
}

TEST_F(OpenAiChat, TooLongAPromptNamesTheNumbersClientsLookFor) {
  start();
  std::string text;
  for (int i = 0; i < 600; ++i) text += "a b ";
  const std::string body = R"({"messages":[{"role":"user","content":")" + text + R"("}],"stream":true})";
  const Got got = post("/v1/chat/completions", body);
  EXPECT_EQ(got.status, 400);
  EXPECT_EQ(got.error()["code"], "context_length_exceeded");
  EXPECT_EQ(got.error()["param"], "messages");
  EXPECT_EQ(got.error()["n_ctx"], 512);
  EXPECT_NE(got.error()["message"].get<std::string>().find("maximum context length is 512 tokens"), std::string::npos);
}

TEST_F(OpenAiChat, TruncationDropsTheOldestAndTells) {
  start();
  Json body = {{"messages", Json::array({{{"role", "system"}, {"content", "SYS"}}})}, {"truncation", "auto"}};
  for (int i = 0; i < 80; ++i)
    body["messages"].push_back({{"role", i % 2 ? "assistant" : "user"}, {"content", "turn with some words in it"}});
  body["messages"].push_back({{"role", "user"}, {"content", "the last one"}});
  const Got got = post("/v1/chat/completions", body.dump(), {{"x-anedvd-trace", "1"}});
  ASSERT_EQ(got.status, 200) << got.body;
  EXPECT_GT(got.json()["usage"]["prompt_tokens_dropped"], 0);
  EXPECT_LE(last().prompt.size(), 512u - 32u);
  const std::string prompt = got.json()["anedvd_trace"]["prompts"][0]["text"];
  EXPECT_NE(prompt.find("SYS"), std::string::npos);
  EXPECT_NE(prompt.find("the last one"), std::string::npos);
}

// The longest conversation that fits is kept: one message more would be too many.
TEST_F(OpenAiChat, TruncationDropsNoMoreThanItMust) {
  start();
  for (const char* words : {"ok", "", "turn with some more words in it than that"})
    for (const int turns : {90, 131, 1000}) {
      Json body = {{"messages", Json::array()}, {"truncation", "auto"}, {"max_tokens", 1}};
      for (int i = 0; i < turns; ++i)
        body["messages"].push_back({{"role", i % 2 ? "assistant" : "user"}, {"content", words}});
      body["messages"].push_back({{"role", "user"}, {"content", "the last one"}});
      const Got got = post("/v1/chat/completions", body.dump(), {{"x-anedvd-trace", "1"}});
      ASSERT_EQ(got.status, 200) << got.body;
      const int kept = int(last().prompt.size()), limit = 512 - 32;
      EXPECT_LE(kept, limit);
      const Json seen = got.json()["anedvd_trace"]["messages"];
      if (seen.size() < body["messages"].size()) {
        const Json& next = body["messages"][body["messages"].size() - seen.size() - 1];
        Json more = {{"messages", Json::array({next})}};
        for (const Json& message : seen) more["messages"].push_back(message);
        EXPECT_GT(post("/tokenize", more.dump()).json()["count"], limit) << words << turns;
      }
      EXPECT_EQ(seen.back()["content"], "the last one");
    }
}

TEST_F(OpenAiChat, TruncationOfAVeryLongConversationIsQuick) {
  start();
  Json body = {{"messages", Json::array()}, {"truncation", "auto"}, {"max_tokens", 1}};
  for (int i = 0; i < 30000; ++i) body["messages"].push_back({{"role", i % 2 ? "assistant" : "user"}, {"content", ""}});
  body["messages"].push_back({{"role", "user"}, {"content", "the last one"}});
  const std::string text = body.dump();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(post("/v1/chat/completions", text).status, 200);
  // Dropping one at a time took minutes; this is far from any machine's noise.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(OpenAiChat, TruncationLeavesNoToolResultWithoutItsCall) {
  start();
  Json body = {{"messages", Json::array()}, {"truncation", "auto"}, {"max_tokens", 1}};
  const std::string words(300, 'x');
  for (int i = 0; i < 40; ++i) {
    body["messages"].push_back(
        {{"role", "assistant"},
         {"content", words},
         {"tool_calls",
          Json::array({{{"id", "c"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}}})}});
    body["messages"].push_back({{"role", "tool"}, {"content", words}, {"tool_call_id", "c"}});
  }
  body["messages"].push_back({{"role", "user"}, {"content", "the last one"}});
  const Got got = post("/v1/chat/completions", body.dump(), {{"x-anedvd-trace", "1"}});
  ASSERT_EQ(got.status, 200) << got.body;
  EXPECT_NE(got.json()["anedvd_trace"]["messages"][0]["role"], "tool");
}

TEST_F(OpenAiChat, FieldsThatChangeNothingAreOfTheirTypeAllTheSame) {
  start();
  for (const char* wrong : {R"("user":5)", R"("metadata":"x")", R"("store":"x")", R"("id_slot":"x")", R"("samplers":5)",
                            R"("parallel_tool_calls":"x")", R"("function_call":{"name":"x"})",
                            R"("seed":18446744073709551615)", R"("seed":1180591620717411303424)"})
    EXPECT_EQ(post("/v1/chat/completions", with(wrong)).status, 400) << wrong;
  for (const char* right :
       {R"("user":"me")", R"("metadata":{"a":"b"})", R"("store":true)", R"("function_call":"none")",
        R"("seed":9223372036854775807)", R"("seed":-1)", R"("max_tokens":1e30)", R"("top_k":18446744073709551615)"})
    EXPECT_EQ(post("/v1/chat/completions", with(right)).status, 200) << right;
}

TEST_F(OpenAiChat, AnAnswerThatWasCutIsCountedAsFarAsItCame) {
  start([](const GenerationRequest&, Ticket& ticket) {
    ticket.post(Started{3, 0});
    for (int i = 0; i < 5; ++i) ticket.post(TextDelta{"a", {TokenRecord{40, 0, {}}}});
  });
  const auto response = begin(request("POST", "/v1/chat/completions", with(R"("stream":true)")));
  Outgoing out;
  response->advance(out);
  EXPECT_EQ(response->record().generated, 5);
  EXPECT_EQ(response->record().finish, "");
  response->shut_down();
  response->advance(out);
  EXPECT_TRUE(out.done);
  const RequestRecord record = response->record();
  EXPECT_EQ(record.generated, 5);
  EXPECT_EQ(record.note, "shutting_down");
  // It was none of the answers whose times are told.
  service_->finished(request("POST", "/v1/chat/completions", ""), 200, record, 0.5);
  EXPECT_NE(get("/metrics").body.find("anedvd:e2e_request_latency_seconds_count{model=\"tiny\"} 0"), std::string::npos);
}

TEST_F(OpenAiChat, FullQueueIs429AndBusyIs503) {
  start();
  engine_->is_full = true;
  const Got full = post("/v1/chat/completions", with(R"("stream":true)"));
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(full.error()["code"], "queue_full");
  EXPECT_EQ(full.header("Retry-After"), "1");
}

TEST_F(OpenAiChat, NoQueueModeIsOverloaded) {
  start(Answering{}, {.no_queue = true});
  engine_->is_full = true;
  const Got busy = post("/v1/chat/completions", kHi);
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.error()["code"], "engine_busy");
  EXPECT_EQ(busy.header("Retry-After"), "1");
  EXPECT_EQ(post("/v1/messages", R"({"max_tokens":5,"messages":[{"role":"user","content":"hi"}]})").status, 529);
}

TEST_F(OpenAiChat, FaultAfterTheFirstByteIsAnEventAndDone) {
  start([](const GenerationRequest&, Ticket& ticket) {
    ticket.post(Started{3, 0});
    ticket.post(TextDelta{"Hel", {}});
    ticket.post(Failed{{ErrorCode::kNumeric, "logits: not finite at layer 3"}});
  });
  const auto events = post("/v1/chat/completions", with(R"("stream":true)")).events();
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events[events.size() - 2]["error"]["type"], "server_error");
  EXPECT_EQ(events.back(), "[DONE]");
  const Got whole = post("/v1/chat/completions", kHi);
  EXPECT_EQ(whole.status, 500);
  EXPECT_EQ(whole.header("x-should-retry"), "false");
  EXPECT_EQ(whole.body.find("layer 3"), std::string::npos);
}

TEST_F(OpenAiChat, LeavingCancelsEveryChoice) {
  start([](const GenerationRequest&, Ticket& ticket) { ticket.post(Started{3, 0}); });
  auto response = begin(request("POST", "/v1/chat/completions", with(R"("n":2)")));
  Outgoing out;
  response->advance(out);
  EXPECT_FALSE(out.done);
  response.reset();
  for (const auto& ticket : engine_->tickets()) EXPECT_TRUE(ticket->cancelled());
}

TEST_F(OpenAiChat, ShutDownEndsAStreamWithItsTerminator) {
  start([](const GenerationRequest&, Ticket& ticket) { ticket.post(TextDelta{"Hel", {}}); });
  auto response = begin(request("POST", "/v1/chat/completions", with(R"("stream":true)")));
  Outgoing first;
  response->advance(first);
  response->shut_down();
  Outgoing last_one;
  response->advance(last_one);
  EXPECT_TRUE(last_one.done);
  EXPECT_NE(last_one.bytes.find("shutting_down"), std::string::npos);
  EXPECT_TRUE(last_one.bytes.ends_with("data: [DONE]\n\n"));
}

TEST_F(OpenAiChat, TraceTellsPromptIdsAndMessages) {
  start();
  const Json trace = post("/v1/chat/completions", kHi, {{"x-anedvd-trace", "1"}}).json()["anedvd_trace"];
  EXPECT_EQ(trace["prompts"][0]["ids"].size(), last().prompt.size());
  EXPECT_EQ(trace["prompts"][0]["text"], "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(trace["messages"][0]["content"], "hi");
  EXPECT_FALSE(post("/v1/chat/completions", kHi).json().contains("anedvd_trace"));
}

}  // namespace
}  // namespace anedvd
