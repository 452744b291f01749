#include "text/hf/regex_pattern.h"

#include <algorithm>
#include <array>
#include <iterator>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/words.h"

namespace anedvd {
namespace {

// Scripts that patterns name. PCRE2 takes \p{Han} for Script_Extensions, Oniguruma for Script.
constexpr std::string_view kScripts[] = {
    "Han",     "Hiragana", "Katakana", "Hangul",     "Bopomofo",  "Latin",  "Greek",    "Cyrillic", "Arabic",
    "Hebrew",  "Thai",     "Lao",      "Devanagari", "Bengali",   "Tamil",  "Telugu",   "Khmer",    "Myanmar",
    "Tibetan", "Georgian", "Armenian", "Ethiopic",   "Mongolian", "Common", "Inherited"};

// {Han} → {sc:Han} at the start of `rest`, or "" if no script of the list stands there.
std::string script_property(std::string_view rest) {
  const size_t close = rest.find('}');
  if (!rest.starts_with('{') || close == std::string_view::npos) return "";
  std::string_view name = rest.substr(1, close - 1);
  const bool negated = name.starts_with('^');
  if (negated) name.remove_prefix(1);
  if (std::ranges::find(kScripts, name) == std::end(kScripts)) return "";
  return fmt::format("{{{}sc:{}}}", negated ? "^" : "", name);
}

// Oniguruma's \w; PCRE2's has no marks and more numbers.
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

struct PosixClass {
  std::string_view name, members;
};
constexpr PosixClass kPosixClasses[] = {{"[:alpha:]", R"(\p{Alphabetic})"},
                                        {"[:alnum:]", R"(\p{Alphabetic}\p{Nd})"},
                                        {"[:digit:]", R"(\p{Nd})"},
                                        {"[:space:]", R"(\p{White_Space})"},
                                        {"[:upper:]", R"(\p{Uppercase})"},
                                        {"[:lower:]", R"(\p{Lowercase})"},
                                        {"[:word:]", kWord},
                                        {"[:punct:]", R"(\p{P}\p{S})"}};

// An expression written for Oniguruma as one for PCRE2. Fails on what has no counterpart.
class Bridge {
 public:
  Result<std::string> read(std::string_view expression, std::string_view where) {
    for (size_t i = 0; i < expression.size();) {
      const std::string_view rest = expression.substr(i);
      const size_t length = inside_ ? read_in_class(rest) : read_outside(rest);
      if (length == 0) {
        return fail(ErrorCode::kUnsupported, "{}: a pattern has a part that anedvd cannot read, at its byte {}: {}",
                    where, i, visible(expression));
      }
      i += length;
    }
    return std::move(out_);
  }

 private:
  size_t put(std::string_view text, size_t length) {
    out_.append(text);
    return length;
  }

  size_t read_outside(std::string_view rest) {
    if (rest.front() == '[') {
      inside_ = true;
      // A bracket right at the start of a class is one of its members.
      const size_t length = rest.starts_with("[^") ? 2 : 1;
      const bool member = rest.substr(length).starts_with(']');
      return put(rest.substr(0, length + member), length + member);
    }
    if (rest.front() != '\\' || rest.size() < 2) return put(rest.substr(0, 1), 1);
    switch (rest[1]) {
      case 'w': return put(fmt::format("[{}]", kWord), 2);
      case 'W': return put(fmt::format("[^{}]", kWord), 2);
      case 'b': return put(fmt::format("(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))", kWord), 2);
      case 'B': return put(fmt::format("(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))", kWord), 2);
      case 'h': return put("[0-9a-fA-F]", 2);
      default: return read_escape(rest);
    }
  }

  size_t read_in_class(std::string_view rest) {
    if (rest.starts_with("&&")) return 0;  // an intersection, which PCRE2 reads as two characters
    for (const PosixClass& posix : kPosixClasses) {
      if (rest.starts_with(posix.name)) return put(posix.members, posix.name.size());
    }
    if (rest.front() == '[') {
      // A class in a class adds its members; PCRE2 has no such thing, but nor does it need the brackets.
      ++nested_;
      return rest.starts_with("[^") ? 0 : 1;
    }
    if (rest.front() == ']' && nested_ > 0) {
      --nested_;
      return 1;
    }
    if (rest.front() == ']') inside_ = false;
    if (rest.front() != '\\' || rest.size() < 2) return put(rest.substr(0, 1), 1);
    switch (rest[1]) {
      case 'w': return put(kWord, 2);
      case 'W': return 0;
      case 'h': return put("0-9a-fA-F", 2);
      default: return read_escape(rest);
    }
  }

  // \s, properties and everything that means the same.
  size_t read_escape(std::string_view rest) {
    if (rest[1] == 's') return put("\\p{White_Space}", 2);
    if (rest[1] == 'S') return put("\\P{White_Space}", 2);
    const std::string script = rest[1] == 'p' || rest[1] == 'P' ? script_property(rest.substr(2)) : "";
    out_.append(rest.substr(0, 2));
    return script.empty() ? 2 : put(script, rest.find('}') + 1);
  }

  bool inside_ = false;
  int nested_ = 0;  // classes open inside the class
  std::string out_;
};

}  // namespace

struct RegexPattern::Code {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;

  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

Result<RegexPattern> RegexPattern::compile(std::string_view expression, std::string_view where) {
  ANEDVD_TRY(const std::string pattern, Bridge().read(expression, where));
  int error = 0;
  PCRE2_SIZE at = 0;
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
  auto code = std::make_shared<Code>();
  code->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options, &error, &at, nullptr);
  if (code->code == nullptr) {
    std::array<PCRE2_UCHAR, 128> message{};
    pcre2_get_error_message(error, message.data(), message.size());
    return fail(ErrorCode::kUnsupported, "{}: a pre-tokenizer pattern cannot be read ({}): {}", where,
                reinterpret_cast<const char*>(message.data()), visible(expression));
  }
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);  // where it is not to be had, matching is only slower
  constexpr uint32_t kSteps = 10'000'000;             // far more than honest patterns take for a word
  code->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(code->context, kSteps);
  RegexPattern result;
  result.code_ = std::move(code);
  return result;
}

RegexPattern RegexPattern::literal(std::string_view text) {
  RegexPattern result;
  result.literal_ = text;
  return result;
}

void RegexPattern::split(std::string_view text, std::vector<StagePart>& parts) const {
  size_t unmatched = 0;
  const auto matched = [&](size_t start, size_t end) {
    if (start > unmatched) parts.push_back({text.substr(unmatched, start - unmatched), false});
    if (end > start) parts.push_back({text.substr(start, end - start), true});
    unmatched = end;
  };
  if (!code_) {
    for (size_t at = literal_.empty() ? std::string_view::npos : text.find(literal_); at != std::string_view::npos;
         at = text.find(literal_, unmatched)) {
      matched(at, at + literal_.size());
    }
  } else {
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(pcre2_match_data_create(1, nullptr),
                                                                              &pcre2_match_data_free);
    for (size_t at = 0; at < text.size();) {
      const int found = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, 0,
                                    data.get(), code_->context);
      if (found < 0) break;
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
      if (range[1] < range[0] || range[1] > text.size()) break;  // \K in a lookahead can turn a match around
      matched(range[0], range[1]);
      at = range[1] > range[0] ? range[1] : range[1] + std::max<uint32_t>(1, char_at(text, range[1]).bytes);
    }
  }
  if (text.size() > unmatched) parts.push_back({text.substr(unmatched), false});
}

}  // namespace anedvd
