// What was typed in earlier chats: one JSON string a line, so that entries of many lines survive.
//
// The file belongs to its owner only (0600). Several chats may write at once: each entry is appended under a lock, and the file is put
// into order (the newest kMaxHistory entries, each once) under the same lock when a chat begins. A damaged line is skipped.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/models/environment.h"

namespace anedvd {

constexpr size_t kMaxHistory = 1000;
constexpr size_t kMaxHistoryEntry = size_t(64) << 10;  // bytes; a longer text is no line that one wants back by ↑

// The XDG state folder's anedvd/chat_history; on macOS in Application Support. Empty when there is no home.
std::filesystem::path history_path(const Environment& environment);

class HistoryFile {
 public:
  explicit HistoryFile(std::filesystem::path path) : path_(std::move(path)) {}

  // The entries, oldest first. A file that is not there is empty. Error kIo: it cannot be read or written.
  Result<std::vector<std::string>> load();

  // Not kept: an empty text, one that begins with a space, one longer than kMaxHistoryEntry. Error kIo.
  Result<> append(const std::string& entry);

 private:
  std::filesystem::path path_;
};

// The lines of a history file as entries: damaged ones left out, each text once at its last place, the newest `limit`.
std::vector<std::string> parse_history(std::string_view text, size_t limit = kMaxHistory);

}  // namespace anedvd
