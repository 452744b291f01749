#include "cli/chat/chat_session.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/commands/run_session.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRoomShare = 16;  // an answer needs room: a sixteenth of the context at least, as `run` has it

}  // namespace

Result<ChatSession> ChatSession::make(Engine& engine, const std::string& template_choice) {
  ANEDVD_TRY(Conversation conversation,
             Conversation::make(engine.runtime().source(), engine.tokenizer(), template_choice));
  return ChatSession(engine, std::move(conversation));
}

// A question that was stopped before a word of its answer came is not asked again: a template that wants turns to alternate would refuse.
std::vector<ChatSession::Message> ChatSession::messages_of(const ChatLog& log) {
  std::vector<Message> messages;
  for (const size_t index : log.branch) {
    const ChatMessage& message = log.messages[index];
    if (message.role == "assistant" && message.text.empty()) {
      if (!messages.empty() && messages.back().role == "user") messages.pop_back();
      continue;
    }
    messages.push_back({message.role, message.text});
  }
  return messages;
}

Result<std::vector<Token>> ChatSession::encode(const std::string& system, const std::vector<Message>& messages,
                                               size_t first) const {
  Json list = Json::array();
  if (!system.empty()) list.push_back({{"role", "system"}, {"content", system}});
  for (size_t i = first; i < messages.size(); ++i)
    list.push_back({{"role", messages[i].role}, {"content", messages[i].text}});
  ConversationInput input;
  input.messages = &list;
  return conversation_.encode(engine_->tokenizer(), input);
}

Result<ChatSession::Prompt> ChatSession::prompt_of(const ChatLog& log, int max_tokens) {
  std::vector<Message> messages = messages_of(log);
  ANEDVD_CHECK(!messages.empty() && messages.back().role == "user", "a chat that does not end with a question");
  ANEDVD_TRY(std::vector<Token> ids, encode(log.system, messages, 0));
  const size_t before = ids.size();
  const int context = context_size();
  const int room = std::max(1, max_tokens < 0 ? context / kRoomShare : std::min(max_tokens, context / kRoomShare));
  const auto limit = size_t(std::max(1, context - room));

  std::vector<size_t> questions;  // where the kept part may begin
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role == "user") questions.push_back(i);
  first_kept_ = std::min(first_kept_, messages.size() - 1);
  if (first_kept_ > 0) {
    ANEDVD_TRY(ids, encode(log.system, messages, first_kept_));
  }
  if (ids.size() > limit) {
    // The first beginning from which the rest fits, by halving: each step renders the conversation.
    const auto target = std::min(limit, size_t(context) * 3 / 4);
    auto low = size_t(std::lower_bound(questions.begin(), questions.end(), first_kept_) - questions.begin());
    size_t high = questions.size() - 1;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      ANEDVD_TRY(ids, encode(log.system, messages, questions[middle]));
      if (ids.size() > target)
        low = middle + 1;
      else
        high = middle;
    }
    first_kept_ = questions[low];
    ANEDVD_TRY(ids, encode(log.system, messages, first_kept_));
  }
  // The last message alone is too long: its own beginning goes.
  std::string& question = messages.back().text;
  while (ids.size() > limit) {
    if (question.empty())
      return fail(ErrorCode::kUsage,
                  "--max-seq {}: the system prompt and the chat format alone take {} tokens; use more", context,
                  with_commas(int64_t(ids.size())));
    question = without_oldest(engine_->tokenizer(), question, ids.size() - limit);
    ANEDVD_TRY(ids, encode(log.system, messages, first_kept_));
  }
  if (ids.empty()) return fail(ErrorCode::kUsage, "message: no token in it; give some text");
  const int dropped = int(before - std::min(before, ids.size()));
  return Prompt{std::move(ids), dropped};
}

Result<ChatAnswer> ChatSession::answer(const ChatLog& log, GenerationRequest request, const TextSink& sink) {
  ANEDVD_TRY(Prompt prompt, prompt_of(log, request.max_tokens));
  reading_ = {0, int(prompt.ids.size())};
  request.prompt = std::move(prompt.ids);
  request.from_template = true;
  follow_format(conversation_, request);
  ANEDVD_TRY(GenerateResult result,
             generate(*engine_, std::move(request), sink, [this](int done) { reading_.done = done; }));
  reading_.done = reading_.total;
  const int context = result.prompt_tokens + int(result.ids.size());
  return ChatAnswer{std::move(result), context, prompt.dropped};
}

}  // namespace anedvd
