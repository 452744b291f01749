// Chats as a file: the format that the page exports and imports, so that a chat moves between terminal and page.
//
//   {"format": "anedvd-chats", "version": 1, "exported": "…", "app": "anedvd 0.1.0", "conversations": [
//     {"id", "title", "titled", "created", "updated", "model", "system", "leaf", "pinned", "settings": {…},
//      "messages": [{"id", "parent", "role", "text", "reasoning", "state", "created", "model", "finish", "usage"}]}], "settings": {}}
//
// Read are this and {"messages": [{"role", "content"}]}. A file from outside is hostile: size and depth are bounded, ids that are missing or
// given twice are made anew, parents that are missing or run in a circle end the branch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/chat/chat_log.h"

namespace anedvd {

constexpr size_t kMaxChatFileBytes = size_t(64) << 20;  // the page's own limit
constexpr int kChatFileVersion = 1;

// The file's text, with a newline at its end. now: milliseconds since 1970.
std::string export_chat(const ChatLog& log, int64_t now);

struct ChatImport {
  std::vector<ChatLog> chats;         // those that could be read, in the file's order; each has a message
  std::vector<std::string> problems;  // one sentence for each that could not: "chat 2: message 4 has no text"
  std::string format;                 // "anedvd-chats", or "" for a bare {"messages": […]}
};

// `where` names the file in errors (kBadFile): not JSON, no chat in it, a later version, too large.
Result<ChatImport> import_chats(std::string_view text, std::string_view where);

}  // namespace anedvd
