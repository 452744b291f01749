// /v1/completions: raw prompts, several at a time, repeated and scored when asked.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "api/generation/generation_job.h"

namespace anedvd {

ApiResult<GenerationJob> read_completions_request(const nlohmann::ordered_json& body, const RequestDefaults& defaults);

// `n` of a prompt's answers are shown of the `best_of` that were made.
struct CompletionsShape {
  bool include_usage = false;
  bool echo = false;
  int n = 1, made = 1;
  bool rank_only = false;  // log-probabilities only choose the best; they are not shown
};
std::unique_ptr<Shaper> completions_shaper(const CompletionsShape& shape);

// prompt of a text route: a string, strings, ids, or arrays of ids. `field` names it in errors; at most `most` prompts.
ApiResult<std::vector<RawPrompt>> read_raw_prompts(const nlohmann::ordered_json& value, std::string_view field,
                                                   size_t most);

}  // namespace anedvd
