#include "cli/chat/chat_words.h"

#include "base/words.h"

namespace anedvd {

std::string status_line(const ChatAnswer& answer, int context) {
  const GenerateResult& result = answer.result;
  const auto count = int64_t(result.ids.size());
  std::string line = "[" + count_words(count, "token");
  if (count > 0) line += fmt::format(", {} tok/s", three_digits(result.decode_rate()));
  line +=
      fmt::format(", {}", result.finish == FinishReason::kCancelled ? "stopped" : finish_reason_name(result.finish));
  line += fmt::format(", context {}/{}", answer.context_tokens, context);
  if (result.reused_tokens > 0) line += fmt::format(", {} reused", with_commas(result.reused_tokens));
  if (answer.dropped_tokens > 0) line += fmt::format(", dropped {} old tokens", with_commas(answer.dropped_tokens));
  return line + "]";
}

std::string reading_line(const ReadingProgress& progress) {
  return fmt::format("reading {}/{} tokens", with_commas(progress.done), with_commas(progress.total));
}

}  // namespace anedvd
