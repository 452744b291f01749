#include "api/openai/openai_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "api/fields.h"
#include "text/utf8_stream.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kImpossible = -9999;  // −∞ is no JSON; OpenAI's own stand-in for "very unlikely"

double finite(float logprob) { return std::isfinite(logprob) ? double(logprob) : kImpossible; }

std::string bytes_of(const Tokenizer& tokenizer, Token token) {
  std::string bytes;
  tokenizer.append_bytes(token, bytes, true);
  return bytes;
}

Json entry(const Tokenizer& tokenizer, Token token, float logprob) {
  Json bytes = Json::array();
  for (const char c : bytes_of(tokenizer, token)) bytes.push_back(uint8_t(c));
  return {{"token", token_text(tokenizer, token)}, {"logprob", finite(logprob)}, {"bytes", std::move(bytes)}};
}

double rate(int count, double seconds) { return seconds > 0 && count > 0 ? count / seconds : 0; }

}  // namespace

std::string token_text(const Tokenizer& tokenizer, Token token) {
  Utf8Stream stream;
  std::string text = stream.push(bytes_of(tokenizer, token));
  return text + stream.finish();
}

Json usage_json(const Generation& generation) {
  const UsageTotals usage = generation.usage();
  return {{"prompt_tokens", usage.prompt},
          {"completion_tokens", usage.completion},
          {"total_tokens", usage.prompt + usage.completion},
          {"prompt_tokens_details", {{"cached_tokens", usage.reused}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", usage.reasoning},
            {"accepted_prediction_tokens", usage.accepted},
            {"rejected_prediction_tokens", usage.drafted - usage.accepted}}},
          {"prompt_tokens_dropped", usage.dropped}};
}

Json timings_json(const Generation& generation) {
  const UsageTotals usage = generation.usage();
  return {{"cache_n", usage.reused},
          {"prompt_n", usage.prompt - usage.reused},
          {"prompt_ms", usage.prefill_s * 1e3},
          {"prompt_per_second", rate(usage.prompt - usage.reused, usage.prefill_s)},
          {"predicted_n", usage.completion},
          {"predicted_ms", usage.decode_s * 1e3},
          // The first token of each answer came out of its prompt.
          {"predicted_per_second", rate(usage.completion - int(generation.choices.size()), usage.decode_s)},
          {"draft_n", usage.drafted},
          {"draft_n_accepted", usage.accepted},
          {"queue_ms", usage.queue_s * 1e3},
          {"device", generation.model->device()}};
}

Json logprob_entries(const Tokenizer& tokenizer, const std::vector<TokenRecord>& tokens, int top) {
  Json content = Json::array();
  for (const TokenRecord& token : tokens) {
    Json one = entry(tokenizer, token.token, token.logprob);
    Json others = Json::array();
    for (size_t i = 0; i < token.top.size() && int(i) < top; ++i)
      others.push_back(entry(tokenizer, token.top[i].token, token.top[i].logprob));
    one["top_logprobs"] = std::move(others);
    content.push_back(std::move(one));
  }
  return content;
}

Json chat_logprobs(const Tokenizer& tokenizer, const std::vector<TokenRecord>& tokens, int top) {
  return {{"content", logprob_entries(tokenizer, tokens, top)}, {"refusal", nullptr}};
}

std::string_view openai_finish(FinishReason reason) { return reason == FinishReason::kLength ? "length" : "stop"; }

std::string system_fingerprint(const Generation& generation) {
  return fmt::format("anedvd-{}-{}", generation.version, generation.model->device());
}

void append_openai_end(std::string& out, const Generation& generation, bool with_usage, Json chunk) {
  if (with_usage || generation.trace) {
    chunk["choices"] = Json::array();
    chunk["usage"] = usage_json(generation);
    chunk["timings"] = timings_json(generation);
    if (generation.trace) chunk["anedvd_trace"] = *generation.trace;
    append_event(out, {}, json_text(chunk));
  }
  append_event(out, {}, "[DONE]");
}

void append_openai_failure(std::string& out, const ApiError& error) {
  append_event(out, {}, error_json(error, ApiDialect::kOpenAi, {}));
  append_event(out, {}, "[DONE]");
}

}  // namespace anedvd
