// The line editor: keys in, the text and what to do in return. Pure: no terminal, no file, no clock.
//
//   keys ──take()──▶ text, cursor, prompt ──▶ InputView (input_view.h) draws them
//              └───▶ EditEvent: send it, leave, complete, …
//
// A message may have many lines: a new line by Ctrl-J or Alt-Enter, by a `\` at the end, within """ … """, or pasted. What was pasted at the
// beginning is taken as it is: no mark in it means anything. Nothing typed is lost: what Ctrl-C clears can be yanked back by Ctrl-Y.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/chat/key_decoder.h"

namespace anedvd {

enum class EditEvent {
  kChanged,      // draw again
  kSubmit,       // message() is to be sent
  kInterrupt,    // Ctrl-C with nothing typed
  kEnd,          // Ctrl-D with nothing typed
  kSuspend,      // Ctrl-Z
  kQuit,         // Ctrl-\.
  kClearScreen,  // Ctrl-L
  kCandidates,   // candidates() could follow
};

// What may stand at the cursor: each candidate replaces the text from byte `from` on.
struct Completion {
  size_t from = 0;
  std::vector<std::string> candidates;
};
using Completer = std::function<Completion(std::string_view before_cursor)>;

struct EditorOptions {
  std::string prompt = "you> ";
  bool enter_is_newline = false;  // --multiline: Alt-Enter, or Ctrl-D at the end, sends
  Completer completer = {};       // may be empty
};

class LineEditor {
 public:
  // history: oldest first.
  LineEditor(EditorOptions options, std::vector<std::string> history)
      : options_(std::move(options)), history_(std::move(history)) {}

  // columns: the terminal's width, for what is above and below the cursor.
  EditEvent take(const Key& key, int columns);

  const std::string& text() const { return text_; }
  size_t cursor() const { return cursor_; }
  std::string prompt() const;
  const std::vector<std::string>& candidates() const { return candidates_; }

  // The text without the marks of a """ block.
  std::string message() const;

  // The text is one line that was typed: a `/` at its beginning means a command.
  bool may_be_command() const { return !is_literal_ && text_.find('\n') == std::string::npos; }

  // Begins a new text. `sent` joins the history, unless it is empty.
  void start(const std::string& sent = {});

  // Begins a new text that is already there.
  void start_with(std::string text);

 private:
  struct Search {
    std::string query;
    size_t index;  // of the entry shown; history size: none yet
    bool found = true;
    std::string text_before;
    size_t cursor_before;
  };

  EditEvent take_edit(const Key& key, int columns);
  EditEvent take_control(char letter, int columns);
  EditEvent take_alt(char letter);
  EditEvent take_enter();
  EditEvent take_tab();
  std::optional<EditEvent> take_search(const Key& key);
  void find_older(size_t below);
  bool is_open_block() const;
  void insert(std::string_view text);
  void erase(size_t begin, size_t end);
  void kill(size_t begin, size_t end);  // as erase(), and keeps it for Ctrl-Y; kills in a row add up
  void set(std::string text);
  void go_to_history(size_t index);
  void move_row(int rows, int columns);
  size_t line_begin() const;
  size_t line_end() const;
  size_t word_left() const;
  size_t word_right() const;
  size_t blank_word_left() const;

  EditorOptions options_;
  std::vector<std::string> history_;
  std::string text_;
  size_t cursor_ = 0;
  bool is_literal_ = false;
  size_t history_at_ = SIZE_MAX;          // SIZE_MAX: the new text, behind the last entry
  std::map<size_t, std::string> edited_;  // entries as they were changed and left
  std::string killed_;
  bool is_kill_ = false, was_kill_ = false;  // this key, the one before
  std::vector<std::string> candidates_;
  std::optional<Search> search_;
};

}  // namespace anedvd
