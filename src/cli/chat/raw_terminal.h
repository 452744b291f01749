// The terminal while a chat runs: keys come at once and without echo, and whatever ends the program, the terminal is left as it was.
//
// Input is read from standard input, the line is drawn on standard error. One at a time in a process: signal handlers need to find it.
// While it lives, Ctrl-C is a key; a SIGINT from elsewhere counts as that key. SIGTERM, SIGHUP, SIGQUIT and crashes restore the terminal
// first.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/result.h"
#include "cli/chat/input_view.h"
#include "cli/chat/key_decoder.h"

namespace anedvd {

class RawTerminal {
 public:
  // Takes the terminal over: no echo, no lines. Ctrl-C still interrupts the process until take_keys(). Error kIo: no terminal.
  static Result<RawTerminal> open();

  RawTerminal(RawTerminal&& other) noexcept;
  RawTerminal& operator=(RawTerminal&&) = delete;
  ~RawTerminal();

  // From here on every key comes to next_key(), and the terminal marks pastes.
  void take_keys();

  enum class Wake { kKey, kResized, kEnd };

  // Waits for a key, a change of size or the end of input. The key of kKey is in `key`.
  Wake wait(Key& key);

  // A key is there already: what the last one did need not be drawn yet.
  bool has_key();

  // The row that the cursor stands in, from 0. nullopt: the terminal does not answer within kReportMs. Other keys stay in the queue.
  std::optional<int> cursor_row();

  // For the time of an answer: takes in what was typed without waiting. What it is not asked for stays in the queue for wait().
  // Returns true when Ctrl-C was among it (what was typed before that is dropped, as a terminal does).
  bool interrupted();

  // Gives the terminal back, stops the program like Ctrl-Z, and takes it over again.
  void suspend();

  // For a program that runs in between (the editor of /edit).
  void release();
  void resume();

  // Ctrl-\.
  void quit();

  static ScreenSize size();

 private:
  RawTerminal() = default;
  void read_keys(int timeout_ms);
  void read_earlier_keys();

  bool is_owner_ = false;
  bool is_at_end_ = false;
  KeyDecoder decoder_;
  std::deque<Key> keys_;
};

}  // namespace anedvd
