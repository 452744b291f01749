// How tokens are drawn and when an answer ends: the fields that OpenAI's dialects share, and those of other servers that clients send along.
#pragma once

#include "api/fields.h"
#include "api/models/served_model.h"
#include "engine/request.h"

namespace anedvd {

// What the server was started with; requests override it.
struct RequestDefaults {
  SamplingParams sampling;
  int max_n = 128;
  bool truncate = false;        // --on-overflow truncate
  bool split_reasoning = true;  // --reasoning-format
  std::string version;          // of the program
};

// temperature top_p top_k min_p the penalties seed logit_bias ignore_eos min_tokens cache_prompt, and the further samplers that this version lacks:
// refused unless they are set to "off".
ApiResult<> read_sampling(const Fields& fields, const RequestDefaults& defaults, GenerationRequest& request);

// stop (or the field of another name): empty strings are left out.
ApiResult<std::vector<std::string>> read_stop(const Fields& fields, std::string_view name, size_t most);

// max_tokens: −1 (or null) is "to the end of the context", 0 is refused unless `zero_allowed`.
ApiResult<std::optional<int>> read_max_tokens(const Fields& fields, std::string_view name, bool zero_allowed);

// Ids outside the vocabulary are known once the model is.
ApiResult<> check_bias(const GenerationRequest& request, const ServedModel& model);

// truncation: "auto" cuts, "disabled" refuses.
ApiResult<bool> read_truncation(const Fields& fields, const RequestDefaults& defaults);

}  // namespace anedvd
