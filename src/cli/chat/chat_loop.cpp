#include "cli/chat/chat_loop.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <unistd.h>

#include "base/log.h"
#include "base/words.h"
#include "cli/chat/cell_width.h"
#include "cli/chat/chat.h"
#include "cli/chat/history_file.h"
#include "cli/chat/raw_terminal.h"
#include "cli/commands/run_session.h"
#include "cli/engine_options.h"
#include "cli/terminal/input.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

// The editor needs keys from a terminal and a terminal that obeys escapes.
bool has_editor_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0 && term && std::strcmp(term, "dumb") != 0;
}

// The history as far as it can be had: a chat goes on without.
class History {
 public:
  explicit History(bool is_wanted) {
    const auto path = is_wanted ? history_path(process_environment()) : std::filesystem::path();
    if (path.empty()) return;
    file_.emplace(path);
    if (auto entries = file_->load())
      entries_ = std::move(*entries);
    else
      give_up(entries.error());
  }

  const std::vector<std::string>& entries() const { return entries_; }

  void append(const std::string& text) {
    if (!file_) return;
    if (const auto result = file_->append(text); !result) give_up(result.error());
  }

 private:
  void give_up(const Error& error) {
    warn("{}", error.message);
    file_.reset();
  }

  std::optional<HistoryFile> file_;
  std::vector<std::string> entries_;
};

// The prompt on a terminal.
class Screen {
 public:
  Screen(RawTerminal& terminal, History& history, bool is_multiline)
      : terminal_(terminal),
        history_(history),
        editor_({.enter_is_newline = is_multiline, .completer = complete_chat_line}, history.entries()) {}

  struct Line {
    std::string text;
    bool may_be_command = false;
    std::optional<ExitCode> leaves;
  };

  // The next message, or how to leave.
  Line read() {
    draw();
    for (;;) {
      Key key;
      const RawTerminal::Wake wake = terminal_.wait(key);
      if (wake == RawTerminal::Wake::kEnd) return leave(kDone);
      if (wake == RawTerminal::Wake::kResized) {
        if (const auto row = terminal_.cursor_row()) view_.resized(*row, RawTerminal::size());
        draw();
        continue;
      }
      switch (editor_.take(key, RawTerminal::size().columns)) {
        case EditEvent::kChanged:
          if (!terminal_.has_key()) draw();
          break;
        case EditEvent::kSubmit:
          if (auto line = submit()) return std::move(*line);
          break;
        case EditEvent::kInterrupt: return leave(kInterrupted);
        case EditEvent::kEnd: return leave(kDone);
        case EditEvent::kSuspend: pause([&] { terminal_.suspend(); }); break;
        case EditEvent::kQuit: pause([&] { terminal_.quit(); }); break;
        case EditEvent::kClearScreen:
          write("\x1b[H\x1b[2J");
          view_.forget();
          draw();
          break;
        case EditEvent::kCandidates: show_candidates(); break;
      }
    }
  }

 private:
  void write(const std::string& text) { (void)write_all(STDERR_FILENO, text); }
  void draw() { write(view_.draw(editor_.prompt(), editor_.text(), editor_.cursor(), RawTerminal::size())); }
  void close_line() { write(view_.finish(editor_.prompt(), editor_.text(), RawTerminal::size())); }

  Line leave(ExitCode code) {
    close_line();
    return {{}, false, code};
  }

  // Nothing is sent when there is nothing to send.
  std::optional<Line> submit() {
    const std::string message = editor_.message();
    if (message.find_first_not_of(" \t\n") == std::string::npos) {
      close_line();
      editor_.start();
      draw();
      return std::nullopt;
    }
    Line line{message, editor_.may_be_command(), std::nullopt};
    close_line();
    history_.append(editor_.text());
    editor_.start(editor_.text());
    return line;
  }

  template <class Function>
  void pause(Function&& function) {
    close_line();
    function();
    draw();
  }

  void show_candidates() {
    close_line();
    std::string list;
    for (const std::string& candidate : editor_.candidates())
      list += visible(candidate) + (&candidate == &editor_.candidates().back() ? "\n" : "  ");
    write(list);
    draw();
  }

  RawTerminal& terminal_;
  History& history_;
  LineEditor editor_;
  InputView view_;
};

// Stepped by whoever waits for the answer.
Result<std::unique_ptr<Engine>> load_engine(const Args& args, const std::string& model, const RuntimeOptions& options) {
  ANEDVD_TRY(EngineOptions engine, engine_options_of(args, options));
  engine.manual = true;
  ANEDVD_TRY(auto runtime, load_runtime(model, options));
  return Engine::start(std::move(runtime), engine);
}

Result<ExitCode> talk(const Args& args, const Console& console, const std::string& model,
                      const RuntimeOptions& options) {
  // From the first moment on: what is typed while the model loads is not echoed, but waits for the prompt.
  ANEDVD_TRY(RawTerminal terminal, RawTerminal::open());
  ANEDVD_TRY(const auto engine, load_engine(args, model, options));
  const ChatTerminal hooks{.interrupted = [&] { return terminal.interrupted(); },
                           .with_terminal =
                               [&](const std::function<void()>& work) {
                                 terminal.release();
                                 work();
                                 terminal.resume();
                               }};
  ANEDVD_TRY(Chat chat, Chat::make(*engine, args, console, &hooks));
  console.note(chat.banner());
  console.note("ready. /help for commands, /exit to quit.");
  History history(!args.given("--no-history"));
  terminal.take_keys();
  Screen screen(terminal, history, args.given("--multiline"));
  for (;;) {
    const Screen::Line line = screen.read();
    if (line.leaves) return *line.leaves;
    ANEDVD_TRY(const Chat::Next next, line.may_be_command ? chat.take_line(line.text) : chat.take_message(line.text));
    if (next != Chat::Next::kGoOn) return kDone;
  }
}

// Without the editor: a pipe or a file, or a terminal that cannot move its cursor.
Result<ExitCode> read_lines(const Args& args, const Console& console, const std::string& model,
                            const RuntimeOptions& options) {
  const bool has_person = isatty(STDIN_FILENO) != 0 && console.err_is_terminal;
  ANEDVD_TRY(const auto engine, load_engine(args, model, options));
  ANEDVD_TRY(Chat chat, Chat::make(*engine, args, console, nullptr));
  if (args.given("--multiline")) {
    ANEDVD_TRY(std::string text, read_input("-"));
    text = pasted_text(text);
    if (text.ends_with('\n')) text.pop_back();
    ANEDVD_TRY_VOID(chat.take_message(text));
    return kDone;
  }
  if (has_person) console.note(chat.banner());
  LineReader lines(STDIN_FILENO);
  for (;;) {
    if (has_person) (void)write_all(STDERR_FILENO, "you> ");
    ANEDVD_TRY(const auto line, lines.next());
    if (!line) return kDone;
    std::string text = pasted_text(*line);
    if (text.ends_with('\n')) text.pop_back();  // the CR of a file with CR LF
    ANEDVD_TRY(const Chat::Next next, chat.take_line(text));
    if (next != Chat::Next::kGoOn) return kDone;
  }
}

}  // namespace

Result<ExitCode> run_chat(const Args& args, const std::string& model, bool exact) {
  const Console console = Console::from(args);
  ANEDVD_TRY(RuntimeOptions options, runtime_options_of(args));
  options.exact = options.exact || exact;
  if (exact) options.device = {};
  if (has_editor_terminal()) return talk(args, console, model, options);
  return read_lines(args, console, model, options);
}

}  // namespace anedvd
