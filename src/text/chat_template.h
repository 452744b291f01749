// The model's own chat template: messages to the prompt it was trained on, to the byte.
//
// Templates are Jinja, rendered as transformers does (src/text/jinja/; docs of Jinja 3.1 and of Python's str and json). Each byte of the
// result carries who wrote it: control tokens are parsed only where the template wrote, so nothing in a message can forge a turn.
//
//   <|im_start|>user⏎ hi <|im_end|>⏎        trusted | the message | trusted
//
// Trusted: text of the template, special tokens, and the usual role names (templates build <|user|> of them). All else that comes in is
// not: contents, tools, unknown roles, extra variables — and whatever was cut, joined or serialised from them.
//
// Templates come with model files and are hostile until proven otherwise: steps, depth, memory and output are bounded (jinja/budget.h).
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "text/text_span.h"

namespace anedvd {

namespace jinja {
struct Tree;
}

// What a template sees. JSON is borrowed for the call; it is ordered, since templates print dicts in the order they came.
struct ChatInput {
  const nlohmann::ordered_json* messages = nullptr;   // array of objects; null: none
  const nlohmann::ordered_json* tools = nullptr;      // null or JSON null: `tools` is none
  const nlohmann::ordered_json* documents = nullptr;  // likewise
  const nlohmann::ordered_json* extra =
      nullptr;  // object of further variables (enable_thinking …); they win over the ones here
  std::vector<std::pair<std::string, std::string>>
      special_tokens;  // {"bos_token", "<s>"} …; one that is missing is undefined
  bool add_generation_prompt = true;
  std::tm now{};           // local time, for strftime_now
  uint64_t max_steps = 0;  // 0: the usual limit, about a second (jinja/budget.h)
};

using RenderedSpan = TextSpan;

struct RenderedText {
  std::string text;
  std::vector<RenderedSpan> spans;  // cover the text in order; neighbours differ
};

class ChatTemplate {
 public:
  // Parses a template. `name` stands at the head of every error ("model.gguf: chat template"). kBadFile: not Jinja;
  // kUnsupported: Jinja that anedvd lacks.
  static Result<ChatTemplate> parse(std::string_view source, std::string_view name);

  // The prompt. Errors: `NAME: line 3, column 7: …`. kBadFile: the template itself refused (see template_refusal); kNoMemory: a limit;
  // kUnsupported: all else that went wrong in it. May be called from several threads at once.
  Result<std::string> render(const ChatInput& input) const;
  Result<RenderedText> render_marked(const ChatInput& input) const;

 private:
  ChatTemplate(std::string name, std::shared_ptr<const jinja::Tree> tree)
      : name_(std::move(name)), tree_(std::move(tree)) {}

  std::string name_;
  std::shared_ptr<const jinja::Tree> tree_;  // shared: copies of a template are the same tree
};

// The template's own words when `error` is its raise_exception, else empty.
std::string_view template_refusal(const Error& error);

}  // namespace anedvd
