#include "cli/chat/chat_log.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <unordered_set>

#include <fmt/core.h>

#include "cli/chat/cell_width.h"

namespace anedvd {
namespace {

constexpr size_t kTitleBytes = 60;  // about one row of the page's list

std::string title_of(std::string_view question) {
  question = question.substr(0, question.find('\n'));
  if (question.size() <= kTitleBytes) return std::string(question);
  size_t end = 0;
  for (size_t next = 0; (next = next_boundary(question, end)) <= kTitleBytes && next > end;) end = next;
  return std::string(question.substr(0, end)) + "…";
}

}  // namespace

ChatMessage& ChatLog::add(std::string role, std::string text, int64_t now) {
  ChatMessage message;
  message.id = new_chat_id();
  message.parent = branch.empty() ? "" : messages[branch.back()].id;
  message.role = std::move(role);
  message.text = std::move(text);
  message.created = now;
  if (title.empty() && message.role == "user") title = title_of(message.text);
  if (created == 0) created = now;
  updated = now;
  branch.push_back(messages.size());
  messages.push_back(std::move(message));
  return messages.back();
}

bool ChatLog::step_back_to_question() {
  size_t length = branch.size();
  while (length > 0 && messages[branch[length - 1]].role != "user") --length;
  if (length == 0) return false;
  branch.resize(length);
  return true;
}

bool ChatLog::step_back_before_question() {
  if (!step_back_to_question()) return false;
  branch.pop_back();
  return true;
}

bool ChatLog::forget_last_turn() {
  if (!step_back_to_question()) return false;
  std::unordered_set<std::string> gone{messages[branch.back()].id};
  branch.pop_back();
  std::vector<ChatMessage> kept;
  std::vector<size_t> moved(messages.size(), 0);
  for (size_t i = 0; i < messages.size(); ++i) {
    // Parents come first, so one pass finds every descendant.
    if (gone.count(messages[i].id) || (!messages[i].parent.empty() && gone.count(messages[i].parent))) {
      gone.insert(messages[i].id);
      continue;
    }
    moved[i] = kept.size();
    kept.push_back(std::move(messages[i]));
  }
  for (size_t& index : branch) index = moved[index];
  messages = std::move(kept);
  return true;
}

const ChatMessage* ChatLog::last_answer() const {
  for (auto it = branch.rbegin(); it != branch.rend(); ++it)
    if (messages[*it].role == "assistant") return &messages[*it];
  return nullptr;
}

std::string new_chat_id() {
  std::random_device source;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", uint32_t(source()));
  return id;
}

int64_t now_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace anedvd
