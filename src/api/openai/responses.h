// /v1/responses: items in, items out, and conversations that the server remembers.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "api/generation/generation_job.h"
#include "api/openai/response_store.h"

namespace anedvd {

// Reads a request; `store` gives what previous_response_id names and takes the answer. 404 for an id that it lacks.
// `counts_only`: of /v1/responses/input_tokens.
ApiResult<GenerationJob> read_responses_request(const nlohmann::ordered_json& body, const RequestDefaults& defaults,
                                                ResponseStore& store, bool counts_only);

// What a response object repeats of its request, and where it is kept.
struct ResponsesShape {
  std::shared_ptr<const nlohmann::ordered_json> echo;      // instructions, temperature, tools, …
  std::shared_ptr<const nlohmann::ordered_json> messages;  // the conversation up to the answer, without instructions
  bool is_stored = true;
  ResponseStore* store = nullptr;
};
std::unique_ptr<Shaper> responses_shaper(const ResponsesShape& shape);

}  // namespace anedvd
