// Python's str methods. Pieces of a string keep the trust of their bytes, since all are cut with make_slice or a TextBuilder.
#include <algorithm>
#include <array>

#include "text/jinja/evaluator.h"
#include "text/jinja/library/format.h"
#include "text/jinja/library/letter_case.h"
#include "text/jinja/library/string_tools.h"
#include "text/jinja/printing.h"

namespace anedvd::jinja {

bool in_set(std::string_view set, std::string_view character) {
  for (size_t at = set.find(character); at != std::string_view::npos; at = set.find(character, at + 1)) {
    if ((static_cast<unsigned char>(set[at]) & 0xC0) != 0x80 || character.size() == 1) return true;
  }
  return false;
}

Result<Value> strip_text(Evaluator& evaluator, const Text& text, const Value* characters, bool left, bool right) {
  const std::string_view bytes = text.bytes;
  size_t begin = 0, end = bytes.size();
  ANEDVD_TRY_VOID(evaluator.spend(1 + bytes.size() / 32));
  if (!characters || characters->is_none()) {
    if (left) begin = skip_space(bytes, 0);
    if (right) end = std::max(begin, trim_space_end(bytes, end));
    return evaluator.make_slice(text, begin, end);
  }
  ANEDVD_TRY(const Text* set, want_text(*characters, "the characters to strip"));
  while (left && begin < end) {
    const size_t size = character_at(bytes, begin).size;
    ANEDVD_TRY_VOID(evaluator.spend(set->bytes.size() / 32));
    if (!in_set(set->bytes, bytes.substr(begin, size))) break;
    begin += size;
  }
  while (right && end > begin) {
    size_t start = end - 1;
    while (start > begin && end - start < 4 && (static_cast<unsigned char>(bytes[start]) & 0xC0) == 0x80) --start;
    if (start + character_at(bytes, start).size != end) start = end - 1;
    ANEDVD_TRY_VOID(evaluator.spend(set->bytes.size() / 32));
    if (!in_set(set->bytes, bytes.substr(start, end - start))) break;
    end = start;
  }
  return evaluator.make_slice(text, begin, end);
}

Result<Value> replace_text(Evaluator& evaluator, const Text& text, const Text& from, const Text& to, int64_t count) {
  TextBuilder out;
  const std::string_view bytes = text.bytes;
  size_t done = 0;
  ANEDVD_TRY_VOID(evaluator.spend(search_cost(bytes, from.bytes)));
  for (size_t i = 0; count != 0 && i <= bytes.size() && !out.overflowed(); --count) {
    const size_t found = bytes.find(from.bytes, i);
    if (found == std::string_view::npos) break;
    ANEDVD_TRY_VOID(evaluator.spend(1));
    out.append(text, done, found);
    out.append(to);
    done = found + from.bytes.size();
    // An empty `from` stands before every character and at the end.
    i = from.bytes.empty() ? (found < bytes.size() ? found + character_at(bytes, found).size : found + 1) : done;
  }
  out.append(text, done, bytes.size());
  return evaluator.make_text(out, text.markup);
}

// Python's line ends: \n \r \r\n \v \f \x1c-\x1e \x85 U+2028 U+2029. Size in bytes of the one at i, 0 if none.
size_t line_end_at(std::string_view bytes, size_t i) {
  const Character c = character_at(bytes, i);
  if (c.code == '\r') return i + 1 < bytes.size() && bytes[i + 1] == '\n' ? 2 : 1;
  const bool ends = (c.code >= 0x0A && c.code <= 0x0C) || (c.code >= 0x1C && c.code <= 0x1E) ||
                    (c.valid && (c.code == 0x85 || c.code == 0x2028 || c.code == 0x2029));
  return ends ? c.size : 0;
}

std::vector<LineSpan> line_spans(std::string_view bytes) {
  std::vector<LineSpan> lines;
  size_t begin = 0;
  for (size_t i = 0; i < bytes.size();) {
    const size_t end = line_end_at(bytes, i);
    if (end == 0) {
      i += character_at(bytes, i).size;
      continue;
    }
    lines.push_back({begin, i, i + end});
    begin = i += end;
  }
  if (begin < bytes.size()) lines.push_back({begin, bytes.size(), bytes.size()});
  return lines;
}

Result<Value> join_texts(Evaluator& evaluator, const Text& separator, const std::vector<Value>& items, bool any_kind) {
  TextBuilder out;
  for (size_t i = 0; i < items.size() && !out.overflowed(); ++i) {
    ANEDVD_TRY_VOID(evaluator.spend(1));
    if (i > 0) out.append(separator);
    if (!any_kind && !items[i].is_string())
      return fail(ErrorCode::kUnsupported, "join: item {} is '{}', not a str", i, type_name(items[i]));
    if (separator.markup && !any_kind && !items[i].text().markup) {
      append_escaped(out, items[i].text());
    } else {
      ANEDVD_TRY_VOID(evaluator.print(out, items[i]));
    }
  }
  return evaluator.make_text(out, separator.markup && !any_kind);
}

namespace {

using Items = std::vector<Value>;

template <LetterCase kHow>
Result<Value> change_case(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY_VOID(evaluator.spend(self.bytes().size() / 2));
  TextBuilder out;
  append_case(out, self.text(), kHow);
  return evaluator.make_text(out, self.text().markup);
}

template <bool kLeft, bool kRight>
Result<Value> strip(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"chars"}));
  return strip_text(evaluator, self.text(), bound[0], kLeft, kRight);
}

Result<> split_on_space(Evaluator& evaluator, const Text& text, int64_t most, bool from_right, Items& parts) {
  const std::string_view bytes = text.bytes;
  const auto add = [&](size_t begin, size_t end) -> Result<> {
    ANEDVD_TRY(auto part, evaluator.make_slice(text, begin, end));
    parts.push_back(std::move(part));
    return evaluator.spend(1);
  };
  size_t begin = skip_space(bytes, 0), end = trim_space_end(bytes, bytes.size());
  if (begin >= end) return {};
  if (from_right) {
    while (begin < end) {
      size_t word = end;
      if (most == 0) {
        word = 0;  // the rest keeps its leading space
      } else {
        while (word > begin && trim_space_end(bytes, word) == word) --word;
      }
      ANEDVD_TRY_VOID(add(word, end));
      --most;
      end = std::max(begin, trim_space_end(bytes, word));
      if (word <= begin) break;
    }
    std::reverse(parts.begin(), parts.end());
    return {};
  }
  end = most < 0 ? end : bytes.size();  // with a maximum the rest keeps its trailing space
  while (begin < end) {
    size_t stop = begin;
    if (most == 0) {
      stop = end;
    } else {
      while (stop < end && skip_space(bytes, stop) == stop) stop += character_at(bytes, stop).size;
    }
    ANEDVD_TRY_VOID(add(begin, stop));
    --most;
    begin = skip_space(bytes, stop);
  }
  return {};
}

template <bool kFromRight>
Result<Value> split(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"sep", "maxsplit"}));
  const Text& text = self.text();
  const std::string_view bytes = text.bytes;
  int64_t most = -1;
  if (bound[1]) {
    ANEDVD_TRY(most, want_integer(*bound[1], "maxsplit"));
  }
  ANEDVD_TRY_VOID(evaluator.spend(1 + bytes.size() / 16));
  Items parts;
  if (!bound.has(0)) {
    ANEDVD_TRY_VOID(split_on_space(evaluator, text, most, kFromRight, parts));
    return evaluator.make_list(std::move(parts));
  }
  ANEDVD_TRY(const Text* separator, want_text(*bound[0], "the separator"));
  if (separator->bytes.empty()) return fail(ErrorCode::kUnsupported, "split: the separator is empty");
  ANEDVD_TRY_VOID(evaluator.spend(search_cost(bytes, separator->bytes)));
  size_t begin = 0, end = bytes.size();
  for (; most != 0; --most) {
    const size_t found =
        kFromRight ? bytes.substr(0, end).rfind(separator->bytes) : bytes.find(separator->bytes, begin);
    if (found == std::string_view::npos) break;
    ANEDVD_TRY_VOID(evaluator.spend(1));
    const size_t behind = found + separator->bytes.size();
    ANEDVD_TRY(auto part,
               kFromRight ? evaluator.make_slice(text, behind, end) : evaluator.make_slice(text, begin, found));
    parts.push_back(std::move(part));
    (kFromRight ? end : begin) = kFromRight ? found : behind;
  }
  ANEDVD_TRY(auto rest, evaluator.make_slice(text, begin, end));
  parts.push_back(std::move(rest));
  if (kFromRight) std::reverse(parts.begin(), parts.end());
  return evaluator.make_list(std::move(parts));
}

Result<Value> splitlines(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"keepends"}));
  Items lines;
  ANEDVD_TRY_VOID(evaluator.spend(self.bytes().size() / 8));
  for (const LineSpan& line : line_spans(self.bytes())) {
    ANEDVD_TRY(auto part, evaluator.make_slice(self.text(), line.begin, bound.flag(0) ? line.next : line.end));
    lines.push_back(std::move(part));
    ANEDVD_TRY_VOID(evaluator.spend(1));
  }
  return evaluator.make_list(std::move(lines));
}

// The part [start:end] of the text in bytes, from optional arguments; nullopt when start lies past the end.
Result<std::optional<std::pair<size_t, size_t>>> window(const Text& text, const Value* start, const Value* end) {
  const auto length = static_cast<int64_t>(text.length);
  int64_t from = 0, to = length;
  if (start && !start->is_none()) {
    ANEDVD_TRY(from, want_integer(*start, "the start"));
  }
  if (end && !end->is_none()) {
    ANEDVD_TRY(to, want_integer(*end, "the end"));
  }
  if (from < 0) from = std::max<int64_t>(0, from + length);
  if (to < 0) to = std::max<int64_t>(0, to + length);
  to = std::min(to, length);
  if (from > to) return std::optional<std::pair<size_t, size_t>>();
  return std::optional(
      std::pair(byte_offset(text, static_cast<size_t>(from)), byte_offset(text, static_cast<size_t>(to))));
}

template <bool kAtEnd>
Result<Value> has_affix(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"affix", "start", "end"}, 1));
  ANEDVD_TRY(const auto part, window(self.text(), bound[1], bound[2]));
  Items affixes = {*bound[0]};
  if (bound[0]->is_list(ListStyle::kTuple)) affixes = bound[0]->list().items;
  ANEDVD_TRY_VOID(evaluator.spend(affixes.size() + self.bytes().size() / 64));
  bool found = false;
  for (const Value& affix : affixes) {
    ANEDVD_TRY(const Text* text, want_text(affix, kAtEnd ? "endswith's argument" : "startswith's argument"));
    if (!part) continue;
    const std::string_view bytes = self.bytes().substr(part->first, part->second - part->first);
    found = found || (kAtEnd ? bytes.ends_with(text->bytes) : bytes.starts_with(text->bytes));
  }
  return Value::boolean(found);
}

template <bool kFromRight, bool kMustExist>
Result<Value> find(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"sub", "start", "end"}, 1));
  ANEDVD_TRY(const Text* sub, want_text(*bound[0], "what to find"));
  ANEDVD_TRY(const auto part, window(self.text(), bound[1], bound[2]));
  ANEDVD_TRY_VOID(evaluator.spend(search_cost(self.bytes(), sub->bytes)));
  size_t found = std::string_view::npos;
  if (part) {
    const std::string_view bytes = self.bytes().substr(part->first, part->second - part->first);
    found = kFromRight ? bytes.rfind(sub->bytes) : bytes.find(sub->bytes);
    if (found != std::string_view::npos) found += part->first;
  }
  if (found == std::string_view::npos) {
    if (kMustExist) return fail(ErrorCode::kUnsupported, "index: the substring is not found");
    return Value::integer(-1);
  }
  return Value::integer(static_cast<int64_t>(count_characters(self.bytes().substr(0, found))));
}

Result<Value> count(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"sub", "start", "end"}, 1));
  ANEDVD_TRY(const Text* sub, want_text(*bound[0], "what to count"));
  ANEDVD_TRY(const auto part, window(self.text(), bound[1], bound[2]));
  ANEDVD_TRY_VOID(evaluator.spend(search_cost(self.bytes(), sub->bytes)));
  if (!part) return Value::integer(0);
  const std::string_view bytes = self.bytes().substr(part->first, part->second - part->first);
  if (sub->bytes.empty()) return Value::integer(static_cast<int64_t>(count_characters(bytes)) + 1);
  int64_t times = 0;
  for (size_t i = bytes.find(sub->bytes); i != std::string_view::npos;
       i = bytes.find(sub->bytes, i + sub->bytes.size()))
    ++times;
  ANEDVD_TRY_VOID(evaluator.spend(static_cast<uint64_t>(times)));
  return Value::integer(times);
}

Result<Value> replace(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"old", "new", "count"}, 2));
  if (!arguments.named.empty()) return fail(ErrorCode::kUnsupported, "replace takes no named arguments");
  ANEDVD_TRY(const Text* from, want_text(*bound[0], "what to replace"));
  ANEDVD_TRY(const Text* to, want_text(*bound[1], "the replacement"));
  int64_t most = -1;
  if (bound[2]) {
    ANEDVD_TRY(most, want_integer(*bound[2], "count"));
  }
  if (!self.text().markup || to->markup) return replace_text(evaluator, self.text(), *from, *to, most);
  TextBuilder escaped;
  append_escaped(escaped, *to);
  return replace_text(evaluator, self.text(), *from, escaped.finish(), most);
}

Result<Value> join(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"iterable"}, 1));
  ANEDVD_TRY(auto items, evaluator.iterate(*bound[0]));
  return join_texts(evaluator, self.text(), items, false);
}

template <char kAlign>
Result<Value> justify(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"width", "fillchar"}, 1));
  ANEDVD_TRY(const int64_t width, want_integer(*bound[0], "the width"));
  std::string_view fill = " ";
  if (bound[1]) {
    ANEDVD_TRY(const Text* text, want_text(*bound[1], "the fill character"));
    if (text->length != 1) return fail(ErrorCode::kUnsupported, "the fill character must be one character");
    fill = text->bytes;
  }
  return pad_text(evaluator, self.text(), width, kAlign, fill, bound[1] ? bound[1]->text().worst() : Trust::kTemplate);
}

Result<Value> zfill(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"width"}, 1));
  ANEDVD_TRY(const int64_t width, want_integer(*bound[0], "the width"));
  const Text& text = self.text();
  const size_t sign = !text.bytes.empty() && (text.bytes[0] == '-' || text.bytes[0] == '+') ? 1 : 0;
  TextBuilder out;
  out.append(text, 0, sign);
  if (width > static_cast<int64_t>(text.length))
    out.repeat("0", static_cast<size_t>(width) - text.length, Trust::kTemplate);
  out.append(text, sign, text.bytes.size());
  return evaluator.make_text(out, text.markup);
}

template <bool kSuffix>
Result<Value> remove_affix(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"affix"}, 1));
  ANEDVD_TRY(const Text* affix, want_text(*bound[0], "what to remove"));
  const std::string_view bytes = self.bytes();
  const bool found = kSuffix ? bytes.ends_with(affix->bytes) : bytes.starts_with(affix->bytes);
  const size_t size = found ? affix->bytes.size() : 0;
  return kSuffix ? evaluator.make_slice(self.text(), 0, bytes.size() - size)
                 : evaluator.make_slice(self.text(), size, bytes.size());
}

template <bool kFromRight>
Result<Value> partition(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"sep"}, 1));
  ANEDVD_TRY(const Text* separator, want_text(*bound[0], "the separator"));
  if (separator->bytes.empty()) return fail(ErrorCode::kUnsupported, "partition: the separator is empty");
  const std::string_view bytes = self.bytes();
  ANEDVD_TRY_VOID(evaluator.spend(search_cost(bytes, separator->bytes)));
  size_t begin = kFromRight ? bytes.rfind(separator->bytes) : bytes.find(separator->bytes);
  size_t end = begin + separator->bytes.size();
  if (begin == std::string_view::npos) begin = end = kFromRight ? 0 : bytes.size();
  ANEDVD_TRY(auto before, evaluator.make_slice(self.text(), 0, begin));
  ANEDVD_TRY(auto middle, evaluator.make_slice(self.text(), begin, end));
  ANEDVD_TRY(auto after, evaluator.make_slice(self.text(), end, bytes.size()));
  return evaluator.make_list({std::move(before), std::move(middle), std::move(after)}, ListStyle::kTuple);
}

Result<Value> expandtabs(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"tabsize"}));
  int64_t size = 8;
  if (bound[0]) {
    ANEDVD_TRY(size, want_integer(*bound[0], "the tab size"));
  }
  TextBuilder out;
  int64_t column = 0;
  const std::string_view bytes = self.bytes();
  ANEDVD_TRY_VOID(evaluator.spend(bytes.size() / 2));
  for (size_t i = 0; i < bytes.size() && !out.overflowed();) {
    const size_t bytes_here = character_at(bytes, i).size;
    if (bytes[i] == '\t') {
      const int64_t spaces = size > 0 ? size - column % size : 0;
      out.repeat(" ", static_cast<size_t>(spaces), Trust::kTemplate);
      column = size > 0 ? 0 : column;
    } else {
      out.append(self.text(), i, i + bytes_here);
      column = bytes[i] == '\n' || bytes[i] == '\r' ? 0 : column + 1;
    }
    i += bytes_here;
  }
  return evaluator.make_text(out, self.text().markup);
}

// isalpha and its kin: not empty, and every character passes.
template <bool (*kPasses)(char32_t), bool kEmpty = false>
Result<Value> all_are(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  const std::string_view bytes = self.bytes();
  ANEDVD_TRY_VOID(evaluator.spend(bytes.size() / 4));
  if (bytes.empty()) return Value::boolean(kEmpty);
  for (size_t i = 0; i < bytes.size();) {
    const Character c = character_at(bytes, i);
    if (!c.valid || !kPasses(c.code)) return Value::boolean(false);
    i += c.size;
  }
  return Value::boolean(true);
}

bool is_alphanumeric(char32_t code) { return is_letter(code) || is_numeric(code); }
bool is_ascii_code(char32_t code) { return code < 0x80; }
bool is_word(char32_t code) { return is_alphanumeric(code) || code == '_'; }

template <bool kUpper>
Result<Value> has_case(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY_VOID(evaluator.spend(self.bytes().size() / 4));
  return Value::boolean(is_in_case(self.bytes(), kUpper));
}

Result<Value> is_title_text(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY_VOID(evaluator.spend(self.bytes().size() / 4));
  bool cased = false, after_letter = false;
  for (size_t i = 0; i < self.bytes().size();) {
    const Character c = character_at(self.bytes(), i);
    const bool upper = is_upper(c.code) || is_title(c.code), lower = is_lower(c.code);
    if ((upper && after_letter) || (lower && !after_letter)) return Value::boolean(false);
    after_letter = upper || lower;
    cased |= after_letter;
    i += c.size;
  }
  return Value::boolean(cased);
}

Result<Value> is_identifier(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  if (!self.bytes().empty() && is_numeric(character_at(self.bytes(), 0).code)) return Value::boolean(false);
  return all_are<is_word>(evaluator, self, arguments);
}

Result<Value> format(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return format_braces(evaluator, self.text(), arguments);
}

constexpr std::array<NamedBuiltin, 43> kMethods = {{
    {"capitalize", change_case<LetterCase::kCapitalize>},
    {"casefold", change_case<LetterCase::kFold>},
    {"center", justify<'^'>},
    {"count", count},
    {"endswith", has_affix<true>},
    {"expandtabs", expandtabs},
    {"find", find<false, false>},
    {"format", format},
    {"index", find<false, true>},
    {"isalnum", all_are<is_alphanumeric>},
    {"isalpha", all_are<is_letter>},
    {"isascii", all_are<is_ascii_code, true>},
    {"isdecimal", all_are<is_decimal>},
    {"isdigit", all_are<is_digit>},
    {"isidentifier", is_identifier},
    {"islower", has_case<false>},
    {"isnumeric", all_are<is_numeric>},
    {"isprintable", all_are<is_printable, true>},
    {"isspace", all_are<is_space>},
    {"istitle", is_title_text},
    {"isupper", has_case<true>},
    {"join", join},
    {"ljust", justify<'<'>},
    {"lower", change_case<LetterCase::kLower>},
    {"lstrip", strip<true, false>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justify<'>'>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<false, true>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"startswith", has_affix<false>},
    {"strip", strip<true, true>},
    {"swapcase", change_case<LetterCase::kSwap>},
    {"title", change_case<LetterCase::kTitle>},
    {"upper", change_case<LetterCase::kUpper>},
    {"zfill", zfill},
}};

}  // namespace

bool is_in_case(std::string_view bytes, bool upper) {
  bool found = false;
  for (size_t i = 0; i < bytes.size();) {
    const Character c = character_at(bytes, i);
    if (is_title(c.code) || (upper ? is_lower(c.code) : is_upper(c.code))) return false;
    found |= upper ? is_upper(c.code) : is_lower(c.code);
    i += c.size;
  }
  return found;
}

Result<Value> pad_text(Evaluator& evaluator, const Text& text, int64_t width, char align, std::string_view fill,
                       Trust trust) {
  const size_t pad = width > static_cast<int64_t>(text.length) ? static_cast<size_t>(width) - text.length : 0;
  // CPython's center puts the odd space left only when the width is odd.
  const size_t left = align == '>' ? pad : align == '^' ? pad / 2 + (pad & static_cast<size_t>(width) & 1) : 0;
  TextBuilder out;
  ANEDVD_TRY_VOID(evaluator.spend(std::min<size_t>(pad, kMaxTextBytes) / 8));
  out.repeat(fill, left, trust);
  out.append(text);
  out.repeat(fill, pad - left, trust);
  return evaluator.make_text(out, text.markup);
}

const NamedBuiltin* find_string_method(std::string_view name) {
  const auto* row =
      std::find_if(kMethods.begin(), kMethods.end(), [&](const NamedBuiltin& m) { return m.name == name; });
  return row == kMethods.end() ? nullptr : row;
}

}  // namespace anedvd::jinja
