#include "text/jinja/printing.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <utf8proc.h>

#include "text/jinja/evaluator.h"

namespace anedvd::jinja {
namespace {

// repr of a whole value: text and whether any of it is the user's.
struct Repr {
  std::string bytes;
  Trust trust = Trust::kTemplate;
};

Result<> append_repr(Evaluator& evaluator, Repr& out, const Value& value, int depth);

// Python says so of what has no better name; the address is left out, since it never is the same twice.
void append_object(Repr& out, const Value& value) {
  if (value.kind() == Kind::kMacro) {
    out.bytes += "<Macro ";
    append_string_repr(out.bytes, value.object<Macro>().name);
    out.bytes += ">";
  } else {
    out.bytes += fmt::format("<{} object>", type_name(value));
  }
}

Result<> append_items(Evaluator& evaluator, Repr& out, const std::vector<Value>& items, int depth) {
  bool first = true;
  for (const Value& item : items) {
    if (!std::exchange(first, false)) out.bytes += ", ";
    ANEDVD_TRY_VOID(append_repr(evaluator, out, item, depth + 1));
  }
  return {};
}

Result<> append_list(Evaluator& evaluator, Repr& out, const List& list, int depth) {
  const bool tuple = list.style == ListStyle::kTuple || list.style == ListStyle::kGroup;
  if (list.style == ListStyle::kGenerator) {
    out.bytes += "<generator object>";
    return {};
  }
  if (list.style == ListStyle::kRange) {
    out.bytes += list.step == 1 ? fmt::format("range({}, {})", list.start, list.stop)
                                : fmt::format("range({}, {}, {})", list.start, list.stop, list.step);
    return {};
  }
  const bool view = list.style >= ListStyle::kDictKeys;
  if (view)
    out.bytes += list.style == ListStyle::kDictKeys     ? "dict_keys("
                 : list.style == ListStyle::kDictValues ? "dict_values("
                                                        : "dict_items(";
  out.bytes += tuple ? '(' : '[';
  ANEDVD_TRY_VOID(append_items(evaluator, out, list.items, depth));
  if (tuple && list.items.size() == 1) out.bytes += ',';
  out.bytes += tuple ? ')' : ']';
  if (view) out.bytes += ')';
  return {};
}

Result<> append_repr(Evaluator& evaluator, Repr& out, const Value& value, int depth) {
  ANEDVD_TRY_VOID(evaluator.spend(1));
  if (out.bytes.size() > kMaxTextBytes) return fail(ErrorCode::kNoMemory, "the printed value is too large");
  if (depth > kMaxValueDepth || evaluator.budget().out_of_stack()) {
    return fail(ErrorCode::kUnsupported, "the printed value nests too deep");
  }
  switch (value.kind()) {
    case Kind::kUndefined: out.bytes += "Undefined"; return {};
    case Kind::kNone: out.bytes += "None"; return {};
    case Kind::kBool: out.bytes += value.as_bool() ? "True" : "False"; return {};
    case Kind::kInt: out.bytes += fmt::format("{}", value.as_integer()); return {};
    case Kind::kFloat: out.bytes += float_words(value.as_real()); return {};
    case Kind::kString:
      ANEDVD_TRY_VOID(evaluator.spend(value.bytes().size() / 4));
      if (value.text().markup) out.bytes += "Markup(";
      append_string_repr(out.bytes, value.bytes());
      if (value.text().markup) out.bytes += ")";
      if (value.text().worst() == Trust::kUser) out.trust = Trust::kUser;
      return {};
    case Kind::kList: return append_list(evaluator, out, value.list(), depth);
    case Kind::kDict: {
      out.bytes += '{';
      bool first = true;
      for (const auto& [key, item] : value.dict().entries) {
        if (!std::exchange(first, false)) out.bytes += ", ";
        ANEDVD_TRY_VOID(append_repr(evaluator, out, key, depth + 1));
        out.bytes += ": ";
        ANEDVD_TRY_VOID(append_repr(evaluator, out, item, depth + 1));
      }
      out.bytes += '}';
      return {};
    }
    case Kind::kNamespace: {
      out.bytes += "<Namespace {";
      bool first = true;
      for (const auto& [name, item] : value.object<Namespace>().attributes) {
        if (!std::exchange(first, false)) out.bytes += ", ";
        append_string_repr(out.bytes, name);
        out.bytes += ": ";
        ANEDVD_TRY_VOID(append_repr(evaluator, out, item, depth + 1));
      }
      out.bytes += "}>";
      return {};
    }
    default: append_object(out, value); return {};
  }
}

// json.dumps -------------------------------------------------------------------------------------------------------------------------

void append_json_string(std::string& out, std::string_view text, bool ensure_ascii) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    if (c.code == '"' || c.code == '\\') {
      out += '\\';
      out += static_cast<char>(c.code);
    } else if (c.code < 0x20) {
      constexpr std::string_view kControl = "\b\t\n\f\r", kLetter = "btnfr";
      const size_t known = kControl.find(static_cast<char>(c.code));
      out += known != std::string_view::npos ? fmt::format("\\{}", kLetter[known])
                                             : fmt::format("\\u{:04x}", static_cast<uint32_t>(c.code));
    } else if (!ensure_ascii || c.code < 0x7F) {
      out += text.substr(i, c.size);
    } else if (c.code < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c.code));
    } else {
      const uint32_t rest = static_cast<uint32_t>(c.code) - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    }
    i += c.size;
  }
  out += '"';
}

class JsonWriter {
 public:
  JsonWriter(Evaluator& evaluator, const JsonOptions& options) : evaluator_(evaluator), options_(options) {}

  Result<> write(const Value& value, int depth) {
    ANEDVD_TRY_VOID(evaluator_.spend(1));
    if (out_.bytes.size() > kMaxTextBytes) return fail(ErrorCode::kNoMemory, "tojson writes too much");
    if (evaluator_.budget().out_of_stack()) return fail(ErrorCode::kUnsupported, "tojson: the value nests too deep");
    switch (value.kind()) {
      case Kind::kNone: out_.bytes += "null"; return {};
      case Kind::kBool: out_.bytes += value.as_bool() ? "true" : "false"; return {};
      case Kind::kInt: out_.bytes += fmt::format("{}", value.as_integer()); return {};
      case Kind::kFloat: out_.bytes += number(value.as_real()); return {};
      case Kind::kString: return write_string(value);
      case Kind::kDict: return write_dict(value.dict(), depth);
      case Kind::kList:
        if (value.list().style <= ListStyle::kGroup) return write_list(value.list(), depth);
        break;
      default: break;
    }
    return fail(ErrorCode::kUnsupported, "tojson can't write a value of type '{}'", type_name(value));
  }

  Repr out_;

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return float_words(value);
  }

  Result<> write_string(const Value& value) {
    ANEDVD_TRY_VOID(evaluator_.spend(value.bytes().size() / 4));
    append_json_string(out_.bytes, value.bytes(), options_.ensure_ascii);
    if (value.text().worst() == Trust::kUser) out_.trust = Trust::kUser;
    return {};
  }

  void new_line(int depth) {
    if (!options_.has_indent) return;
    out_.bytes += '\n';
    for (int i = 0; i < depth && out_.bytes.size() <= kMaxTextBytes; ++i) out_.bytes += options_.indent;
  }

  Result<> write_list(const List& list, int depth) {
    if (list.items.empty()) {
      out_.bytes += "[]";
      return {};
    }
    out_.bytes += '[';
    bool first = true;
    for (const Value& item : list.items) {
      if (!std::exchange(first, false)) out_.bytes += options_.item_separator;
      new_line(depth + 1);
      ANEDVD_TRY_VOID(write(item, depth + 1));
    }
    new_line(depth);
    out_.bytes += ']';
    return {};
  }

  Result<> write_key(const Value& key) {
    switch (key.kind()) {
      case Kind::kString: return write_string(key);
      case Kind::kNone: out_.bytes += "\"null\""; return {};
      case Kind::kBool: out_.bytes += key.as_bool() ? "\"true\"" : "\"false\""; return {};
      case Kind::kInt: out_.bytes += fmt::format("\"{}\"", key.as_integer()); return {};
      case Kind::kFloat: out_.bytes += fmt::format("\"{}\"", number(key.as_real())); return {};
      default: return fail(ErrorCode::kUnsupported, "tojson can't write a key of type '{}'", type_name(key));
    }
  }

  Result<> write_dict(const Dict& dict, int depth) {
    if (dict.entries.empty()) {
      out_.bytes += "{}";
      return {};
    }
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (options_.sort_keys) {
      std::optional<Error> error;
      std::stable_sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) {
        const auto sign = order(a->first, b->first);
        if (!sign) error = sign.error();
        return sign && *sign < 0;
      });
      if (error) return tl::unexpected(std::move(*error));
    }
    out_.bytes += '{';
    bool first = true;
    for (const auto* entry : entries) {
      if (!std::exchange(first, false)) out_.bytes += options_.item_separator;
      new_line(depth + 1);
      ANEDVD_TRY_VOID(write_key(entry->first));
      out_.bytes += options_.key_separator;
      ANEDVD_TRY_VOID(write(entry->second, depth + 1));
    }
    new_line(depth);
    out_.bytes += '}';
    return {};
  }

  Evaluator& evaluator_;
  const JsonOptions& options_;
};

}  // namespace

std::string float_words(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto scientific = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(scientific.ptr - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  const char* digits = buffer + e + 1 + (buffer[e + 1] == '+' ? 1 : 0);
  std::from_chars(digits, scientific.ptr, exponent);
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", text.substr(0, e), exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  const auto fixed = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  std::string out(buffer, fixed.ptr);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

bool is_printable(char32_t code) {
  if (code < 0x7F) return code >= 0x20;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
  }
}

void append_string_repr(std::string& out, std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    const auto code = static_cast<uint32_t>(c.code);
    if (code == static_cast<unsigned char>(quote) || code == '\\') {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n' || code == '\r' || code == '\t') {
      out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    } else if (c.valid && is_printable(c.code)) {
      out += text.substr(i, c.size);
    } else {
      out += code < 0x100     ? fmt::format("\\x{:02x}", code)
             : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                              : fmt::format("\\U{:08x}", code);
    }
    i += c.size;
  }
  out += quote;
}

Result<Value> to_json(Evaluator& evaluator, const Value& value, const JsonOptions& options) {
  JsonWriter writer(evaluator, options);
  ANEDVD_TRY_VOID(writer.write(value, 0));
  return evaluator.make_text(writer.out_.bytes, writer.out_.trust);
}

void append_escaped(TextBuilder& out, const Text& text) {
  size_t done = 0;
  const std::string_view bytes = text.bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    constexpr std::string_view kSpecial = "&<>'\"";
    constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const size_t special = kSpecial.find(bytes[i]);
    if (special == std::string_view::npos) continue;
    out.append(text, done, i);
    out.append(kEntities[special], text.worst());
    done = i + 1;
  }
  out.append(text, done, bytes.size());
}

Result<> Evaluator::print(TextBuilder& out, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return {};
    case Kind::kString:
      ANEDVD_TRY_VOID(spend(value.bytes().size() / 64));
      out.append(value.text());
      return {};
    default: return print_repr(out, value);
  }
}

Result<> Evaluator::print_repr(TextBuilder& out, const Value& value) {
  Repr repr;
  ANEDVD_TRY_VOID(append_repr(*this, repr, value, 0));
  ANEDVD_TRY_VOID(spend(repr.bytes.size() / 64));
  out.append(repr.bytes, repr.trust);
  return {};
}

}  // namespace anedvd::jinja
