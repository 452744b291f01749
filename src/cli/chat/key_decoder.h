// Bytes of a terminal in, keys out. Pure: no descriptor, no clock.
//
//   "a" → text        "\x1b[D" → left        "\x1b[200~ … \x1b[201~" → one paste        "\x1b" and then nothing → flush() → Escape
//
// Bytes may come cut anywhere. What a terminal should not send (endless sequences, broken UTF-8, strange finals) is dropped or becomes
// U+FFFD; memory is bounded by kMaxPasteBytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/utf8_stream.h"

namespace anedvd {

enum class KeyKind {
  kText,     // `text` is one character or a few
  kPaste,    // `text` is all that was pasted, newlines as \n
  kControl,  // Ctrl and `letter`: 'a' to 'z', '@', '\\', ']', '^', '_'
  kAlt,      // Alt and `letter`, a printable ASCII character
  kEnter,
  kNewline,  // Ctrl-J, Alt-Enter, and Shift-Enter where the terminal tells it apart
  kTab,
  kBackspace,
  kAltBackspace,
  kDelete,
  kLeft,
  kRight,
  kWordLeft,
  kWordRight,
  kUp,
  kDown,
  kHome,
  kEnd,
  kEscape,
  kCursorReport,  // the answer to a question for the cursor's place: `row` from 1
};

struct Key {
  KeyKind kind = KeyKind::kText;
  std::string text = {};
  char letter = 0;
  int row = 0;

  bool is_control(char wanted) const { return kind == KeyKind::kControl && letter == wanted; }
  bool operator==(const Key&) const = default;
};

constexpr size_t kMaxPasteBytes = size_t(64) << 20;  // what is pasted beyond it is dropped: no context holds as much

class KeyDecoder {
 public:
  // Appends the keys that `bytes` complete.
  void push(std::string_view bytes, std::vector<Key>& keys);

  // An escape sequence has begun: if nothing follows soon, it was the Escape key itself.
  bool is_waiting() const { return state_ == State::kEscape || state_ == State::kSequence || state_ == State::kShift3; }

  // Nothing followed.
  void flush(std::vector<Key>& keys);

 private:
  enum class State { kGround, kEscape, kSequence, kShift3, kPaste };

  void take(char byte, std::vector<Key>& keys);
  void take_ground(char byte, std::vector<Key>& keys);
  void take_after_escape(char byte, std::vector<Key>& keys);
  void take_paste(char byte, std::vector<Key>& keys);
  void finish_sequence(char final, std::vector<Key>& keys);
  void end_text(std::vector<Key>& keys);

  State state_ = State::kGround;
  std::string parameters_;  // of a sequence
  std::string paste_;
  Utf8Stream characters_;
};

// `text` with CR LF and CR as LF and with broken UTF-8 as U+FFFD.
std::string pasted_text(std::string_view text);

}  // namespace anedvd
