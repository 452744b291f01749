// Filters that make text or numbers of one value.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/evaluator.h"
#include "text/jinja/library/format.h"
#include "text/jinja/library/letter_case.h"
#include "text/jinja/library/string_tools.h"
#include "text/jinja/printing.h"

namespace anedvd::jinja {
namespace {

template <LetterCase kHow>
Result<Value> change_case(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  ANEDVD_TRY_VOID(evaluator.spend(text.bytes().size() / 2));
  TextBuilder out;
  append_case(out, text.text(), kHow);
  return evaluator.make_text(out, text.text().markup);
}

Result<Value> title(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  ANEDVD_TRY_VOID(evaluator.spend(text.bytes().size() / 2));
  TextBuilder out;
  append_title_filter(out, text.text());
  return evaluator.make_text(out);
}

Result<Value> trim(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"chars"}));
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  return strip_text(evaluator, text.text(), bound[0], true, true);
}

Result<Value> string(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  return evaluator.to_text(input);
}

Result<Value> center(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"width"}));
  int64_t width = 80;
  if (bound[0]) {
    ANEDVD_TRY(width, want_integer(*bound[0], "center's width"));
  }
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  return pad_text(evaluator, text.text(), width, '^', " ", Trust::kTemplate);
}

// A copy without the markup flag, which `replace` and others drop by going through str().
Text plain_copy(const Text& text) {
  Text copy = text;
  copy.markup = false;
  return copy;
}

Result<Value> replace(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"old", "new", "count"}, 2));
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  ANEDVD_TRY(auto from, evaluator.to_text(*bound[0]));
  ANEDVD_TRY(auto to, evaluator.to_text(*bound[1]));
  int64_t count = -1;
  if (bound.has(2)) {
    ANEDVD_TRY(count, want_integer(*bound[2], "replace's count"));
  }
  return replace_text(evaluator, plain_copy(text.text()), from.text(), to.text(), count);
}

Result<Value> indent(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"width", "first", "blank"}));
  ANEDVD_TRY(const Text* text, want_text(input, "what to indent"));
  std::string spaces(4, ' ');
  Trust trust = Trust::kTemplate;
  if (bound[0] && bound[0]->is_string()) {
    spaces = bound[0]->bytes();
    trust = bound[0]->text().worst();
  } else if (bound[0]) {
    ANEDVD_TRY(const int64_t width, want_integer(*bound[0], "indent's width"));
    if (width > 10'000) return fail(ErrorCode::kUnsupported, "indent: the width is more than 10,000");
    spaces.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  // Jinja adds a line end and splits, so one trailing line end falls away and a text without lines is one empty line.
  auto lines = line_spans(text->bytes);
  const size_t size = text->bytes.size();
  if (lines.empty() || lines.back().end != lines.back().next) lines.push_back({size, size, size});
  TextBuilder out;
  ANEDVD_TRY_VOID(evaluator.spend(1 + text->bytes.size() / 8));
  for (size_t i = 0; i < lines.size() && !out.overflowed(); ++i) {
    ANEDVD_TRY_VOID(evaluator.spend(1 + spaces.size() / 64));
    if (i > 0) out.append("\n", trust);
    const bool is_blank = lines[i].begin == lines[i].end;
    if (i == 0 ? bound.flag(1) : bound.flag(2) || !is_blank) out.append(spaces, trust);
    out.append(*text, lines[i].begin, lines[i].end);
  }
  return evaluator.make_text(out, text->markup);
}

Result<Value> truncate(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"length", "killwords", "end", "leeway"}));
  ANEDVD_TRY(const Text* text, want_text(input, "what to truncate"));
  int64_t length = 255, leeway = 5;
  Value dots;
  ANEDVD_TRY(dots, evaluator.make_text("..."));
  if (bound[0]) {
    ANEDVD_TRY(length, want_integer(*bound[0], "truncate's length"));
  }
  if (bound[2]) dots = *bound[2];
  if (bound.has(3)) {
    ANEDVD_TRY(leeway, want_integer(*bound[3], "truncate's leeway"));
  }
  ANEDVD_TRY(const Text* end, want_text(dots, "truncate's end"));
  const auto end_length = static_cast<int64_t>(end->length);
  if (length < end_length || leeway < 0 || leeway > INT32_MAX || length > INT32_MAX) {
    return fail(ErrorCode::kUnsupported, "truncate: the length is too small or the leeway negative");
  }
  if (static_cast<int64_t>(text->length) <= length + leeway) return input;
  ANEDVD_TRY_VOID(evaluator.spend(text->bytes.size() / 16));
  size_t cut = byte_offset(*text, static_cast<size_t>(length - end_length));
  if (!bound.flag(1)) {
    const size_t space = std::string_view(text->bytes).substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  TextBuilder out;
  out.append(*text, 0, cut);
  out.append(*end);
  return evaluator.make_text(out);
}

Result<Value> wordcount(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  ANEDVD_TRY_VOID(evaluator.spend(text.bytes().size() / 4));
  int64_t words = 0;
  bool inside = false;
  for (size_t i = 0; i < text.bytes().size();) {
    const Character c = character_at(text.bytes(), i);
    const bool word = c.valid && (is_letter(c.code) || is_numeric(c.code) || c.code == '_');
    words += word && !inside;
    inside = word;
    i += c.size;
  }
  return Value::integer(words);
}

Result<Value> tojson(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonOptions options;
  options.ensure_ascii = bound.flag(0);
  options.sort_keys = bound.flag(3);
  if (bound.has(1)) {
    options.has_indent = true;
    options.item_separator = ",";
    if (bound[1]->is_string()) {
      options.indent = bound[1]->bytes();
    } else {
      ANEDVD_TRY(const int64_t width, want_integer(*bound[1], "tojson's indent"));
      if (width > 1'000) return fail(ErrorCode::kUnsupported, "tojson: the indent is more than 1,000");
      options.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  if (bound.has(2)) {
    ANEDVD_TRY(auto separators, evaluator.iterate(*bound[2]));
    if (separators.size() != 2 || !separators[0].is_string() || !separators[1].is_string()) {
      return fail(ErrorCode::kUnsupported, "tojson: separators must be two strings");
    }
    options.item_separator = separators[0].bytes();
    options.key_separator = separators[1].bytes();
  }
  return to_json(evaluator, input, options);
}

Result<Value> format(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    return fail(ErrorCode::kUnsupported, "format takes positional or named arguments, not both");
  }
  if (arguments.named.empty()) {
    ANEDVD_TRY(auto values, evaluator.make_list(arguments.positional, ListStyle::kTuple));
    return format_percent(evaluator, text.text(), values);
  }
  auto dict = std::make_shared<Dict>();
  for (const auto& [name, value] : arguments.named) {
    ANEDVD_TRY(auto key, evaluator.make_text(name));
    dict->put(std::move(key), value);
  }
  ANEDVD_TRY(auto values, evaluator.make_dict(std::move(dict)));
  return format_percent(evaluator, text.text(), values);
}

Result<Value> safe(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  TextBuilder out;
  out.append(text.text());
  return evaluator.make_text(out, true);
}

template <bool kAlways>
Result<Value> escape(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  TextBuilder out;
  ANEDVD_TRY_VOID(evaluator.spend(text.bytes().size() / 4));
  if (text.text().markup && !kAlways) {
    out.append(text.text());
  } else {
    append_escaped(out, text.text());
  }
  return evaluator.make_text(out, true);
}

Result<Value> urlencode(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  if (input.is_dict() || input.is_list()) return fail(ErrorCode::kUnsupported, "urlencode takes a str here");
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  std::string out;
  ANEDVD_TRY_VOID(evaluator.spend(text.bytes().size() / 2));
  for (const char c : text.bytes()) {
    const bool stays = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("_.-~/").find(c) != std::string_view::npos;
    if (stays) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return evaluator.make_text(out, text.text().worst());
}

// Numbers ----------------------------------------------------------------------------------------------------------------------------

std::string number_text(std::string_view bytes) {
  const size_t begin = skip_space(bytes, 0);
  const size_t end = trim_space_end(bytes, bytes.size());
  std::string out;
  for (size_t i = begin; i < end; ++i) {  // 1_000: underscores between digits only
    const bool between = bytes[i] == '_' && i > begin && i + 1 < end &&
                         std::isxdigit(static_cast<unsigned char>(bytes[i - 1])) &&
                         std::isxdigit(static_cast<unsigned char>(bytes[i + 1]));
    if (!between) out += bytes[i];
  }
  return out;
}

std::optional<double> parse_real(std::string_view bytes) {
  std::string digits = number_text(bytes);
  std::string_view rest = digits;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest.empty() || rest[0] == '-' || rest[0] == '+') return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (read.ptr != rest.data() + rest.size()) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    // Too large or too small: the exponent's sign tells which.
    value = rest.find("e-") == std::string_view::npos && rest.find("E-") == std::string_view::npos ? HUGE_VAL : 0.0;
  } else if (read.ec != std::errc()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

Result<std::optional<int64_t>> parse_integer(std::string_view bytes, int64_t base) {
  const std::string digits = number_text(bytes);
  std::string_view rest = digits;
  std::string sign;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    if (rest[0] == '-') sign = "-";
    rest.remove_prefix(1);
  }
  if (rest.size() > 2 && rest[0] == '0') {
    const char mark = static_cast<char>(rest[1] | 0x20);
    const int64_t marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked != 0 && (base == marked || base == 0)) {
      rest.remove_prefix(2);
      base = marked;
    }
  }
  if (base == 0) base = 10;
  if (rest.empty() || rest[0] == '-' || rest[0] == '+') return std::optional<int64_t>();
  const std::string all = sign + std::string(rest);
  int64_t value = 0;
  const auto read = std::from_chars(all.data(), all.data() + all.size(), value, static_cast<int>(base));
  if (read.ptr != all.data() + all.size()) return std::optional<int64_t>();
  if (read.ec == std::errc::result_out_of_range)
    return fail(ErrorCode::kUnsupported, "int: the number does not fit 64 bits");
  return std::optional(value);
}

Result<Value> truncated(double real, const Value& otherwise) {
  if (!std::isfinite(real)) return otherwise;
  if (std::fabs(real) >= 9.2e18) return fail(ErrorCode::kUnsupported, "int: the number does not fit 64 bits");
  return Value::integer(static_cast<int64_t>(real));
}

Result<Value> to_integer(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"default", "base"}));
  const Value otherwise = bound[0] ? *bound[0] : Value::integer(0);
  int64_t base = 10;
  if (bound[1]) {
    ANEDVD_TRY(base, want_integer(*bound[1], "int's base"));
  }
  if (base != 0 && (base < 2 || base > 36)) return otherwise;
  if (input.is_integer()) return Value::integer(input.as_integer());
  if (input.kind() == Kind::kFloat) return truncated(input.as_real(), otherwise);
  if (input.is_undefined()) return fail(ErrorCode::kUnsupported, "int: the value is undefined");
  if (!input.is_string()) return otherwise;
  ANEDVD_TRY_VOID(evaluator.spend(input.bytes().size() / 4));
  ANEDVD_TRY(const auto whole, parse_integer(input.bytes(), base));
  if (whole) return Value::integer(*whole);
  const auto real = parse_real(input.bytes());
  return real ? truncated(*real, otherwise) : Result<Value>(otherwise);
}

Result<Value> to_real(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"default"}));
  const Value otherwise = bound[0] ? *bound[0] : Value::real(0);
  if (input.is_number()) return Value::real(input.as_real());
  if (input.is_undefined()) return fail(ErrorCode::kUnsupported, "float: the value is undefined");
  ANEDVD_TRY_VOID(evaluator.spend(input.weight() * 16));
  const auto real = input.is_string() ? parse_real(input.bytes()) : std::nullopt;
  return real ? Value::real(*real) : otherwise;
}

Result<Value> absolute(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  if (!input.is_number()) return fail(ErrorCode::kUnsupported, "abs needs a number, not '{}'", type_name(input));
  if (input.kind() == Kind::kFloat) return Value::real(std::fabs(input.as_real()));
  if (input.as_integer() >= 0) return Value::integer(input.as_integer());
  return evaluator.calculate(Operator::kSubtract, Value::integer(0), input);
}

Result<Value> round_number(Evaluator&, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"precision", "method"}));
  int64_t precision = 0;
  if (bound[0]) {
    ANEDVD_TRY(precision, want_integer(*bound[0], "round's precision"));
  }
  std::string_view method = "common";
  if (bound[1]) {
    ANEDVD_TRY(const Text* text, want_text(*bound[1], "round's method"));
    method = text->bytes;
  }
  if (!input.is_number()) return fail(ErrorCode::kUnsupported, "round needs a number, not '{}'", type_name(input));
  if (method != "common" && method != "ceil" && method != "floor")
    return fail(ErrorCode::kUnsupported, "round: the method must be common, ceil or floor");
  if (precision < -300 || precision > 300) return fail(ErrorCode::kUnsupported, "round: the precision is out of range");
  const double value = input.as_real();
  if (method != "common") {
    const double scale = std::pow(10.0, static_cast<double>(precision));
    return Value::real((method == "ceil" ? std::ceil(value * scale) : std::floor(value * scale)) / scale);
  }
  if (input.is_integer() && precision >= 0) return Value::integer(input.as_integer());
  if (!std::isfinite(value)) return input;
  if (precision >= 0) {
    // Printing rounds the exact value half to even, as Python's round does.
    const std::string digits = fmt::format("{:.{}f}", value, precision);
    return Value::real(parse_real(digits).value_or(value));
  }
  const double scale = std::pow(10.0, static_cast<double>(-precision));
  const double rounded = std::nearbyint(value / scale) * scale;
  if (input.is_integer()) return Value::integer(static_cast<int64_t>(std::clamp(rounded, -9.2e18, 9.2e18)));
  return Value::real(rounded);
}

Result<Value> otherwise(Evaluator&, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"default_value", "boolean"}));
  if (!input.is_undefined() && !(bound.flag(1) && !truth(input))) return input;
  if (bound[0]) return *bound[0];
  static const Value kEmpty(Kind::kString, std::make_shared<String>());
  return kEmpty;
}

constexpr std::array<NamedBuiltin, 24> kFilters = {{
    {"abs", absolute},
    {"capitalize", change_case<LetterCase::kCapitalize>},
    {"center", center},
    {"d", otherwise},
    {"default", otherwise},
    {"e", escape<false>},
    {"escape", escape<false>},
    {"float", to_real},
    {"forceescape", escape<true>},
    {"format", format},
    {"indent", indent},
    {"int", to_integer},
    {"lower", change_case<LetterCase::kLower>},
    {"replace", replace},
    {"round", round_number},
    {"safe", safe},
    {"string", string},
    {"title", title},
    {"tojson", tojson},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", change_case<LetterCase::kUpper>},
    {"urlencode", urlencode},
    {"wordcount", wordcount},
}};

}  // namespace

const NamedBuiltin* find_text_filter(std::string_view name) {
  const auto* row =
      std::find_if(kFilters.begin(), kFilters.end(), [&](const NamedBuiltin& f) { return f.name == name; });
  return row == kFilters.end() ? nullptr : row;
}

}  // namespace anedvd::jinja
