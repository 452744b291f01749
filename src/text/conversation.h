// A conversation as the model's prompt: the one path from messages to tokens that every command and API takes.
//
//   messages → the model's own chat template → marked text → tokens
//
// Without a template of its own a model gets ChatML if its vocabulary has those tokens, else a plain transcript, and the person is told. Control
// tokens come only from the template: nothing in a message can forge a turn.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "formats/tensor_source.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace anedvd {

// The tokenizer of an opened model, whatever its container. The result borrows from the source.
Result<std::unique_ptr<Tokenizer>> make_tokenizer(const TensorSource& source);

struct ConversationInput {
  const nlohmann::ordered_json* messages = nullptr;  // array of {"role", "content", …}
  const nlohmann::ordered_json* tools = nullptr;     // array or null
  const nlohmann::ordered_json* extra = nullptr;     // further template variables, or null
  bool may_fold_system =
      true;  // where the template refuses a system turn, its text goes to the head of the first user message
  bool add_generation_prompt = true;
  bool continue_last = false;  // the last message is the assistant's beginning: the prompt ends inside it
};

class Conversation {
 public:
  // `choice`: empty (the model's own template), the path of a template file, "chatml", "plain", or a variant that the model names ("tool_use").
  // kNotFound lists what there is; kBadFile, kUnsupported: the template cannot be parsed.
  static Result<Conversation> make(const TensorSource& source, const Tokenizer& tokenizer,
                                   std::string_view choice = {});

  // The prompt's text. A template that refuses the system role gets that text at the head of the first user message instead.
  // Errors as ChatTemplate's; kUsage also when `continue_last` is asked and the template does not end with the message.
  Result<RenderedText> render(const ConversationInput& input) const;

  // Its tokens. No BOS is added: templates write it themselves.
  Result<std::vector<Token>> encode(const Tokenizer& tokenizer, const ConversationInput& input) const;

  // A plain transcript has no tokens that end a turn: there an answer ends where the model goes on with the next turn's beginning, one of these texts,
  // and begins behind a space. Empty for every other format.
  std::vector<std::string> turn_starts() const;

  // Where the template comes from: "the model's own", "chatml", "plain", a file or a variant. For --verbose and `info`.
  const std::string& origin() const { return origin_; }

 private:
  Conversation(ChatTemplate chat_template, std::string origin,
               std::vector<std::pair<std::string, std::string>> specials)
      : template_(std::move(chat_template)), origin_(std::move(origin)), special_tokens_(std::move(specials)) {}

  Result<RenderedText> render_as_is(const ConversationInput& input) const;

  ChatTemplate template_;
  std::string origin_;
  std::vector<std::pair<std::string, std::string>> special_tokens_;
};

}  // namespace anedvd
