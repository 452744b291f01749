// What is wrong with a request, and the JSON that tells each dialect's clients so.
//
// The official clients raise an exception by the status, read message, type, code and param, and try again after 408, 409, 429 and 5xx: so a client's
// own fault is never 5xx.
#pragma once

#include <string>
#include <string_view>

#include "api/exchange.h"
#include "base/result.h"

namespace anedvd {

enum class ApiDialect { kOpenAi, kAnthropic };

struct ApiError {
  int status = 400;
  std::string type = "invalid_request_error";  // OpenAI's word; Anthropic's follows from the status
  std::string code = {};                       // empty: null
  std::string param = {};                      // empty: null
  std::string message = {};
  int retry_after = 0;                 // seconds; 0: no header
  int prompt_tokens = 0, context = 0;  // of a prompt that is too long
  std::string allow = {};              // of 405: the methods
};

template <class T = void>
using ApiResult = tl::expected<T, ApiError>;

// The error half of an ApiResult.
tl::unexpected<ApiError> refuse(ApiError error);

// 400 with the code that says which kind of fault it is.
tl::unexpected<ApiError> missing(std::string_view param);
tl::unexpected<ApiError> wrong_type(std::string_view param, std::string_view wanted);
tl::unexpected<ApiError> bad_value(std::string_view param, std::string_view what);
// A feature that this server lacks: refused rather than ignored.
tl::unexpected<ApiError> not_supported(std::string_view param, std::string_view what);

// The prompt does not fit. Clients look for these very phrases to shorten a conversation, Anthropic's in its own words.
ApiError prompt_too_long(int prompt_tokens, int context, std::string_view param);

// What the engine or a loader said. kUsage becomes 400, kBusy 429, kNoMemory and kDevice 503, the rest 500 without its words: they name files.
ApiError from_engine(const Error& error);

// The same of a request that it did not take. `no_queue`: a full engine is busy (503, Anthropic's 529), because nothing may wait.
ApiError refused_by_engine(const Error& error, bool no_queue);

// The error as JSON text (an object), and as an answer with all its headers. `request_id` is Anthropic's.
std::string error_json(const ApiError& error, ApiDialect dialect, std::string_view request_id);
Answer error_answer(const ApiError& error, ApiDialect dialect, std::string_view request_id);

// /v1/messages and what asks in that dialect's way (an anthropic-version header).
ApiDialect dialect_of(const Request& request);

}  // namespace anedvd
