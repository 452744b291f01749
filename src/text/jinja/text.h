// Strings as a template sees them: Python's text, with a mark on every byte that says who wrote it.
//
//   '<|im_start|>' + message.role     [template: <|im_start|>][user: evil]
//
// Control tokens may come only from the template. So a string remembers which of its bytes stem from template literals and which from
// data (messages, tools), through concatenation, slices, strip, split, replace and the rest. Nearly every string is wholly one or the
// other and costs nothing for it; only mixed ones carry runs. Everything that makes a string goes through TextBuilder, which also holds
// the ceiling on its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anedvd::jinja {

enum class Trust : uint8_t { kTemplate, kUser };

// Bytes from the end of the run before up to `end` have this trust.
struct Run {
  size_t end;
  Trust trust;
};

struct Text {
  std::string bytes;               // UTF-8; broken bytes count as one character each
  std::vector<Run> runs;           // only when mixed: neighbours differ, the last ends at bytes.size()
  Trust trust = Trust::kTemplate;  // of all bytes when `runs` is empty
  bool markup = false;             // Python's Markup (the `safe` filter): `+` then escapes the other side
  size_t length = 0;               // in code points

  bool is_ascii() const { return length == bytes.size(); }
  // kUser if any byte is.
  Trust worst() const { return runs.empty() ? trust : Trust::kUser; }
};

constexpr size_t kMaxTextBytes = size_t{64} << 20;

class TextBuilder {
 public:
  void append(std::string_view bytes, Trust trust);
  void append(const Text& text) { append(text, 0, text.bytes.size()); }
  void append(const Text& text, size_t begin, size_t end);  // bytes [begin, end)
  void append_code_point(char32_t code, Trust trust);
  void repeat(std::string_view bytes, size_t times, Trust trust);

  // What was appended beyond kMaxTextBytes is dropped; the caller must ask before it uses the text.
  bool overflowed() const { return overflowed_; }
  size_t size() const { return text_.bytes.size(); }
  Text finish();

 private:
  Text text_;
  bool overflowed_ = false;
};

// One character of UTF-8 at `position`: its code point and size in bytes. A broken byte is itself, 1 byte, and not `valid`.
struct Character {
  char32_t code;
  size_t size;
  bool valid;
};
Character character_at(std::string_view bytes, size_t position);

size_t count_characters(std::string_view bytes);
// Byte offset of the character with this index; bytes.size() when past the end.
size_t byte_offset(const Text& text, size_t index);
void append_utf8(std::string& out, char32_t code);

// Python's str.isspace, also what `-` in a tag strips.
bool is_space(char32_t code);
// Bytes [begin, end) of `bytes` without white space at its ends.
size_t skip_space(std::string_view bytes, size_t begin);
size_t trim_space_end(std::string_view bytes, size_t end);

}  // namespace anedvd::jinja
