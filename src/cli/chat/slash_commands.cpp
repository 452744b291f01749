#include "cli/chat/slash_commands.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>

namespace anedvd {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr size_t kMaxCandidates = 200;  // names of one folder that a list on the screen is good for

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string> files_like(const std::string& typed) {
  const size_t slash = typed.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
  const std::string beginning = slash == std::string::npos ? typed : typed.substr(slash + 1);
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(with_home(folder.empty() ? "." : folder), error), end;
  for (; !error && entry != end && found.size() < kMaxCandidates; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(beginning) || (beginning.empty() && name[0] == '.')) continue;
    std::error_code ignored;
    found.push_back(folder + name + (entry->is_directory(ignored) ? "/" : ""));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

const std::vector<SlashCommand>& slash_commands() {
  static const std::vector<SlashCommand> commands = {
      {SlashKind::kHelp, "/help", "", "this list"},
      {SlashKind::kReset, "/reset", "", "forget the conversation; system prompt and settings stay"},
      {SlashKind::kRetry, "/retry", "", "another answer to the last message"},
      {SlashKind::kUndo, "/undo", "", "forget the last message and its answer"},
      {SlashKind::kEdit, "/edit", "", "change the last message in $EDITOR and send it again"},
      {SlashKind::kSystem, "/system", "[TEXT]", "what the model should be; \"\" for nothing"},
      {SlashKind::kTemp, "/temp", "[T]", "0 takes the likeliest, higher is freer"},
      {SlashKind::kTopP, "/topp", "[P]", "only the likeliest tokens that share P"},
      {SlashKind::kRepeat, "/rep", "[X]", "above 1 discourages repeats"},
      {SlashKind::kSet, "/set", "[NAME VALUE]", "any sampling flag, for example /set top-k 20"},
      {SlashKind::kShow, "/show", "", "model, context and settings"},
      {SlashKind::kCopy, "/copy", "", "the last answer to the clipboard"},
      {SlashKind::kSave, "/save", "FILE", "the chat as the page's export format"},
      {SlashKind::kLoad, "/load", "FILE", "go on with a saved or exported chat"},
      {SlashKind::kExit, "/exit", "", "leave; also /quit, /bye, Ctrl-D"},
  };
  return commands;
}

ChatLine parse_chat_line(std::string_view line) {
  if (!line.starts_with('/')) return std::string(line);
  if (line.starts_with("//")) return std::string(line.substr(1));
  const size_t end = std::min(line.find_first_of(kBlanks), line.size());
  const std::string_view name = line.substr(0, end);
  const std::string argument(trimmed(line.substr(end)));
  if (name == "/quit" || name == "/bye") return SlashCall{SlashKind::kExit, argument};
  for (const SlashCommand& command : slash_commands())
    if (command.name == name) return SlashCall{command.kind, argument};
  return UnknownSlash{std::string(name)};
}

std::string slash_help() {
  std::string out;
  for (const SlashCommand& command : slash_commands())
    out += fmt::format("{:<22}{}\n", fmt::format("{} {}", command.name, command.arguments), command.help);
  out +=
      "//text sends a text that begins with /\n"
      "Enter sends · Ctrl-J or Alt-Enter new line · \\ at the end or \"\"\" around: several lines\n"
      "Ctrl-C stops an answer, clears the line, leaves · Ctrl-R searches · Tab completes\n";
  return out;
}

Completion complete_chat_line(std::string_view before_cursor) {
  Completion completion;
  if (!before_cursor.starts_with('/') || before_cursor.starts_with("//")) return completion;
  const size_t blank = before_cursor.find_first_of(kBlanks);
  if (blank == std::string_view::npos) {
    for (const SlashCommand& command : slash_commands())
      if (command.name.starts_with(before_cursor)) completion.candidates.emplace_back(command.name);
    return completion;
  }
  const std::string_view name = before_cursor.substr(0, blank);
  if (name != "/save" && name != "/load") return completion;
  completion.from = std::min(before_cursor.find_first_not_of(kBlanks, blank), before_cursor.size());
  completion.candidates = files_like(std::string(before_cursor.substr(completion.from)));
  return completion;
}

std::string with_home(std::string path) {
  const char* home = std::getenv("HOME");
  if (home && *home && (path == "~" || path.starts_with("~/"))) path.replace(0, 1, home);
  return path;
}

}  // namespace anedvd
