// A chat without its input: what one line of it does, wherever the line comes from.
//
//   line ─▶ Chat::take ─┬─ command: changes log and settings, says so on stderr
//                       └─ message: asks the session, streams the answer to stdout, status on stderr
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/args.h"
#include "cli/chat/chat_log.h"
#include "cli/chat/chat_session.h"
#include "cli/chat/chat_settings.h"
#include "cli/chat/slash_commands.h"
#include "cli/terminal/console.h"

namespace anedvd {

// What a terminal adds. In a pipe all of it is absent.
struct ChatTerminal {
  std::function<bool()> interrupted;                                // Ctrl-C since the last call; asked between tokens
  std::function<void(const std::function<void()>&)> with_terminal;  // runs another program on the terminal
};

class Chat {
 public:
  // `console`, `engine` and `terminal` (null in a pipe) must outlive the chat.
  static Result<Chat> make(Engine& engine, const Args& args, const Console& console, const ChatTerminal* terminal);

  enum class Next { kGoOn, kLeave, kReaderGone };

  // A line as it was typed. In a pipe a command that fails is an error; on a terminal it is said.
  Result<Next> take_line(const std::string& line);

  // A message, whatever it begins with.
  Result<Next> take_message(const std::string& text);

  // smollm2-135m-instruct-q4_1 · cpu · context 4,096
  std::string banner() const;

 private:
  Chat(Engine& engine, const Console& console, const ChatTerminal* terminal, ChatSession session, ChatSettings settings,
       bool is_styled)
      : engine_(&engine),
        console_(&console),
        terminal_(terminal),
        session_(std::move(session)),
        settings_(std::move(settings)),
        is_styled_(is_styled) {}

  Result<Next> ask();
  Result<Next> take_command(const SlashCall& call);
  Result<> set_system(const std::string& text);
  Result<> set_value(const std::string& name, const std::string& value);
  Result<> set_pair(const std::string& argument);
  Result<> save(const std::string& path);
  Result<> load(const std::string& path);
  Result<Next> retry();
  Result<Next> edit();
  Result<> undo();
  Result<> copy();
  void reset();
  void show();
  void say(std::string_view line) const;

  Engine* engine_;
  const Console* console_;
  const ChatTerminal* terminal_;
  ChatSession session_;
  ChatSettings settings_;
  ChatLog log_;
  bool is_styled_;
  bool has_answered_ = false;  // in a pipe a blank line goes before every other answer
};

}  // namespace anedvd
