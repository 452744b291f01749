// What a dialect's parser makes of a request's body, before the model is known.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/generation/generation.h"
#include "api/generation/running_requests.h"
#include "api/generation/sampling_fields.h"

namespace anedvd {

// A prompt of /v1/completions: a text, or ids as they are.
struct RawPrompt {
  std::string text;
  std::vector<Token> ids;
  bool is_ids = false;
};

struct GenerationJob {
  std::string model;  // as the client named it; empty: the default one
  std::string_view kind;
  ApiDialect dialect = ApiDialect::kOpenAi;

  // One of these: a conversation (an array), or prompts.
  std::shared_ptr<const nlohmann::ordered_json> messages;
  std::shared_ptr<const nlohmann::ordered_json> extra;  // template variables, or null
  std::vector<RawPrompt> prompts;
  std::string suffix;  // the text behind the gap to fill; prompts only
  bool has_suffix = false;
  bool echo = false;

  GenerationRequest request;  // without its prompt
  int n = 1;
  bool stream = false;
  bool truncate = false;
  bool split_reasoning = true;
  bool with_logprobs = false;
  int top_logprobs = 0;
  std::string version;
  std::string id_prefix = "chatcmpl-";
  std::string prompt_param = "messages";

  std::function<std::unique_ptr<Shaper>()> shaper;
};

// What an answer needs to know of the HTTP request that it is for.
struct JobContext {
  bool with_trace = false;
  bool no_queue = false;
  std::string request_id;
  std::shared_ptr<RunningRequests> running;
};

// Renders, tokenises, checks and submits. Takes the time that the prompt takes: not for a thread that others wait for.
ApiResult<std::unique_ptr<Response>> start_generation(std::shared_ptr<ServedModel> model, GenerationJob job,
                                                      const JobContext& context);

}  // namespace anedvd
