// Walks JSON text once, without building anything: for tokenizer.json, whose vocabulary and merges are a million small strings.
//
// Strings without escapes are views into the text; others are unescaped into an arena that must outlive them. Everything else is
// skipped over or handed out as the slice of text that holds it. Nesting is bounded; the first error sticks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace anedvd {

class JsonCursor {
 public:
  // `where` names the file in errors. Text and arena are borrowed.
  JsonCursor(std::string_view text, std::string_view where, std::deque<std::string>& arena)
      : text_(text), where_(where), arena_(arena) {}

  enum class Kind {
    kObject,
    kArray,
    kString,
    kNumber,
    kWord,
    kEnd
  };  // kWord: true, false, null; kEnd: nothing that starts a value
  Kind peek();

  // Objects: if (enter('{')) while (next_member(key)) { … read or skip one value … }
  // Arrays:  if (enter('[')) while (next_element()) { … }
  bool enter(char bracket);
  bool next_member(std::string_view& key);
  bool next_element();

  std::string_view string();
  double number();
  // The text of the value that comes next, which is passed over.
  std::string_view skip();

  size_t bytes_left() const { return text_.size() - at_; }
  // True if all was well so far.
  bool ok() const { return error_.empty(); }
  Result<> status() const;
  // Anything but white space left?
  bool at_end();
  // Records an error (unless there is one) at the current byte.
  void complain(std::string_view what);

 private:
  void skip_space() {
    // Compact files have none, indented ones ten in a row.
    if (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) <= ' ') skip_long_space();
  }
  void skip_long_space();
  bool next_item(char close);
  std::string_view unescape(std::string_view raw);

  static constexpr int kMaxDepth = 64;  // tokenizer files nest below 10
  std::string_view text_;
  std::string_view where_;
  std::deque<std::string>& arena_;
  size_t at_ = 0;
  int depth_ = 0;
  bool first_ = false;  // the next item is the first of its object or array
  std::string error_;
};

}  // namespace anedvd
