// From messages to a prompt that the model's template accepts and the context holds.
//
// Agents send system messages anywhere, several in a row, and two user messages after each other; many templates refuse that by raising. So a
// refused conversation is tried again: leading system messages joined and later ones moved into the next user turn, then neighbours of one role joined.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/api_error.h"
#include "api/models/served_model.h"

namespace anedvd {

struct ChatPromptInput {
  const nlohmann::ordered_json* messages =
      nullptr;  // as templates take them; the last one an assistant's: it is continued
  const nlohmann::ordered_json* tools = nullptr;  // or null
  const nlohmann::ordered_json* extra = nullptr;  // further template variables, or null
  bool add_generation_prompt = true;
  bool truncate = false;  // drop the oldest messages when they do not fit, instead of refusing
  int max_tokens = -1;    // of the answer: room that truncation keeps free
  std::string param = "messages";
};

struct ChatPrompt {
  std::string text;
  std::vector<Token> ids;
  int dropped = 0;       // tokens
  std::string messages;  // as JSON: what the template saw
};

// Errors: template_error (with the template's own words), context_length_exceeded.
ApiResult<ChatPrompt> make_chat_prompt(const ServedModel& model, const ChatPromptInput& input);

// The same without asking whether it fits: for counting.
ApiResult<ChatPrompt> render_chat(const ServedModel& model, const ChatPromptInput& input);

// Tokens of a text prompt, with BOS where the model wants one.
std::vector<Token> encode_raw(const Tokenizer& tokenizer, std::string_view text);

// Refuses a prompt that does not leave room for one token of answer (`needs_room` 1) or does not fit at all (0).
ApiResult<> check_fits(const ServedModel& model, size_t tokens, int needs_room, std::string_view param);

// The conversation with system messages where strict templates want them (see above); for tests.
nlohmann::ordered_json with_systems_merged(const nlohmann::ordered_json& messages);
nlohmann::ordered_json with_neighbours_merged(const nlohmann::ordered_json& messages);

}  // namespace anedvd
