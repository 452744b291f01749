// Routes, models, metrics and the tokenizer's routes: §1, §2, §8, §11 and §12 of the conformity sheet.
#include "api/service_fixture.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

class Routes : public ServiceTest {};

TEST_F(Routes, UnknownPathIs404JsonAndADoubledV1IsTold) {
  start();
  const Got unknown = get("/v1/nothing");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.error()["type"], "not_found_error");
  EXPECT_EQ(unknown.error().size(), 4u);
  EXPECT_NE(post("/v1/v1/chat/completions", "{}").error()["message"].get<std::string>().find("twice"),
            std::string::npos);
}

TEST_F(Routes, WrongMethodIs405WithAllow) {
  start();
  const Got got = get("/v1/chat/completions");
  EXPECT_EQ(got.status, 405);
  EXPECT_EQ(got.header("Allow"), "POST");
  EXPECT_EQ(got.error()["code"], "method_not_allowed");
  EXPECT_EQ(post("/v1/models", "{}").header("Allow"), "GET, HEAD");
}

TEST_F(Routes, EveryShortFormIsTheSameRoute) {
  start();
  for (const char* path : {"/health", "/healthz", "/v1/health", "/health/", "//health", "/v1/models", "/models",
                           "/v1/models/tiny", "/props", "/slots", "/metrics"})
    EXPECT_EQ(get(path).status, 200) << path;
}

TEST_F(Routes, HealthSaysOkOnceLoaded) {
  start();
  EXPECT_EQ(get("/health").json()["status"], "ok");
  EXPECT_EQ(get("/health").json()["models"]["tiny"], "loaded");
}

TEST_F(Routes, ModelsHaveBothDialectsFields) {
  start();
  const Json list = get("/v1/models").json();
  EXPECT_EQ(list["object"], "list");
  const Json& model = list["data"][0];
  EXPECT_EQ(model["id"], "tiny");
  EXPECT_EQ(model["object"], "model");
  EXPECT_TRUE(model["created"].is_number_integer());
  EXPECT_EQ(model["owned_by"], "anedvd");
  for (const char* key : {"context_length", "max_model_len", "context_window", "max_output_tokens"})
    EXPECT_EQ(model[key], 512) << key;
  EXPECT_EQ(model["meta"]["n_ctx"], 512);
  EXPECT_EQ(model["meta"]["n_vocab"], 413);
  const Json other = get("/v1/models", {{"anthropic-version", "2023-06-01"}}).json();
  EXPECT_EQ(other["has_more"], false);
  EXPECT_EQ(other["first_id"], "tiny");
  EXPECT_EQ(other["data"][0]["type"], "model");
  EXPECT_EQ(other["data"][0]["lifecycle"], "active");
  EXPECT_EQ(other["data"][0]["created_at"].get<std::string>().size(), 20u);
  EXPECT_EQ(get("/v1/models?limit=5").json()["has_more"], false);
  const Got unknown = get("/v1/models/org%2Fother:q4");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.error()["code"], "model_not_found");
}

TEST_F(Routes, KeysGuardAllButHealthAndPage) {
  start(Answering{}, {.gate = {.keys = {"k"}, .cors_origins = {}, .allowed_hosts = {}}});
  EXPECT_EQ(get("/health").status, 200);
  for (const char* path : {"/v1/models", "/metrics", "/props", "/slots", "/v1/nothing"}) {
    const Got got = get(path);
    EXPECT_EQ(got.status, 401) << path;
    EXPECT_EQ(got.header("WWW-Authenticate"), "Bearer");
    EXPECT_EQ(got.error()["code"], "invalid_api_key");
  }
  EXPECT_EQ(get("/v1/models", {{"authorization", "Bearer k"}}).status, 200);
  EXPECT_EQ(ask(request("OPTIONS", "/v1/chat/completions")).status, 204);
  EXPECT_EQ(post("/v1/messages", "{}").error()["type"], "authentication_error");
}

TEST_F(Routes, DrainingRefusesWorkAndTellsSo) {
  start();
  service_->drain();
  const Got got = post("/v1/chat/completions", "{}");
  EXPECT_EQ(got.status, 503);
  EXPECT_EQ(got.error()["code"], "shutting_down");
  EXPECT_NE(got.header("Retry-After"), "");
}

TEST_F(Routes, PropsAndSlotsTellWhatToolsRead) {
  start(Answering{}, {.parallel = 3});
  const Json props = get("/props").json();
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 512);
  EXPECT_EQ(props["total_slots"], 3);
  EXPECT_EQ(props["model_path"], "tiny-llama-q4_1.gguf");  // no folder
  EXPECT_NE(props["chat_template"].get<std::string>().find("<|im_start|>"), std::string::npos);
  EXPECT_EQ(get("/slots").json().size(), 3u);
}

TEST_F(Routes, TokenizeAndBack) {
  start();
  const Json tokens = post("/tokenize", R"({"content":"hi<|im_end|>"})").json()["tokens"];
  EXPECT_EQ(tokens.back(), 2);
  EXPECT_EQ(post("/detokenize", Json{{"tokens", tokens}}.dump()).json()["content"], "hi<|im_end|>");
  EXPECT_NE(post("/tokenize", R"({"content":"hi<|im_end|>","parse_special":false})").json()["tokens"].back(), 2);
  const Json pieces = post("/tokenize", R"({"content":"é","with_pieces":true})").json()["tokens"];
  EXPECT_TRUE(pieces[0].contains("id") && pieces[0].contains("piece"));
  const Json vllm = post("/tokenize", R"({"prompt":"hi"})").json();
  EXPECT_EQ(vllm["count"], vllm["tokens"].size());
  EXPECT_EQ(vllm["max_model_len"], 512);
  EXPECT_EQ(post("/tokenize", "{}").error()["param"], "content");
  for (const char* ids : {"[413]", "[-1]", "[1.5]", "[\"a\"]", "[18446744073709551615]", "5"})
    EXPECT_EQ(post("/detokenize", fmt::format(R"({{"tokens":{}}})", ids)).status, 400) << ids;
}

TEST_F(Routes, TheSamePromptCountsTheSameEverywhere) {
  start();
  const std::string messages =
      R"("messages":[{"role":"system","content":"S"},{"role":"user","content":"hi <|im_end|> there"}])";
  const int chat = post("/v1/chat/completions", "{" + messages + "}").json()["usage"]["prompt_tokens"];
  EXPECT_EQ(post("/tokenize", "{" + messages + "}").json()["count"], chat);
  const std::string one = R"({"system":"S","messages":[{"role":"user","content":"hi <|im_end|> there"}]})";
  EXPECT_EQ(post("/v1/messages/count_tokens", one).json()["input_tokens"], chat);
  const std::string plain = R"({"messages":[{"role":"user","content":"hi there"}]})";
  const std::string prompt = post("/apply-template", plain).json()["prompt"];
  EXPECT_EQ(prompt, "<|im_start|>user\nhi there<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(post("/tokenize", Json{{"content", prompt}}.dump()).json()["tokens"].size(),
            post("/v1/chat/completions", plain).json()["usage"]["prompt_tokens"]);
}

TEST_F(Routes, RerankIs501AndNotToBeRetried) {
  start();
  const Got got = post("/v1/rerank", "{}");
  EXPECT_EQ(got.status, 501);
  EXPECT_EQ(got.header("x-should-retry"), "false");
}

TEST_F(Routes, MetricsCountRequestsInPrometheusForm) {
  start(Answering{}, {.metric_names = MetricNames::kLlamaCpp});
  RequestRecord record;
  record.kind = "chat";
  record.model = "tiny";
  record.prompt = 5;
  record.generated = 3;
  service_->finished(request("POST", "/v1/chat/completions", ""), 200, record, 0.5);
  service_->finished(request("POST", "/v1/chat/completions", ""), 499, record, 0.5);
  service_->finished(request("GET", "/scanner/1"), 404, {}, 0);
  const Got got = get("/metrics");
  EXPECT_EQ(got.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"anedvd:requests_total{route=\"/v1/chat/completions\",code=\"200\"} 1", "anedvd:requests_cancelled_total 1",
        "anedvd:requests_total{route=\"other\",code=\"404\"} 1", "anedvd:model_loaded{model=\"tiny\"} 1",
        "# TYPE anedvd:tokens_predicted_total counter", "llamacpp:tokens_predicted_total{model=\"tiny\"}",
        "anedvd:e2e_request_latency_seconds_bucket{model=\"tiny\",le=\"+Inf\"} 1"})
    EXPECT_NE(got.body.find(line), std::string::npos) << line;
  EXPECT_EQ(got.body.find("scanner"), std::string::npos);
}

TEST_F(Routes, LogLinesHoldNoWordOfThePrompt) {
  std::vector<std::string> lines;
  ServiceOptions options;
  options.log = [&](const std::string& line) { lines.push_back(line); };
  start(Answering{}, options);
  const Request asked = request("POST", "/v1/chat/completions", R"({"messages":[{"role":"user","content":"SECRET"}]})");
  const Got got = ask(asked);
  service_->finished(asked, got.status, got.record, 0.1);
  const Request bad =
      request("POST", "/v1/chat/completions", R"({"model":"SECRET","messages":[{"role":"user","content":"SECRET"}]})");
  service_->finished(bad, 404, ask(bad).record, 0.1);
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string& line : lines) EXPECT_EQ(line.find("SECRET"), std::string::npos) << line;
  EXPECT_NE(lines[0].find("status=200"), std::string::npos);
  EXPECT_NE(lines[0].find(" new=3 "), std::string::npos) << lines[0];
}

TEST(RequestLog, TerminalLineAsPeopleReadIt) {
  LoggedRequest logged;
  logged.route = "/v1/chat/completions";
  logged.record.kind = "chat";
  logged.record.prompt = 44;
  logged.record.reused = 22;
  logged.record.generated = 8;
  logged.record.decode_s = 7.0 / 131;  // the first token came out of the prompt
  logged.record.finish = "stop";
  logged.seconds = 0.1;
  EXPECT_EQ(log_line_of(logged, LogStyle::kTerminal, 0).substr(8),
            "  200  chat        44 in (22 reused) →    8 out    131 tok/s  0.10 s  stop");
  logged.status = 499;
  EXPECT_TRUE(log_line_of(logged, LogStyle::kTerminal, 0).ends_with("client left"));
  logged.record.dropped = 1280;
  logged.record.prompt = 3840;
  EXPECT_EQ(dropped_line_of(logged, LogStyle::kTerminal, 0, 4096).substr(8),
            "  warn dropped 1,280 of 5,120 prompt tokens (context 4,096); --max-seq 5376 would keep them");
}

}  // namespace
}  // namespace anedvd
