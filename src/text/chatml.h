// The ChatML prompt, for models whose turns are written as
//
//   <|im_start|>ROLE⏎CONTENT<|im_end|>⏎      and for the answer   <|im_start|>assistant⏎
//
// Built from tokens: the marks are looked up in the vocabulary, while role and content are encoded as text, so nothing that a message
// holds can become a control token. The tokens are those of the rendered template, since a control token ends every run of text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace anedvd {

struct ChatmlMessage {
  std::string role;  // "system", "user", "assistant", …: as written in the prompt
  std::string content;
};

struct ChatmlOptions {
  // Put first as the system turn when the messages do not begin with one.
  std::optional<std::string> default_system;
  bool generation_prompt = true;  // end with the start of the assistant's turn
};

// True if a chat template writes ChatML turns.
bool is_chatml(std::string_view chat_template);

// The system text that a ChatML template writes when the conversation has none: its first literal
// `<|im_start|>system⏎TEXT<|im_end|>` without template code inside (SmolLM2, Qwen2, Qwen2.5). nullopt: it writes none.
std::optional<std::string> chatml_default_system(std::string_view chat_template);

// The prompt's tokens, with BOS first if the tokenizer adds one. kUnsupported: the vocabulary lacks <|im_start|> or <|im_end|>.
Result<std::vector<Token>> chatml_prompt(const Tokenizer& tokenizer, std::span<const ChatmlMessage> messages,
                                         const ChatmlOptions& options);

}  // namespace anedvd
