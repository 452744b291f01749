#include "text/jinja/text.h"

#include <algorithm>

namespace anedvd::jinja {

Character character_at(std::string_view bytes, size_t position) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(position);
  if (lead < 0x80) return {lead, 1, true};
  const size_t size = lead >= 0xF0 && lead <= 0xF4  ? 4
                      : lead >= 0xE0 && lead < 0xF0 ? 3
                      : lead >= 0xC2 && lead < 0xE0 ? 2
                                                    : 0;
  if (size == 0 || position + size > bytes.size()) return {lead, 1, false};
  char32_t code = lead & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((at(position + i) & 0xC0) != 0x80) return {lead, 1, false};
    code = (code << 6) | (at(position + i) & 0x3F);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {lead, 1, false};
  return {code, size, true};
}

size_t count_characters(std::string_view bytes) {
  size_t count = 0;
  for (size_t i = 0; i < bytes.size(); ++count)
    i += static_cast<signed char>(bytes[i]) >= 0 ? 1 : character_at(bytes, i).size;
  return count;
}

size_t byte_offset(const Text& text, size_t index) {
  if (index >= text.length) return text.bytes.size();
  if (text.is_ascii()) return index;
  size_t offset = 0;
  for (; index > 0; --index) offset += character_at(text.bytes, offset).size;
  return offset;
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

bool is_space(char32_t code) {
  if (code < 0x80) return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

size_t skip_space(std::string_view bytes, size_t begin) {
  while (begin < bytes.size()) {
    const Character c = character_at(bytes, begin);
    if (!c.valid || !is_space(c.code)) break;
    begin += c.size;
  }
  return begin;
}

size_t trim_space_end(std::string_view bytes, size_t end) {
  while (end > 0) {
    size_t start = end - 1;  // the start of the last character, at most three bytes further back
    while (start > 0 && end - start < 4 && (static_cast<unsigned char>(bytes[start]) & 0xC0) == 0x80) --start;
    const Character c = character_at(bytes.substr(0, end), start);
    if (!c.valid || start + c.size != end || !is_space(c.code)) break;
    end = start;
  }
  return end;
}

void TextBuilder::append(std::string_view bytes, Trust trust) {
  if (bytes.empty() || overflowed_) return;
  if (bytes.size() > kMaxTextBytes - text_.bytes.size()) {
    overflowed_ = true;
    return;
  }
  if (text_.bytes.empty()) {
    text_.trust = trust;
  } else if (text_.runs.empty()) {
    if (text_.trust != trust) text_.runs = {{text_.bytes.size(), text_.trust}, {0, trust}};
  } else if (text_.runs.back().trust != trust) {
    text_.runs.push_back({0, trust});
  }
  text_.bytes += bytes;
  if (!text_.runs.empty()) text_.runs.back().end = text_.bytes.size();
}

void TextBuilder::append(const Text& text, size_t begin, size_t end) {
  const std::string_view bytes = text.bytes;
  if (text.runs.empty()) return append(bytes.substr(begin, end - begin), text.trust);
  auto run = std::upper_bound(text.runs.begin(), text.runs.end(), begin,
                              [](size_t position, const Run& r) { return position < r.end; });
  for (; begin < end; ++run) {
    const size_t stop = std::min(end, run->end);
    append(bytes.substr(begin, stop - begin), run->trust);
    begin = stop;
  }
}

void TextBuilder::append_code_point(char32_t code, Trust trust) {
  std::string bytes;
  append_utf8(bytes, code);
  append(bytes, trust);
}

void TextBuilder::repeat(std::string_view bytes, size_t times, Trust trust) {
  if (bytes.empty()) return;
  if (times > kMaxTextBytes / bytes.size()) {
    overflowed_ = true;
    return;
  }
  if (bytes.size() == 1) return append(std::string(times, bytes[0]), trust);
  for (; times > 0 && !overflowed_; --times) append(bytes, trust);
}

Text TextBuilder::finish() {
  text_.length = count_characters(text_.bytes);
  Text done = std::move(text_);
  text_ = {};
  return done;
}

}  // namespace anedvd::jinja
