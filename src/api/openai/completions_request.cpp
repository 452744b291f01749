#include <limits>

#include <nlohmann/json.hpp>

#include "api/fields.h"
#include "api/openai/completions.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDefaultMaxTokens = 16;  // OpenAI's
constexpr int kMaxLogprobs = 20;
constexpr size_t kMaxPrompts = 2048;

ApiResult<Token> read_id(const Json& value, std::string_view field) {
  if (!value.is_number_integer()) return wrong_type(field, "a string, an array of strings, or token ids");
  const bool is_id = value.is_number_unsigned()
                         ? value.get<uint64_t>() <= uint64_t(std::numeric_limits<Token>::max())
                         : value.get<int64_t>() >= 0 && value.get<int64_t>() <= std::numeric_limits<Token>::max();
  if (!is_id) return bad_value(field, "an id is no token of the model");
  return value.get<Token>();
}

ApiResult<RawPrompt> read_ids(const Json& array, std::string_view field) {
  RawPrompt prompt;
  prompt.is_ids = true;
  for (const Json& value : array) {
    ANEDVD_TRY(const Token id, read_id(value, field));
    prompt.ids.push_back(id);
  }
  if (prompt.ids.empty()) return bad_value(field, "at least one token is expected");
  return prompt;
}

}  // namespace

ApiResult<std::vector<RawPrompt>> read_raw_prompts(const Json& value, std::string_view field, size_t most) {
  std::vector<RawPrompt> prompts;
  if (value.is_string()) {
    prompts.push_back({value.get<std::string>(), {}, false});
    return prompts;
  }
  if (!value.is_array()) return wrong_type(field, "a string, an array of strings, or token ids");
  if (value.empty()) return bad_value(field, "it is empty");
  if (value[0].is_number()) {
    ANEDVD_TRY(RawPrompt prompt, read_ids(value, field));
    prompts.push_back(std::move(prompt));
    return prompts;
  }
  if (value.size() > most) return bad_value(field, fmt::format("at most {} at a time", most));
  for (const Json& one : value) {
    if (one.is_string()) {
      prompts.push_back({one.get<std::string>(), {}, false});
      continue;
    }
    if (!one.is_array()) return wrong_type(field, "a string, an array of strings, or token ids");
    ANEDVD_TRY(RawPrompt prompt, read_ids(one, field));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

ApiResult<GenerationJob> read_completions_request(const Json& body, const RequestDefaults& defaults) {
  const Fields fields(body);
  GenerationJob job;
  job.kind = "complete";
  job.version = defaults.version;
  job.id_prefix = "cmpl-";
  job.split_reasoning = false;
  ANEDVD_TRY(const auto model, fields.text("model"));
  job.model = model.value_or("");
  const Json* prompt = fields.find("prompt");
  if (!prompt) return missing("prompt");
  ANEDVD_TRY(job.prompts, read_raw_prompts(*prompt, "prompt", kMaxPrompts));
  ANEDVD_TRY_VOID(read_sampling(fields, defaults, job.request));
  ANEDVD_TRY(const auto max_tokens, read_max_tokens(fields, "max_tokens", true));
  job.request.max_tokens = max_tokens.value_or(kDefaultMaxTokens);
  ANEDVD_TRY(job.request.stop, read_stop(fields, "stop", 16));
  ANEDVD_TRY(const auto stream, fields.boolean("stream"));
  job.stream = stream.value_or(false);
  ANEDVD_TRY(job.truncate, read_truncation(fields, defaults));
  ANEDVD_TRY(const auto n, fields.integer("n", 1, defaults.max_n));
  ANEDVD_TRY(const auto best_of, fields.integer("best_of", 1, defaults.max_n));
  if (best_of && *best_of < n.value_or(1)) return bad_value("best_of", "it is at least n");
  if (best_of.value_or(1) > n.value_or(1) && job.stream) return bad_value("best_of", "it cannot be streamed");
  ANEDVD_TRY(const auto suffix, fields.text("suffix"));
  job.suffix = suffix.value_or("");
  job.has_suffix = suffix.has_value() && !suffix->empty();
  ANEDVD_TRY(const auto echo, fields.boolean("echo"));
  job.echo = echo.value_or(false);
  if (job.echo && job.has_suffix) return bad_value("echo", "it does not go with suffix");
  // OpenAI's old field is a number; true is what newer clients send.
  const Json* given = fields.find("logprobs");
  if (given && given->is_boolean()) {
    job.with_logprobs = given->get<bool>();
  } else {
    ANEDVD_TRY(const auto logprobs, fields.integer("logprobs", 0, kMaxLogprobs));
    job.with_logprobs = logprobs.has_value();
    job.top_logprobs = int(logprobs.value_or(0));
  }
  CompletionsShape shape;
  shape.echo = job.echo;
  shape.n = int(n.value_or(1));
  shape.made = int(best_of.value_or(n.value_or(1)));
  job.n = shape.made;
  if (job.with_logprobs || shape.made > shape.n) job.request.top_logprobs = job.top_logprobs;
  if (job.with_logprobs && job.echo) job.request.prompt_logprobs = job.top_logprobs;
  if (shape.made > shape.n && !job.with_logprobs) job.with_logprobs = shape.rank_only = true;
  ANEDVD_TRY(const Json* options, fields.object("stream_options"));
  if (options) {
    ANEDVD_TRY(const auto usage, Fields(*options, "stream_options").boolean("include_usage"));
    shape.include_usage = usage.value_or(false);
  }
  job.shaper = [shape] { return completions_shaper(shape); };
  return job;
}

}  // namespace anedvd
