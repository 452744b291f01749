// The engine's side of a chat: a conversation in, the next answer out, and only what is new is computed.
//
//   messages ─template─▶ tokens ─▶ engine: the longest cached beginning is kept, the rest is read, the answer comes
//
// When the context is full, whole turns are left out from the front; the system prompt stays. The cut goes further than it must (to three
// quarters of the context), so that it is not needed again, with all the computing anew that it brings, at the very next turn.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/chat/chat_log.h"
#include "engine/engine.h"
#include "engine/generate.h"
#include "text/conversation.h"

namespace anedvd {

struct ChatAnswer {
  GenerateResult result;
  int context_tokens = 0;  // in the cache when the answer ended
  int dropped_tokens = 0;  // of the conversation, left out of the prompt
};

// How far the prompt has been read, in tokens. Called between steps.
struct ReadingProgress {
  int done = 0;
  int total = 0;
};

class ChatSession {
 public:
  // `template_choice` as for Conversation::make. The engine must outlive the session.
  static Result<ChatSession> make(Engine& engine, const std::string& template_choice);

  // Answers the last message of the log's branch, which is the person's. `request` holds the settings; its prompt is made here.
  // sink: as for generate(); an empty text asks whether to go on, and progress() tells how far the reading is.
  // Errors: those of the template and of generate(); kUsage when not even the last message's end fits.
  Result<ChatAnswer> answer(const ChatLog& log, GenerationRequest request, const TextSink& sink);

  ReadingProgress progress() const { return reading_; }

  // The conversation was replaced or shortened: nothing is left out any more.
  void forget_cut() { first_kept_ = 0; }

  int context_size() const { return engine_->runtime().info().max_seq; }
  const std::string& template_origin() const { return conversation_.origin(); }

 private:
  struct Message {
    std::string role, text;
  };
  struct Prompt {
    std::vector<Token> ids;
    int dropped = 0;
  };

  ChatSession(Engine& engine, Conversation conversation) : engine_(&engine), conversation_(std::move(conversation)) {}

  static std::vector<Message> messages_of(const ChatLog& log);
  Result<std::vector<Token>> encode(const std::string& system, const std::vector<Message>& messages,
                                    size_t first) const;
  Result<Prompt> prompt_of(const ChatLog& log, int max_tokens);

  Engine* engine_;
  Conversation conversation_;
  size_t first_kept_ = 0;  // messages before it are left out
  ReadingProgress reading_;
};

}  // namespace anedvd
