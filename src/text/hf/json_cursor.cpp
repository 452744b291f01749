#include "text/hf/json_cursor.h"

#include <charconv>
#include <cstring>

#include "text/unicode.h"

namespace anedvd {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The four hex digits at `at`, or −1.
int hex_quad(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

char simple_escape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'b': return '\b';
    case 'f': return '\f';
    case '"':
    case '\\':
    case '/': return c;
    default: return 0;
  }
}

}  // namespace

void JsonCursor::complain(std::string_view what) {
  if (error_.empty()) error_ = fmt::format("{} at byte {}", what, at_);
  at_ = text_.size();
}

Result<> JsonCursor::status() const {
  if (ok()) return {};
  return fail(ErrorCode::kBadFile, "{}: broken JSON: {}; fetch the file again", where_, error_);
}

void JsonCursor::skip_long_space() {
  constexpr uint64_t kEightSpaces = 0x2020202020202020u;
  for (;;) {
    uint64_t word = 0;
    while (at_ + sizeof word <= text_.size() &&
           (std::memcpy(&word, text_.data() + at_, sizeof word), word) == kEightSpaces)
      at_ += sizeof word;
    if (at_ >= text_.size()) return;
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
    ++at_;
  }
}

bool JsonCursor::at_end() {
  skip_space();
  return at_ >= text_.size();
}

JsonCursor::Kind JsonCursor::peek() {
  skip_space();
  if (at_ >= text_.size()) return Kind::kEnd;
  const char c = text_[at_];
  if (c == '{') return Kind::kObject;
  if (c == '[') return Kind::kArray;
  if (c == '"') return Kind::kString;
  if (c == '-' || (c >= '0' && c <= '9')) return Kind::kNumber;
  return c == 't' || c == 'f' || c == 'n' ? Kind::kWord : Kind::kEnd;
}

bool JsonCursor::enter(char bracket) {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != bracket || depth_ >= kMaxDepth) {
    complain(depth_ >= kMaxDepth ? "nested too deep" : bracket == '{' ? "expected an object" : "expected an array");
    return false;
  }
  ++at_;
  ++depth_;
  first_ = true;
  return true;
}

bool JsonCursor::next_item(char close) {
  if (!ok()) return false;
  skip_space();
  if (at_ >= text_.size()) return complain("ends too early"), false;
  if (text_[at_] == close) {
    ++at_;
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) {
    if (text_[at_] != ',') return complain("expected a comma"), false;
    ++at_;
  }
  first_ = false;
  return true;
}

bool JsonCursor::next_member(std::string_view& key) {
  if (!next_item('}')) return false;
  key = string();
  skip_space();
  if (!ok()) return false;
  if (at_ >= text_.size() || text_[at_] != ':') return complain("expected a colon"), false;
  ++at_;
  return true;
}

bool JsonCursor::next_element() { return next_item(']'); }

std::string_view JsonCursor::string() {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != '"') return complain("expected a string"), std::string_view();
  const size_t start = ++at_;
  bool escaped = false;
  for (;; ++at_) {
    if (at_ >= text_.size()) return complain("a string has no end"), std::string_view();
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte == '"') break;
    if (byte < 0x20) return complain("a control character inside a string"), std::string_view();
    if (byte == '\\') {
      escaped = true;
      ++at_;
    }
  }
  const std::string_view raw = text_.substr(start, at_ - start);
  ++at_;
  return escaped ? unescape(raw) : raw;
}

std::string_view JsonCursor::unescape(std::string_view raw) {
  std::string& out = arena_.emplace_back();
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out.push_back(raw[i]);
      continue;
    }
    if (++i >= raw.size()) break;
    if (raw[i] != 'u') {
      const char c = simple_escape(raw[i]);
      if (c == 0) return complain("an unknown escape"), std::string_view();
      out.push_back(c);
      continue;
    }
    const int high = hex_quad(raw, i + 1);
    if (high < 0) return complain("a broken \\u escape"), std::string_view();
    i += 4;
    auto code = static_cast<char32_t>(high);
    if (code >= 0xD800 && code < 0xDC00 && raw.substr(i + 1).starts_with("\\u")) {
      const int low = hex_quad(raw, i + 3);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (static_cast<char32_t>(low) - 0xDC00);
        i += 6;
      }
    }
    if (code >= 0xD800 && code < 0xE000) return complain("half a surrogate pair"), std::string_view();
    append_utf8(code, out);
  }
  return out;
}

double JsonCursor::number() {
  skip_space();
  const size_t start = at_;
  // Whole numbers, which is what vocabularies hold, without the slow path.
  int64_t value = 0;
  while (at_ < text_.size() && at_ - start < 15 && text_[at_] >= '0' && text_[at_] <= '9')
    value = value * 10 + (text_[at_++] - '0');
  const auto goes_on = [&] {
    if (at_ >= text_.size()) return false;
    const char c = text_[at_];
    return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
  };
  if (at_ > start && !goes_on()) return static_cast<double>(value);
  while (goes_on()) ++at_;
  double parsed = 0;
  const auto [end, error] = std::from_chars(text_.data() + start, text_.data() + at_, parsed);
  if (error != std::errc() || end != text_.data() + at_) complain("expected a number");
  return parsed;
}

std::string_view JsonCursor::skip() {
  skip_space();
  const size_t start = at_;
  int open = 0;
  do {
    switch (peek()) {
      case Kind::kString: string(); break;
      case Kind::kNumber: number(); break;
      case Kind::kWord:
        while (at_ < text_.size() && text_[at_] >= 'a' && text_[at_] <= 'z') ++at_;
        break;
      case Kind::kObject:
      case Kind::kArray:
        ++open;
        ++at_;
        break;
      case Kind::kEnd:
        // Punctuation between values; the slice is parsed in full by whoever wants it.
        if (at_ < text_.size() && (text_[at_] == '}' || text_[at_] == ']') && open > 0) {
          --open;
          ++at_;
        } else if (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ':') && open > 0) {
          ++at_;
        } else {
          complain("expected a value");
        }
        break;
    }
  } while (ok() && open > 0);
  return ok() ? text_.substr(start, at_ - start) : std::string_view();
}

}  // namespace anedvd
