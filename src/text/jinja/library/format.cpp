#include "text/jinja/library/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/words.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/printing.h"

namespace anedvd::jinja {
namespace {

constexpr int64_t kMaxWidth = 10'000;  // of one field; nothing a prompt needs

// What stands behind the colon, or between % and the letter.
struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ =
  char sign = '-';
  bool alternate = false;
  char grouping = 0;
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};

// Digits with a separator every three, counted from the point.
std::string grouped(std::string_view digits, char separator) {
  const size_t point = std::min(digits.find_first_of(".e"), digits.size());
  std::string out;
  for (size_t i = 0; i < point; ++i) {
    if (i > 0 && (point - i) % 3 == 0) out += separator;
    out += digits[i];
  }
  return out.append(digits.substr(point));
}

// %g, %f, %e of a finite value through the C library, which rounds as Python does.
std::string real_digits(double value, char type, int64_t precision, bool alternate) {
  if (!std::isfinite(value)) {
    const std::string_view words = std::isnan(value) ? "nan" : "inf";
    return std::string(type < 'a' ? (std::isnan(value) ? "NAN" : "INF") : words);
  }
  const char format[] = {
      '%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : type, alternate ? type : '\0', '\0'};
  const int digits = static_cast<int>(std::min<int64_t>(precision, 400));
  std::string out(800, '\0');
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  out.resize(static_cast<size_t>(std::snprintf(out.data(), out.size(), format, digits, value)));
#pragma GCC diagnostic pop
  return out;
}

std::string integer_digits(uint64_t magnitude, char type) {
  switch (type) {
    case 'x': return fmt::format("{:x}", magnitude);
    case 'X': return fmt::format("{:X}", magnitude);
    case 'o': return fmt::format("{:o}", magnitude);
    case 'b': return fmt::format("{:b}", magnitude);
    default: return fmt::format("{}", magnitude);
  }
}

uint64_t magnitude_of(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// Puts `body` (sign and prefix before, digits after) into its field.
void append_field(TextBuilder& out, const Text& body, std::string_view prefix, const Spec& spec, char default_align) {
  const size_t used = body.length + prefix.size();
  const size_t width = static_cast<size_t>(spec.width);
  const size_t pad = width > used ? width - used : 0;
  const char align = spec.align ? spec.align : default_align;
  const size_t left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
  out.repeat(spec.fill, left, Trust::kTemplate);
  out.append(prefix, Trust::kTemplate);
  if (align == '=') out.repeat(spec.fill, pad, Trust::kTemplate);
  out.append(body);
  if (align == '<' || align == '^') out.repeat(spec.fill, pad - left, Trust::kTemplate);
}

Text plain(std::string bytes) {
  TextBuilder builder;
  builder.append(bytes, Trust::kTemplate);
  return builder.finish();
}

std::string_view sign_words(bool negative, char sign) {
  return negative ? "-" : sign == '+' ? "+" : sign == ' ' ? " " : "";
}

Result<> append_integer(TextBuilder& out, int64_t value, const Spec& spec) {
  std::string prefix(sign_words(value < 0, spec.sign));
  if (spec.alternate && spec.type != 'd' && spec.type != 'n' && spec.type != 0) prefix += fmt::format("0{}", spec.type);
  std::string digits = integer_digits(magnitude_of(value), spec.type);
  if (spec.grouping) digits = grouped(digits, spec.grouping);
  if (spec.precision > static_cast<int64_t>(digits.size()))
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  append_field(out, plain(std::move(digits)), prefix, spec, '>');
  return {};
}

Result<> append_real(TextBuilder& out, double value, const Spec& spec) {
  std::string digits;
  const double magnitude = std::fabs(value);
  if (spec.type == 0) {
    digits = spec.precision < 0 ? float_words(magnitude)
                                : real_digits(magnitude, 'g', std::max<int64_t>(spec.precision, 1), spec.alternate);
    if (spec.precision >= 0 && std::isfinite(value) && digits.find_first_of(".e") == std::string::npos) digits += ".0";
  } else {
    const char type = spec.type == '%' ? 'f' : spec.type == 'n' ? 'g' : spec.type;
    digits = real_digits(spec.type == '%' ? magnitude * 100 : magnitude, type, spec.precision < 0 ? 6 : spec.precision,
                         spec.alternate);
    if (spec.type == '%') digits += '%';
  }
  if (spec.grouping) digits = grouped(digits, spec.grouping);
  append_field(out, plain(std::move(digits)), sign_words(std::signbit(value) && !std::isnan(value), spec.sign), spec,
               '>');
  return {};
}

void append_text(TextBuilder& out, const Text& text, const Spec& spec) {
  if (spec.precision >= 0 && static_cast<uint64_t>(spec.precision) < text.length) {
    TextBuilder cut;
    cut.append(text, 0, byte_offset(text, static_cast<size_t>(spec.precision)));
    return append_field(out, cut.finish(), "", spec, '<');
  }
  append_field(out, text, "", spec, '<');
}

Result<int64_t> read_number(std::string_view bytes, size_t& i) {
  int64_t value = 0;
  const auto read = std::from_chars(bytes.data() + i, bytes.data() + bytes.size(), value);
  if (read.ec == std::errc::result_out_of_range || value > kMaxWidth) {
    return fail(ErrorCode::kUnsupported, "a format's width is more than {}", kMaxWidth);
  }
  i = static_cast<size_t>(read.ptr - bytes.data());
  return value;
}

// % formatting -----------------------------------------------------------------------------------------------------------------------

class PercentFormatter {
 public:
  PercentFormatter(Evaluator& evaluator, const Text& format, const Value& values)
      : evaluator_(evaluator), format_(format), values_(values) {}

  Result<Value> run() {
    const std::string_view bytes = format_.bytes;
    size_t i = 0;
    while (i < bytes.size()) {
      const size_t percent = std::min(bytes.find('%', i), bytes.size());
      out_.append(format_, i, percent);
      i = percent;
      if (i < bytes.size()) ANEDVD_TRY_VOID(conversion(i));
    }
    const bool is_tuple = values_.is_list() && values_.list().style == ListStyle::kTuple;
    const size_t available = is_tuple ? values_.list().items.size() : 1;
    const bool may_stay = values_.is_dict() || (values_.is_list() && !is_tuple) || values_.is_undefined();
    if (used_ < available && !may_stay) return fail(ErrorCode::kUnsupported, "%: not all values were used");
    return evaluator_.make_text(out_, format_.markup);
  }

 private:
  Result<Value> next_value() {
    if (values_.is_list() && values_.list().style == ListStyle::kTuple) {
      if (used_ < values_.list().items.size()) return values_.list().items[used_++];
    } else if (used_ == 0) {
      ++used_;
      return values_;
    }
    return fail(ErrorCode::kUnsupported, "%: there are not enough values");
  }

  Result<> conversion(size_t& i) {
    const std::string_view bytes = format_.bytes;
    const auto at = [&](size_t k) { return k < bytes.size() ? bytes[k] : '\0'; };
    ++i;
    Spec spec;
    std::optional<Value> named;
    if (at(i) == '(') {
      const size_t close = bytes.find(')', i);
      if (close == std::string_view::npos) return fail(ErrorCode::kUnsupported, "%: a name is not closed");
      if (!values_.is_dict()) return fail(ErrorCode::kUnsupported, "%: names need a dict");
      const Value* found = values_.dict().find(bytes.substr(i + 1, close - i - 1));
      if (!found) return fail(ErrorCode::kUnsupported, "%: the dict lacks a name");
      named = *found;
      i = close + 1;
    }
    for (; std::string_view("-+ #0").find(at(i)) != std::string_view::npos && at(i) != '\0'; ++i) {
      if (at(i) == '-') spec.align = '<';
      if (at(i) == '+' || (at(i) == ' ' && spec.sign != '+')) spec.sign = at(i);
      if (at(i) == '#') spec.alternate = true;
      if (at(i) == '0') spec.fill = "0";
    }
    ANEDVD_TRY(spec.width, star_or_number(i));
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (at(i) == '.') {
      ++i;
      ANEDVD_TRY(const int64_t precision, star_or_number(i));
      spec.precision = std::max<int64_t>(precision, 0);
    }
    while (at(i) == 'l' || at(i) == 'h' || at(i) == 'L') ++i;
    ANEDVD_TRY_VOID(evaluator_.spend(10 + static_cast<uint64_t>(spec.width) / 8));
    spec.type = at(i);
    if (spec.type == '\0') return fail(ErrorCode::kUnsupported, "%: the format ends too early");
    ++i;
    if (spec.type == '%') {
      out_.append("%", format_.trust);
      return {};
    }
    Value value;
    if (named) {
      value = *named;
    } else {
      ANEDVD_TRY(value, next_value());
    }
    return convert(value, spec);
  }

  Result<int64_t> star_or_number(size_t& i) {
    if (i < format_.bytes.size() && format_.bytes[i] == '*') {
      ++i;
      ANEDVD_TRY(auto value, next_value());
      if (value.kind() != Kind::kInt || std::abs(value.as_integer()) > kMaxWidth)
        return fail(ErrorCode::kUnsupported, "%: * needs a small whole number");
      return value.as_integer();
    }
    return read_number(format_.bytes, i);
  }

  Result<> convert(const Value& value, Spec& spec) {
    const bool zero = spec.fill == "0" && spec.align != '<';
    const auto number_align = [&] {
      if (zero) spec.align = '=';
      if (spec.align == '<') spec.fill = " ";
    };
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a': {
        TextBuilder text;
        if (spec.type == 's') {
          ANEDVD_TRY_VOID(evaluator_.print(text, value));
        } else {
          ANEDVD_TRY_VOID(evaluator_.print_repr(text, value));
        }
        spec.fill = " ";
        if (!spec.align) spec.align = '>';
        Text done = text.finish();
        if (format_.markup && !(value.is_string() && value.text().markup)) {
          TextBuilder escaped;
          append_escaped(escaped, done);
          done = escaped.finish();
        }
        append_text(out_, done, spec);
        return {};
      }
      case 'd':
      case 'i':
      case 'u':
        if (!value.is_number()) return fail(ErrorCode::kUnsupported, "%d needs a number, not '{}'", type_name(value));
        number_align();
        spec.type = 'd';
        return append_integer(out_,
                              value.is_integer() ? value.as_integer()
                                                 : static_cast<int64_t>(std::clamp(value.as_real(), -9.2e18, 9.2e18)),
                              spec);
      case 'x':
      case 'X':
      case 'o':
        if (!value.is_integer())
          return fail(ErrorCode::kUnsupported, "%{} needs a whole number, not '{}'", spec.type, type_name(value));
        number_align();
        return append_integer(out_, value.as_integer(), spec);
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
        if (!value.is_number())
          return fail(ErrorCode::kUnsupported, "%{} needs a number, not '{}'", spec.type, type_name(value));
        number_align();
        return append_real(out_, value.as_real(), spec);
      case 'c': {
        TextBuilder text;
        if (value.is_string() && value.text().length == 1) {
          text.append(value.text());
        } else if (value.is_integer() && value.as_integer() >= 0 && value.as_integer() <= 0x10FFFF) {
          text.append_code_point(static_cast<char32_t>(value.as_integer()), Trust::kUser);
        } else {
          return fail(ErrorCode::kUnsupported, "%c needs one character or its number");
        }
        append_text(out_, text.finish(), spec);
        return {};
      }
      default: return fail(ErrorCode::kUnsupported, "%: the letter '{}' is unknown", visible({&spec.type, 1}));
    }
  }

  Evaluator& evaluator_;
  const Text& format_;
  const Value& values_;
  TextBuilder out_;
  size_t used_ = 0;
};

// {} formatting ----------------------------------------------------------------------------------------------------------------------

class BraceFormatter {
 public:
  BraceFormatter(Evaluator& evaluator, const Text& format, const Arguments& arguments)
      : evaluator_(evaluator), format_(format), arguments_(arguments) {}

  Result<Value> run() {
    const std::string_view bytes = format_.bytes;
    size_t i = 0;
    while (i < bytes.size()) {
      const size_t brace = std::min(bytes.find_first_of("{}", i), bytes.size());
      out_.append(format_, i, brace);
      i = brace;
      if (i == bytes.size()) break;
      if (i + 1 < bytes.size() && bytes[i + 1] == bytes[i]) {
        out_.append(format_, i, i + 1);
        i += 2;
      } else if (bytes[i] == '}') {
        return fail(ErrorCode::kUnsupported, "format: a single '}}'; double it");
      } else {
        ANEDVD_TRY_VOID(field(i));
      }
    }
    return evaluator_.make_text(out_, format_.markup);
  }

 private:
  Result<> field(size_t& i) {
    const std::string_view bytes = format_.bytes;
    const size_t close = bytes.find('}', i);
    if (close == std::string_view::npos) return fail(ErrorCode::kUnsupported, "format: a field is not closed");
    std::string_view inside = bytes.substr(i + 1, close - i - 1);
    i = close + 1;
    if (inside.find('{') != std::string_view::npos)
      return fail(ErrorCode::kUnsupported, "format: fields in fields are not supported");
    std::string_view spec_words;
    if (const size_t colon = inside.find(':'); colon != std::string_view::npos) {
      spec_words = inside.substr(colon + 1);
      inside = inside.substr(0, colon);
    }
    char conversion = 0;
    if (const size_t mark = inside.find('!'); mark != std::string_view::npos) {
      if (mark + 2 != inside.size()) return fail(ErrorCode::kUnsupported, "format: one letter stands behind '!'");
      conversion = inside[mark + 1];
      inside = inside.substr(0, mark);
    }
    ANEDVD_TRY(auto value, look_up(inside));
    if (conversion == 'r' || conversion == 'a') {
      TextBuilder text;
      ANEDVD_TRY_VOID(evaluator_.print_repr(text, value));
      ANEDVD_TRY(value, evaluator_.make_text(text));
    } else if (conversion == 's') {
      ANEDVD_TRY(value, evaluator_.to_text(value));
    } else if (conversion != 0) {
      return fail(ErrorCode::kUnsupported, "format: '!{}' is unknown", visible({&conversion, 1}));
    }
    return append(value, spec_words);
  }

  Result<Value> look_up(std::string_view path) {
    const size_t name_end = std::min(path.find_first_of(".["), path.size());
    const std::string_view name = path.substr(0, name_end);
    Value value;
    if (name.empty() || (name[0] >= '0' && name[0] <= '9')) {
      size_t index = next_;
      if (name.empty() ? counts_ == Count::kByHand : counts_ == Count::kInOrder) {
        return fail(ErrorCode::kUnsupported, "format: fields are either all numbered or none");
      }
      counts_ = name.empty() ? Count::kInOrder : Count::kByHand;
      next_ += name.empty() ? 1 : 0;
      if (!name.empty()) {
        size_t i = 0;
        ANEDVD_TRY(const int64_t number, read_number(name, i));
        index = static_cast<size_t>(number);
      }
      if (index >= arguments_.positional.size())
        return fail(ErrorCode::kUnsupported, "format: there are not enough values");
      value = arguments_.positional[index];
    } else {
      const auto found = std::find_if(arguments_.named.begin(), arguments_.named.end(),
                                      [&](const auto& a) { return a.first == name; });
      if (found == arguments_.named.end())
        return fail(ErrorCode::kUnsupported, "format: there is no value of that name");
      value = found->second;
    }
    for (size_t i = name_end; i < path.size();) {
      ANEDVD_TRY_VOID(evaluator_.spend(1));
      if (value.is_undefined()) return fail(ErrorCode::kUnsupported, "format: a field's object is undefined");
      if (path[i] == '.') {
        const size_t end = std::min(path.find_first_of(".[", i + 1), path.size());
        ANEDVD_TRY(value, evaluator_.get_attribute(value, path.substr(i + 1, end - i - 1)));
        i = end;
        continue;
      }
      const size_t end = path.find(']', i);
      if (path[i] != '[' || end == std::string_view::npos)
        return fail(ErrorCode::kUnsupported, "format: a field's path is broken");
      const std::string_view key = path.substr(i + 1, end - i - 1);
      int64_t number = 0;
      const auto read = std::from_chars(key.data(), key.data() + key.size(), number);
      const bool is_number = read.ec == std::errc() && read.ptr == key.data() + key.size();
      ANEDVD_TRY(auto key_value, evaluator_.make_text(key));
      ANEDVD_TRY(value, evaluator_.get_item(value, is_number ? Value::integer(number) : key_value));
      i = end + 1;
    }
    return value;
  }

  Result<Spec> read_spec(std::string_view words) {
    Spec spec;
    size_t i = 0;
    const auto at = [&](size_t k) { return k < words.size() ? words[k] : '\0'; };
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    const size_t first = words.empty() ? 0 : character_at(words, 0).size;
    if (!words.empty() && is_align(at(first))) {
      spec.fill = words.substr(0, first);
      spec.align = at(first);
      i = first + 1;
    } else if (is_align(at(0))) {
      spec.align = at(i++);
    }
    if (at(i) == '+' || at(i) == '-' || at(i) == ' ') spec.sign = at(i++);
    if (at(i) == '#') spec.alternate = at(i++) == '#';
    if (at(i) == '0') {
      ++i;
      if (!spec.align) {
        spec.fill = "0";
        spec.align = '=';
      }
    }
    ANEDVD_TRY(spec.width, read_number(words, i));
    if (at(i) == ',' || at(i) == '_') spec.grouping = at(i++);
    if (at(i) == '.') {
      const size_t digits = ++i;
      ANEDVD_TRY(spec.precision, read_number(words, i));
      if (i == digits) return fail(ErrorCode::kUnsupported, "format: a precision is missing");
    }
    if (i < words.size()) spec.type = at(i++);
    if (i != words.size()) return fail(ErrorCode::kUnsupported, "format: the specification is broken");
    return spec;
  }

  Result<> append(const Value& value, std::string_view words) {
    if (words.empty()) return evaluator_.print(out_, value);
    ANEDVD_TRY(auto spec, read_spec(words));
    ANEDVD_TRY_VOID(evaluator_.spend(10 + static_cast<uint64_t>(spec.width) / 8));
    const auto is_one_of = [&](std::string_view letters) {
      return spec.type == 0 || letters.find(spec.type) != std::string_view::npos;
    };
    if (value.is_string()) {
      if (!is_one_of("s") || spec.align == '=' || spec.sign != '-' || spec.grouping || spec.alternate) {
        return fail(ErrorCode::kUnsupported, "format: the specification does not fit a str");
      }
      append_text(out_, value.text(), spec);
      return {};
    }
    if (value.kind() == Kind::kBool && spec.type == 0) {
      return append_integer(out_, value.as_integer(), spec);
    }
    if (value.is_integer() && is_one_of("dxXobn")) {
      if (spec.precision >= 0) return fail(ErrorCode::kUnsupported, "format: whole numbers take no precision");
      return append_integer(out_, value.as_integer(), spec);
    }
    if (value.is_integer() && spec.type == 'c') {
      if (value.as_integer() < 0 || value.as_integer() > 0x10FFFF)
        return fail(ErrorCode::kUnsupported, "format: no such character");
      TextBuilder text;
      text.append_code_point(static_cast<char32_t>(value.as_integer()), Trust::kUser);
      append_text(out_, text.finish(), spec);
      return {};
    }
    if (value.is_number() && is_one_of("eEfFgG%n")) return append_real(out_, value.as_real(), spec);
    return fail(ErrorCode::kUnsupported, "format: the specification does not fit a '{}'", type_name(value));
  }

  Evaluator& evaluator_;
  const Text& format_;
  const Arguments& arguments_;
  TextBuilder out_;
  enum class Count { kUnknown, kInOrder, kByHand } counts_ = Count::kUnknown;
  size_t next_ = 0;
};

}  // namespace

Result<Value> format_percent(Evaluator& evaluator, const Text& format, const Value& values) {
  return PercentFormatter(evaluator, format, values).run();
}

Result<Value> format_braces(Evaluator& evaluator, const Text& format, const Arguments& arguments) {
  return BraceFormatter(evaluator, format, arguments).run();
}

}  // namespace anedvd::jinja
