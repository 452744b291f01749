// Rows of the conformity sheet that belong to no one dialect: limits, cancelling, names of metrics, the page's address, what a stream adds.
#include "api/service_fixture.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHi = R"({"messages":[{"role":"user","content":"hi"}]})";

std::string nested(int levels, const std::string& field) {
  // The body itself is the first level.
  return R"({"messages":[{"role":"user","content":"hi"}],")" + field + "\":" + std::string(size_t(levels - 1), '[') +
         std::string(size_t(levels - 1), ']') + "}";
}

class Rows : public ServiceTest {
 protected:
  Got page(const std::string& host, bool is_v4 = true, std::vector<Header> more = {}, const std::string& target = "/") {
    more.push_back({"host", host});
    Request asked = request("GET", target, {}, std::move(more));
    asked.loopback_v4 = is_v4;
    return ask(asked);
  }
};

TEST_F(Rows, NestingOf512IsTakenAndOf513IsNot) {
  start();
  EXPECT_EQ(post("/v1/chat/completions", nested(512, "ignored")).status, 200);
  EXPECT_EQ(post("/v1/chat/completions", nested(513, "ignored")).error()["code"], "invalid_json");
  // A template would have to walk it: refused there, without harm.
  const Got got =
      post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}],"chat_template_kwargs":{"x":)" +
                                       std::string(500, '[') + std::string(500, ']') + "}}");
  EXPECT_EQ(got.status, 400) << got.body;
}

TEST_F(Rows, ProgressIsToldWhenAskedFor) {
  start([](const GenerationRequest& request, Ticket& ticket) {
    ticket.post(Started{int(request.prompt.size()), 2});
    ticket.post(Prefilled{5, 9});
    Answering{}(request, ticket);
  });
  const std::string body = R"({"messages":[{"role":"user","content":"hi"}],"stream":true)";
  const auto events = post("/v1/chat/completions", body + R"(,"return_progress":true})").events();
  EXPECT_EQ(events[1]["prompt_progress"].dump(), R"({"total":9,"cache":2,"processed":5})");
  EXPECT_EQ(events[1]["choices"][0]["delta"], Json::object());
  EXPECT_EQ(post("/v1/chat/completions", body + "}").body.find("prompt_progress"), std::string::npos);
}

TEST_F(Rows, TimingsComeWithEachTokenWhenAskedFor) {
  start();
  const std::string body = R"({"messages":[{"role":"user","content":"hi"}],"stream":true)";
  const auto timed = post("/v1/chat/completions", body + R"(,"timings_per_token":true})").events();
  const auto plain = post("/v1/chat/completions", body + "}").events();
  ASSERT_EQ(timed.size(), plain.size());
  for (size_t i = 0; i + 1 < timed.size(); ++i) {
    EXPECT_TRUE(timed[i].contains("timings")) << i;
    EXPECT_EQ(plain[i].contains("timings"), i + 2 == plain.size()) << i;  // the last chunk's
  }
}

TEST_F(Rows, SilenceIsFilledInEachDialectsWay) {
  start([](const GenerationRequest&, Ticket& ticket) { ticket.post(Started{3, 0}); });
  const auto ping = [&](const char* path, const char* body) { return begin(request("POST", path, body))->ping(); };
  EXPECT_EQ(ping("/v1/chat/completions", R"({"messages":[{"role":"user","content":"a"}],"stream":true})"),
            ": ping\n\n");
  EXPECT_EQ(ping("/v1/completions", R"({"prompt":"a","stream":true})"), ": ping\n\n");
  EXPECT_EQ(ping("/v1/responses", R"({"input":"a","stream":true})"), ": ping\n\n");
  EXPECT_EQ(ping("/v1/messages", R"({"max_tokens":5,"messages":[{"role":"user","content":"a"}],"stream":true})"),
            "event: ping\ndata: {\"type\":\"ping\"}\n\n");
}

TEST_F(Rows, AnAnswerCanBeEndedFromAnotherConnection) {
  start([](const GenerationRequest&, Ticket& ticket) { ticket.post(TextDelta{"Hel", {}}); });
  Request asked = request("POST", "/v1/chat/completions", R"({"messages":[{"role":"user","content":"a"}],"n":2})");
  asked.id = "mine/1";
  auto response = begin(asked);
  EXPECT_EQ(post("/v1/requests/mine/cancel", "").status, 404);
  const Got got = post("/v1/requests/mine%2F1/cancel", "");
  EXPECT_EQ(got.status, 200) << got.body;
  EXPECT_EQ(got.json()["status"], "cancelled");
  ASSERT_EQ(engine_->tickets().size(), 2u);
  for (const auto& ticket : engine_->tickets()) EXPECT_TRUE(ticket->cancelled());
  response.reset();
  const Got late = post("/v1/requests/mine%2F1/cancel", "");
  EXPECT_EQ(late.status, 404);
  EXPECT_EQ(late.error()["code"], "request_not_found");
}

TEST_F(Rows, ACancelledAnswerIsWhatItHadComeTo) {
  start([](const GenerationRequest&, Ticket& ticket) {
    ticket.post(TextDelta{"Hel", {}});
    Finished finished;
    finished.reason = FinishReason::kCancelled;
    ticket.post(std::move(finished));
  });
  const Json choice = post("/v1/chat/completions", kHi).json()["choices"][0];
  EXPECT_EQ(choice["message"]["content"], "Hel");
  EXPECT_EQ(choice["finish_reason"], "stop");  // one of the five legal values
}

TEST_F(Rows, ThePageOfLocalhostIsAtItsOtherName) {
  ServiceOptions options;
  options.page = "<title>x</title>";
  start(Answering{}, options);
  const Got moved = page("LocalHost:8080", true, {}, "/?a=b");
  EXPECT_EQ(moved.status, 307);
  EXPECT_EQ(moved.header("Location"), "http://127.0.0.1:8080/?a=b");
  EXPECT_EQ(page("localhost").header("Location"), "http://127.0.0.1/");
  for (const char* host : {"127.0.0.1:8080", "[::1]:8080", "localhost:80x", "localhost.evil"})
    EXPECT_NE(page(host).status, 307) << host;
  EXPECT_EQ(page("localhost:8080", false).status, 200);  // listens elsewhere: 127.0.0.1 may be another server
  EXPECT_EQ(page("localhost:8080", true, {{"x-forwarded-for", "1.2.3.4"}}).status, 200);
  Request models = request("GET", "/v1/models", {}, {{"host", "localhost:8080"}});
  models.loopback_v4 = true;
  EXPECT_EQ(ask(models).status, 200);  // the page only
}

TEST_F(Rows, ProcessingTimeIsTold) {
  start();
  Request asked = request("POST", "/v1/chat/completions", kHi);
  asked.received = std::chrono::steady_clock::now() - std::chrono::milliseconds(1500);
  const Got got = ask(asked);
  EXPECT_GE(std::stoi(got.header("openai-processing-ms")), 1500);
  EXPECT_EQ(got.header("openai-version"), "2020-10-01");
}

TEST_F(Rows, OffsetsOfCompletionsCountCharacters) {
  start();
  const Json ids = post("/tokenize", R"({"content":"aé€😀b"})").json()["tokens"];
  const Json body = {{"prompt", ids}, {"echo", true}, {"logprobs", 0}, {"max_tokens", 0}};
  const Json choice = post("/v1/completions", body.dump()).json()["choices"][0];
  EXPECT_EQ(choice["text"], "aé€😀b");
  const Json& offsets = choice["logprobs"]["text_offset"];
  ASSERT_EQ(offsets.size(), ids.size());
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets[1], 1);
  EXPECT_EQ(offsets.back(), 4);  // "b" is the fifth character, the twelfth byte
}

// A vocabulary that puts BOS before every prompt: it is no part of the text, and never put twice.
TEST_F(Rows, ABosThatWasAddedIsNoPartOfTheText) {
  start_with_bos();
  const Json body = {{"prompt", "a b"}, {"echo", true}, {"logprobs", 0}, {"max_tokens", 0}};
  const Json choice = post("/v1/completions", body.dump()).json()["choices"][0];
  EXPECT_EQ(choice["text"], "a b");
  const Json& offsets = choice["logprobs"]["text_offset"];
  ASSERT_EQ(offsets.size(), 3u) << choice.dump();
  EXPECT_EQ(offsets.dump(), "[0,0,1]");
  Json streamed = body;
  streamed["stream"] = true;
  EXPECT_EQ(post("/v1/completions", streamed.dump()).events()[0]["choices"][0]["logprobs"]["text_offset"].dump(),
            "[0,0,1]");

  const std::string bos =
      post("/detokenize", R"({"tokens":[)" + std::to_string(last().prompt.front()) + "]}").json()["content"];
  for (const char* text : {"a b", "", "x"}) {
    const Json given = {{"prompt", bos + text}}, bare = {{"prompt", text}};
    EXPECT_EQ(post("/tokenize", given.dump()).json()["tokens"], post("/tokenize", bare.dump()).json()["tokens"]);
  }
}

// A model without a chat format has no token that ends a turn: the transcript's next turn does, and clients hear of no stop string of theirs.
TEST_F(Rows, APlainTranscriptEndsBeforeTheNextTurn) {
  chat_template_ = "plain";
  Answering answering;
  answering.stop = "\n\nUser:";
  start(answering);
  const Json message =
      post("/v1/messages", R"({"max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stop_sequences":["X"]})")
          .json();
  EXPECT_EQ(message["stop_reason"], "end_turn");
  EXPECT_TRUE(message["stop_sequence"].is_null());
  const GenerationRequest asked = last();
  EXPECT_TRUE(asked.strip_first_space);
  for (const char* stop : {"X", "\n\nUser:", "\n\nSystem:"})
    EXPECT_NE(std::find(asked.stop.begin(), asked.stop.end(), stop), asked.stop.end()) << stop;
  post("/v1/chat/completions",
       R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Well"}]})");
  EXPECT_FALSE(last().strip_first_space);  // it goes on inside a message
  post("/v1/completions", R"({"prompt":"hi"})");
  EXPECT_TRUE(last().stop.empty());
}

TEST_F(Rows, OtherFormatsHaveTheirOwnEnds) {
  start();
  post("/v1/chat/completions", kHi);
  EXPECT_TRUE(last().stop.empty());
  EXPECT_FALSE(last().strip_first_space);
}

TEST_F(Rows, MetricsUnderVllmsNames) {
  ServiceOptions options;
  options.metric_names = MetricNames::kVllm;
  start(Answering{}, options);
  RequestRecord record;
  record.kind = "chat";
  record.model = "tiny";
  record.generated = 3;
  service_->finished(request("POST", "/v1/chat/completions", ""), 200, record, 0.5);
  const std::string text = get("/metrics").body;
  for (const char* line :
       {"vllm:num_requests_running{model_name=\"tiny\"} 0", "vllm:generation_tokens_total{model_name=\"tiny\"}",
        "vllm:prompt_tokens_total{model_name=\"tiny\"}", "vllm:kv_cache_usage_perc{model_name=\"tiny\"}",
        "vllm:e2e_request_latency_seconds_count{model_name=\"tiny\"} 1",
        "anedvd:requests_processing{model=\"tiny\"} 0"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  EXPECT_EQ(text.find("llamacpp:"), std::string::npos);
}

TEST(ResponseStoreBounds, TheOldestGoWhenTheBytesAreUsedUp) {
  ResponseStore store(100, 1000);
  for (const char* id : {"a", "b", "c"}) store.put({id, "{}", nullptr, {}, 400});
  EXPECT_FALSE(store.get("a"));
  EXPECT_TRUE(store.get("b") && store.get("c"));
  store.put({"large", "{}", nullptr, {}, 1001});  // alone too large: kept by nobody
  EXPECT_FALSE(store.get("large"));
  store.put({"d", "{}", nullptr, {}, 1000});
  EXPECT_TRUE(store.get("d"));
}

}  // namespace
}  // namespace anedvd
