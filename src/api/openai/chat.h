// /v1/chat/completions: what a request asks, and how its answers look.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "api/fields.h"
#include "api/generation/generation.h"
#include "api/generation/generation_job.h"

namespace anedvd {

// The messages as chat templates take them: content as one text, developer as system, old function calls as tool calls. Errors name the place:
// messages[2].content.
ApiResult<nlohmann::ordered_json> read_messages(const Fields& fields);

// Variables for the template: chat_template_kwargs, and what a reasoning effort means to it. Null when there are none.
ApiResult<std::shared_ptr<const nlohmann::ordered_json>> read_template_extra(const Fields& fields,
                                                                             std::optional<std::string> effort);

// A reasoning effort by one of its names.
ApiResult<std::optional<std::string>> read_effort(const Fields& fields, std::string_view name);

// Everything of a request's body.
ApiResult<GenerationJob> read_chat_request(const nlohmann::ordered_json& body, const RequestDefaults& defaults);

struct ChatShape {
  bool include_usage = false;    // in the stream
  bool return_progress = false;  // of reading the prompt
  bool timings_per_token = false;
};
std::unique_ptr<Shaper> chat_shaper(const ChatShape& shape);

}  // namespace anedvd
