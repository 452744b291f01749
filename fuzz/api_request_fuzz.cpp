// A request's body in each dialect: the first byte chooses which. A parser either makes a job of it or says what is wrong.
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/anthropic/messages.h"
#include "api/fields.h"
#include "api/generation/chat_prompt.h"
#include "api/openai/chat.h"
#include "api/openai/completions.h"
#include "api/openai/embeddings.h"
#include "api/openai/responses.h"

namespace {

using namespace anedvd;

// An error that a client could do nothing with would be a mistake of ours.
template <class T>
void check_error(const ApiResult<T>& result) {
  if (result) return;
  if (result.error().status < 400 || result.error().status > 499 || result.error().message.empty()) __builtin_trap();
  (void)error_json(result.error(), ApiDialect::kOpenAi, "r");
  (void)error_json(result.error(), ApiDialect::kAnthropic, "r");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto body = parse_body(text);
  check_error(body);
  if (!body) return 0;
  const RequestDefaults defaults;
  ResponseStore store(4, 1 << 16);
  switch (data[0] % 6) {
    case 0: {
      const auto job = read_chat_request(*body, defaults);
      check_error(job);
      if (!job) break;
      (void)with_neighbours_merged(with_systems_merged(*job->messages));
      break;
    }
    case 1: check_error(read_completions_request(*body, defaults)); break;
    case 2: check_error(read_messages_request(*body, defaults, false)); break;
    case 3: check_error(read_messages_request(*body, defaults, true)); break;
    case 4: check_error(read_responses_request(*body, defaults, store, false)); break;
    default: check_error(read_embeddings_request(*body)); break;
  }
  return 0;
}
