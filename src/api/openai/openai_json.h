// JSON that several of OpenAI's routes share.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/generation/generation.h"

namespace anedvd {

// {"prompt_tokens", "completion_tokens", "total_tokens", …details, "prompt_tokens_dropped"}
nlohmann::ordered_json usage_json(const Generation& generation);

// Milliseconds and rates, as llama.cpp's clients show them.
nlohmann::ordered_json timings_json(const Generation& generation);

// {"content": [{"token", "logprob", "bytes", "top_logprobs"}], "refusal": null}
nlohmann::ordered_json chat_logprobs(const Tokenizer& tokenizer, const std::vector<TokenRecord>& tokens, int top);
// One entry a token, without the object around them.
nlohmann::ordered_json logprob_entries(const Tokenizer& tokenizer, const std::vector<TokenRecord>& tokens, int top);

// "stop" or "length"; a cancelled answer has stopped.
std::string_view openai_finish(FinishReason reason);

// A token's bytes as text, U+FFFD where it is a part of a character.
std::string token_text(const Tokenizer& tokenizer, Token token);

// "anedvd-0.1.0-cpu"
std::string system_fingerprint(const Generation& generation);

// [DONE], and before it, if it was asked for, `chunk` with usage and without choices.
void append_openai_end(std::string& out, const Generation& generation, bool with_usage, nlohmann::ordered_json chunk);

// {"error": …} and [DONE]: how a stream that has begun ends badly.
void append_openai_failure(std::string& out, const ApiError& error);

}  // namespace anedvd
