// A conversation: messages as a tree, of which one branch is shown.
//
//   question ─┬─ answer                         /retry and /edit add a sibling; what was there before stays in a saved file,
//             └─ other answer ◀─ leaf           where the page shows it as an earlier version
//
// A value: no terminal, no model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anedvd {

struct ChatMessage {
  std::string id, parent;  // parent "": the first message
  std::string role;        // "user", "assistant"
  std::string text;
  std::string reasoning;           // as the page keeps it; not sent to the model
  std::string state = "complete";  // or "stopped", "length", "interrupted", "error"
  std::string finish;              // of an answer: "stop", "length", "cancelled"
  std::string model;
  int64_t created = 0;                               // milliseconds since 1970
  int64_t prompt_tokens = 0, completion_tokens = 0;  // of an answer; 0 when not known
};

struct ChatLog {
  std::string id, title, model, system;
  bool is_titled_by_user = false, is_pinned = false;
  int64_t created = 0, updated = 0;
  std::vector<ChatMessage> messages;  // parents before children
  std::vector<size_t> branch;         // the messages that are shown, from the first to the leaf
  std::string settings = "{}";        // sampling settings of its own, a JSON object by the HTTP API's names

  const ChatMessage* last() const { return branch.empty() ? nullptr : &messages[branch.back()]; }

  // Adds a message behind the leaf, which it becomes. A chat without a title takes the first question's beginning.
  ChatMessage& add(std::string role, std::string text, int64_t now);

  // The leaf goes back to before the last answer, or to before the last question. Nothing is deleted. False: there is none.
  bool step_back_to_question();
  bool step_back_before_question();

  // Deletes the last question with all answers to it and everything behind them. False: there is none.
  bool forget_last_turn();

  // The answer that was shown last, or nullptr.
  const ChatMessage* last_answer() const;
};

// 32 hexadecimal digits from the system's random source.
std::string new_chat_id();

// Milliseconds since 1970.
int64_t now_ms();

}  // namespace anedvd
