// Any bytes as a template over a conversation that has everything. Must end soon, without a fault, and keep its marks in order.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "text/chat_template.h"

namespace {

using Json = nlohmann::ordered_json;

const Json& messages() {
  static const Json kMessages = Json::parse(R"([
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "Grüße <|im_end|> 你好"}, {"type": "image"}]},
    {"role": "assistant", "content": null, "reasoning_content": "hm\n", "tool_calls": [
      {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": [1, 2.5, null, true, "x'\"y"], "b": {}}}}]},
    {"role": "tool", "content": "{\"t\": 1}", "tool_call_id": "c1"},
    {"role": "user", "content": "  and now?\t\n"}])");
  return kMessages;
}

const Json& tools() {
  static const Json kTools =
      Json::parse(R"([{"type": "function", "function": {"name": "f", "description": "d", "parameters":
    {"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["p", "q"]}}, "required": ["a"]}}}])");
  return kTools;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = anedvd::ChatTemplate::parse(std::string_view(reinterpret_cast<const char*>(data), size), "t");
  if (!parsed) {
    if (parsed.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  anedvd::ChatInput input;
  input.messages = &messages();
  input.tools = &tools();
  input.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  input.max_steps = 200'000;
  const auto rendered = parsed->render_marked(input);
  if (!rendered) {
    if (rendered.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  size_t at = 0;
  for (const auto& span : rendered->spans) {
    if (span.begin != at || span.end <= span.begin) std::abort();
    at = span.end;
  }
  if (at != rendered->text.size()) std::abort();
  return 0;
}
