// /v1/completions and /v1/embeddings, §4 and §10 of the conformity sheet.
#include "api/openai/embeddings.h"
#include "api/service_fixture.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

class Completions : public ServiceTest {};

TEST_F(Completions, ResponseHasEveryRequiredField) {
  start();
  const Json json = post("/v1/completions", R"({"prompt":"one two"})").json();
  EXPECT_TRUE(json["id"].get<std::string>().starts_with("cmpl-"));
  EXPECT_EQ(json["object"], "text_completion");
  EXPECT_EQ(json["model"], "tiny");
  EXPECT_EQ(json["choices"][0]["text"], "Hello there.");
  EXPECT_EQ(json["choices"][0]["index"], 0);
  EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(last().max_tokens, 16);
}

TEST_F(Completions, BatchesGiveIndexPTimesNPlusJ) {
  start();
  const Json json = post("/v1/completions", R"({"prompt":["a","b",[5,6]],"n":2})").json();
  EXPECT_EQ(json["choices"].size(), 6u) << json.dump();
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(json["choices"][i]["index"], i);
  EXPECT_EQ(engine_->requests()[4].prompt, (std::vector<Token>{5, 6}));
  EXPECT_EQ(json["usage"]["completion_tokens"], 18);
}

TEST_F(Completions, PromptsOfEveryKindAreTakenAndOthersRefused) {
  start();
  EXPECT_EQ(post("/v1/completions", R"({"prompt":[1,2,3]})").status, 200);
  for (const char* prompt :
       {"[]", "[[]]", "[99999]", "[-1]", "[1.5]", "5", "[true]", "\"\"", "[\"a\",5]", "[18446744073709551615]"})
    EXPECT_EQ(post("/v1/completions", fmt::format(R"({{"prompt":{}}})", prompt)).status, 400) << prompt;
  EXPECT_EQ(post("/v1/completions", "{}").error()["code"], "missing_required_parameter");
}

TEST_F(Completions, EchoWithLogprobsScoresThePrompt) {
  start();
  const Json json = post("/v1/completions", R"({"prompt":[40,41,42],"echo":true,"logprobs":1,"max_tokens":0})").json();
  const Json& choice = json["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(json["usage"]["completion_tokens"], 0);
  const Json& logprobs = choice["logprobs"];
  ASSERT_EQ(logprobs["tokens"].size(), 3u) << json.dump();
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  EXPECT_EQ(logprobs["token_logprobs"][1], -0.5);
  EXPECT_EQ(logprobs["text_offset"][0], 0);
  EXPECT_EQ(logprobs["text_offset"].size(), 3u);
  std::string joined;
  for (const Json& token : logprobs["tokens"]) joined += token.get<std::string>();
  EXPECT_EQ(choice["text"], joined);
  EXPECT_EQ(last().prompt_logprobs, 1);
}

TEST_F(Completions, StreamedEchoComesFirst) {
  start();
  const auto events = post("/v1/completions", R"({"prompt":"one two","echo":true,"stream":true})").events();
  EXPECT_EQ(events[0]["choices"][0]["text"], "one two");
  EXPECT_EQ(events[0]["object"], "text_completion");
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(Completions, BestOfChoosesAndIsNotStreamed) {
  start();
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"a","best_of":3})").json()["choices"].size(), 1u);
  EXPECT_EQ(engine_->requests().size(), 3u);
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"a","best_of":2,"stream":true})").error()["param"], "best_of");
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"a","best_of":1,"n":2})").error()["param"], "best_of");
}

TEST_F(Completions, SuffixNeedsAModelThatLearntIt) {
  start();
  const Got got = post("/v1/completions", R"({"prompt":"a","suffix":"b"})");
  EXPECT_EQ(got.status, 400);
  EXPECT_EQ(got.error()["code"], "suffix_not_supported");
  EXPECT_EQ(post("/v1/completions", R"({"prompt":"a","suffix":null})").status, 200);
}

TEST_F(Completions, PromptsAtTheEdgeOfTheContext) {
  start();
  const auto ids = [](int count) {
    Json body = {{"prompt", Json::array()}, {"max_tokens", 4}};
    for (int i = 0; i < count; ++i) body["prompt"].push_back(40);
    return body;
  };
  EXPECT_EQ(post("/v1/completions", ids(511).dump()).status, 200);
  EXPECT_EQ(post("/v1/completions", ids(512).dump()).error()["code"], "context_length_exceeded");
  EXPECT_EQ(post("/v1/completions", ids(513).dump()).status, 400);
  Json scored = ids(512);
  scored["max_tokens"] = 0;
  EXPECT_EQ(post("/v1/completions", scored.dump()).status, 200);
  Json cut = ids(100000);
  cut["truncation"] = "auto";
  EXPECT_GT(post("/v1/completions", cut.dump()).json()["usage"]["prompt_tokens_dropped"], 99000);
}

class Embeddings : public ServiceTest {};

TEST_F(Embeddings, VectorsAreNormalisedInTheOrderOfTheInput) {
  start();
  const Json json = post("/v1/embeddings", R"({"input":["a","b"],"encoding_format":"float"})").json();
  EXPECT_EQ(json["object"], "list");
  ASSERT_EQ(json["data"].size(), 2u) << json.dump();
  EXPECT_EQ(json["data"][1]["index"], 1);
  EXPECT_EQ(json["data"][1]["object"], "embedding");
  EXPECT_FLOAT_EQ(json["data"][0]["embedding"][0].get<float>(), 0.6f);
  EXPECT_FLOAT_EQ(json["data"][0]["embedding"][1].get<float>(), 0.8f);
  EXPECT_EQ(json["usage"]["prompt_tokens"], json["usage"]["total_tokens"]);
}

TEST_F(Embeddings, Base64IsLittleEndianFloats) {
  start();
  // python3 -c "import base64,struct; print(base64.b64encode(struct.pack('<4f',.6,.8,0,0)))"
  EXPECT_EQ(post("/v1/embeddings", R"({"input":"a","encoding_format":"base64"})").json()["data"][0]["embedding"],
            "mpkZP83MTD8AAAAAAAAAAA==");
}

TEST_F(Embeddings, DimensionsCutAndNormaliseAgain) {
  start();
  const Json vector = post("/v1/embeddings", R"({"input":[5],"dimensions":1})").json()["data"][0]["embedding"];
  EXPECT_EQ(vector, Json::array({1.0}));
  EXPECT_EQ(post("/v1/embeddings", R"({"input":"a","dimensions":129})").error()["param"], "dimensions");
}

TEST_F(Embeddings, FaultyInputsAreRefused) {
  start();
  for (const char* input : {"\"\"", "[]", "[\"a\",\"\"]", "[[]]", "5", "[99999]"})
    EXPECT_EQ(post("/v1/embeddings", fmt::format(R"({{"input":{}}})", input)).error()["param"], "input") << input;
  EXPECT_EQ(post("/v1/embeddings", R"({"input":"a","encoding_format":"int8"})").status, 400);
}

}  // namespace
}  // namespace anedvd
