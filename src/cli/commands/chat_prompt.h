// A prompt as the model's chat format wants it, in three parts so that a long one can be cut where it hurts least.
//
//   head  <|im_start|>system⏎…<|im_end|>⏎<|im_start|>user⏎     kept
//   body  what the person wrote                                cut from its front when the context is too small
//   tail  <|im_end|>⏎<|im_start|>assistant⏎                    kept
//
// The format is ChatML. What the person wrote is always encoded as text, so it cannot make control tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace anedvd {

struct PromptParts {
  std::vector<Token> head, body, tail;

  size_t size() const { return head.size() + body.size() + tail.size(); }
  std::vector<Token> joined() const;
};

// One question. nullopt: the vocabulary lacks ChatML's tokens.
std::optional<PromptParts> chatml_prompt(const Tokenizer& tokenizer, std::string_view system, std::string_view user);

// Raw completion: BOS where the model wants it, then the text, whose control tokens count as such.
PromptParts raw_prompt(const Tokenizer& tokenizer, std::string_view text);

// Drops the oldest tokens of the body so that `room` tokens are left of a context of `max_seq`. Returns how many went.
size_t shorten(PromptParts& parts, int max_seq, int room);

}  // namespace anedvd
