// The commands of a chat, as data: names, what they take, what they do.
//
//   "/temp 0.5" → {kTemp, "0.5"}        "//usr is a folder" → a text, "/usr is a folder"        "/foo" → no command
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/chat/line_editor.h"

namespace anedvd {

enum class SlashKind {
  kHelp,
  kReset,
  kSystem,
  kTemp,
  kTopP,
  kRepeat,
  kSet,
  kShow,
  kRetry,
  kUndo,
  kEdit,
  kCopy,
  kSave,
  kLoad,
  kExit,
};

struct SlashCommand {
  SlashKind kind;
  std::string_view name;       // "/save"
  std::string_view arguments;  // "FILE"; what may be left out is in brackets
  std::string_view help;
};

// In the order of /help.
const std::vector<SlashCommand>& slash_commands();

struct SlashCall {
  SlashKind kind;
  std::string argument;  // blanks around it are gone
};
struct UnknownSlash {
  std::string name;  // "/foo"
};

// What a line means: a command, one that does not exist, or a message (std::string).
using ChatLine = std::variant<std::string, SlashCall, UnknownSlash>;
ChatLine parse_chat_line(std::string_view line);

// What /help prints.
std::string slash_help();

// Completes command names, and file names behind /save and /load. Blanks within names of files are taken as they are.
Completion complete_chat_line(std::string_view before_cursor);

// "~/x" with the home folder in place of the tilde.
std::string with_home(std::string path);

}  // namespace anedvd
