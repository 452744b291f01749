// /v1/messages: Anthropic's dialect.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "api/generation/generation_job.h"

namespace anedvd {

// system and messages as chat templates take them: blocks become text, tool uses and results the calls and messages that templates know.
ApiResult<nlohmann::ordered_json> read_anthropic_messages(const nlohmann::ordered_json& body);

// `counts_only`: of /v1/messages/count_tokens, which needs no max_tokens.
ApiResult<GenerationJob> read_messages_request(const nlohmann::ordered_json& body, const RequestDefaults& defaults,
                                               bool counts_only);

// `model`: the name that the client asked for, which the answer repeats.
std::unique_ptr<Shaper> messages_shaper(std::string model, std::string request_id);

}  // namespace anedvd
