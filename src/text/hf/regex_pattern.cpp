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

// PCRE2's \s has a character (U+180E) that White_Space lacks.
std::string bridged(std::string_view expression) {
  std::string out;
  for (size_t i = 0; i < expression.size(); ++i) {
    if (expression[i] != '\\' || i + 1 == expression.size()) {
      out.push_back(expression[i]);
      continue;
    }
    const char escaped = expression[++i];
    if (escaped == 's') {
      out.append("\\p{White_Space}");
    } else if (escaped == 'S') {
      out.append("\\P{White_Space}");
    } else {
      out.push_back('\\');
      out.push_back(escaped);
      const std::string script = escaped == 'p' || escaped == 'P' ? script_property(expression.substr(i + 1)) : "";
      if (!script.empty()) {
        out.append(script);
        i = expression.find('}', i);
      }
    }
  }
  return out;
}

// && inside a bracketed class.
bool has_intersection(std::string_view expression) {
  bool inside = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    if (expression[i] == '\\') {
      ++i;
    } else if (expression[i] == '[') {
      inside = true;
    } else if (expression[i] == ']') {
      inside = false;
    } else if (inside && expression.substr(i).starts_with("&&")) {
      return true;
    }
  }
  return false;
}

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
  if (has_intersection(expression)) {
    return fail(ErrorCode::kUnsupported, "{}: a pre-tokenizer pattern uses &&, which anedvd cannot read: {}", where,
                visible(expression));
  }
  const std::string pattern = bridged(expression);
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
