// The engine's side of a chat: a conversation in, the next answer out, and only what is new is computed.
//
//   messages ─template─▶ tokens ─┬─ the longest beginning that the cache holds: kept
//                                └─ the rest: prefilled, then generated
//
// When the context is full, whole turns are left out from the front; the system prompt stays. The cut goes further than it must (to three
// quarters of the context), so that it is not needed again, with all the computing anew that it brings, at the very next turn.
// The one place where a chat meets Runtime.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/chat/chat_log.h"
#include "engine/generate.h"
#include "engine/runtime.h"
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
  // `template_choice` as for Conversation::make. The runtime must outlive the session.
  static Result<ChatSession> make(Runtime& runtime, const std::string& template_choice);

  // Answers the last message of the log's branch, which is the person's. `request` holds the settings; its prompt is made here.
  // sink: as for generate(); an empty text asks whether to go on, and progress() tells how far the reading is.
  // Errors: those of the template and of generate(); kUsage when not even the last message's end fits.
  Result<ChatAnswer> answer(const ChatLog& log, GenerateRequest request, const TextSink& sink);

  ReadingProgress progress() const;

  // The conversation was replaced or shortened: nothing is left out any more.
  void forget_cut() { first_kept_ = 0; }

  int context_size() const { return runtime_->info().max_seq; }
  const std::string& template_origin() const { return conversation_.origin(); }

 private:
  struct Message {
    std::string role, text;
  };
  struct Prompt {
    std::vector<Token> ids;
    int dropped = 0;
  };

  ChatSession(Runtime& runtime, const Tokenizer& tokenizer, Conversation conversation)
      : runtime_(&runtime),
        tokenizer_(&tokenizer),
        conversation_(std::move(conversation)),
        sequence_(runtime.new_sequence()) {}

  static std::vector<Message> messages_of(const ChatLog& log);
  Result<std::vector<Token>> encode(const std::string& system, const std::vector<Message>& messages,
                                    size_t first) const;
  Result<Prompt> prompt_of(const ChatLog& log, int max_tokens);
  void keep_common_prefix(const std::vector<Token>& prompt);

  Runtime* runtime_;
  const Tokenizer* tokenizer_;
  Conversation conversation_;
  std::unique_ptr<Sequence> sequence_;
  std::vector<Token> cached_;  // what the sequence holds
  size_t first_kept_ = 0;      // messages before it are left out
  ReadingProgress reading_;
};

}  // namespace anedvd
