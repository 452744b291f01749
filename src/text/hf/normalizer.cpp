#include "text/hf/normalizer.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "text/bert_normalizer.h"
#include "text/byte_map.h"
#include "text/hf/base64.h"
#include "text/hf/json_fields.h"
#include "text/hf/regex_pattern.h"
#include "text/models/charsmap.h"
#include "text/normalize.h"
#include "text/unicode.h"

namespace anedvd {
namespace {

using Json = nlohmann::json;

class UnicodeForm final : public NormalizerStep {
 public:
  explicit UnicodeForm(NormalForm form) : form_(form) {}
  bool leaves(std::string_view text) const override { return surely_normal(text, form_); }
  void apply(std::string& text) const override { text = normalize(text, form_); }

 private:
  NormalForm form_;
};

class Replace final : public NormalizerStep {
 public:
  Replace(RegexPattern pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(std::string& text) const override {
    std::vector<StagePart> parts;
    pattern_.split(text, parts);
    if (std::ranges::none_of(parts, &StagePart::matched)) return;
    std::string out;
    for (const StagePart& part : parts) out.append(part.matched ? std::string_view(content_) : part.text);
    text = std::move(out);
  }

 private:
  RegexPattern pattern_;
  std::string content_;
};

class Prepend final : public NormalizerStep {
 public:
  explicit Prepend(std::string text) : text_(std::move(text)) {}
  void apply(std::string& text) const override {
    if (!text.empty()) text.insert(0, text_);
  }

 private:
  std::string text_;
};

class Lowercase final : public NormalizerStep {
 public:
  void apply(std::string& text) const override { text = lower_cased(text); }
};

class Bert final : public NormalizerStep {
 public:
  explicit Bert(BertNormalizer rules) : rules_(rules) {}
  void apply(std::string& text) const override { text = rules_.apply(text); }

 private:
  BertNormalizer rules_;
};

// All combining marks; composed characters keep theirs.
class StripAccents final : public NormalizerStep {
 public:
  void apply(std::string& text) const override {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const Char c = char_at(text, at);
      if (!(c.classes & kMark)) out.append(text, at, c.bytes);
      at += c.bytes;
    }
    text = std::move(out);
  }
};

class Strip final : public NormalizerStep {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(std::string& text) const override {
    size_t start = 0;
    if (left_) {
      for (Char c = char_at(text, start); c.classes & kSpace; c = char_at(text, start)) start += c.bytes;
    }
    size_t end = start;  // after the last character that is no space
    for (size_t at = start; at < text.size();) {
      const Char c = char_at(text, at);
      at += c.bytes;
      if (!right_ || !(c.classes & kSpace)) end = at;
    }
    text = text.substr(start, end - start);
  }

 private:
  bool left_;
  bool right_;
};

class Precompiled final : public NormalizerStep {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {}
  void apply(std::string& text) const override { text = map_.apply(text); }

 private:
  Charsmap map_;
};

class ByteMapping final : public NormalizerStep {
 public:
  void apply(std::string& text) const override {
    std::string mapped;
    append_mapped(text, mapped);
    text = std::move(mapped);
  }
};

// sentencepiece's nmt rules: control characters go, exotic white space becomes a space.
class Nmt final : public NormalizerStep {
 public:
  void apply(std::string& text) const override {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const Char c = char_at(text, at);
      if (becomes_space(c.code)) {
        out.push_back(' ');
      } else if (!is_dropped(c)) {
        out.append(text, at, c.bytes);
      }
      at += c.bytes;
    }
    text = std::move(out);
  }

 private:
  static bool is_dropped(const Char& c) {
    if (c.classes & kBroken) return false;
    const char32_t code = c.code;
    return (code >= 0x1 && code <= 0x8) || code == 0xB || (code >= 0xE && code <= 0x1F) || code == 0x7F ||
           code == 0x8F || code == 0x9F;
  }
  static bool becomes_space(char32_t code) {
    return code == 0x9 || code == 0xA || code == 0xC || code == 0xD || code == 0x1680 ||
           (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 || code == 0x2581 || code == 0xFEFF ||
           code == 0xFFFD;
  }
};

class Reader {
 public:
  explicit Reader(std::string_view where) : where_(where) {}

  Result<> read(const Json& step, int depth) {
    const std::string type = string_field(step, "type");
    if (type == "Sequence") return read_sequence(step, depth);
    if (type == "Replace") return read_replace(step);
    if (type == "Precompiled") return read_precompiled(step);
    if (type == "NFC") return add<UnicodeForm>(NormalForm::kNfc);
    if (type == "NFD") return add<UnicodeForm>(NormalForm::kNfd);
    if (type == "NFKC") return add<UnicodeForm>(NormalForm::kNfkc);
    if (type == "NFKD") return add<UnicodeForm>(NormalForm::kNfkd);
    if (type == "Lowercase") return add<Lowercase>();
    if (type == "StripAccents") return add<StripAccents>();
    if (type == "Nmt") return add<Nmt>();
    if (type == "Strip") return add<Strip>(bool_field(step, "strip_left", true), bool_field(step, "strip_right", true));
    if (type == "Prepend") return add<Prepend>(string_field(step, "prepend", "▁"));
    if (type == "ByteLevel") {
      plan.mapped = true;
      return add<ByteMapping>();
    }
    if (type == "BertNormalizer") {
      const bool lowercase = bool_field(step, "lowercase", true);
      return add<Bert>(BertNormalizer{.clean_text = bool_field(step, "clean_text", true),
                                      .split_ideographs = bool_field(step, "handle_chinese_chars", true),
                                      .strip_accents = bool_field(step, "strip_accents", lowercase),
                                      .lowercase = lowercase});
    }
    return fail(ErrorCode::kUnsupported, "{}: normalizer \"{}\" is not one that anedvd knows", where_, visible(type));
  }

  NormalizerPlan plan;

 private:
  template <class Step, class... Args>
  Result<> add(Args&&... args) {
    plan.steps.push_back(std::make_unique<Step>(std::forward<Args>(args)...));
    return {};
  }

  Result<> read_sequence(const Json& step, int depth) {
    constexpr int kDeepest = 8;
    const Json* parts = array_field(step, "normalizers");
    if (parts == nullptr || depth > kDeepest)
      return fail(ErrorCode::kBadFile, "{}: a normalizer sequence is broken", where_);
    for (const Json& part : *parts) ANEDVD_TRY_VOID(read(part, depth + 1));
    return {};
  }

  Result<> read_replace(const Json& step) {
    ANEDVD_TRY(const PatternField pattern, pattern_field(step, where_));
    std::string content = string_field(step, "content");
    if (!pattern.is_regex) return add<Replace>(RegexPattern::literal(pattern.text), std::move(content));
    ANEDVD_TRY(auto regex, RegexPattern::compile(pattern.text, where_));
    return add<Replace>(std::move(regex), std::move(content));
  }

  Result<> read_precompiled(const Json& step) {
    auto bytes = decode_base64(string_field(step, "precompiled_charsmap"));
    if (!bytes) return fail(ErrorCode::kBadFile, "{}: precompiled_charsmap is no base64 text", where_);
    ANEDVD_TRY(auto map, Charsmap::parse(std::move(*bytes), where_));
    return add<Precompiled>(std::move(map));
  }

  std::string_view where_;
};

}  // namespace

bool NormalizerPlan::leaves(std::string_view text) const {
  return std::ranges::all_of(steps, [&](const auto& step) { return step->leaves(text); });
}

std::string NormalizerPlan::apply(std::string_view text) const {
  std::string out(text);
  for (const auto& step : steps) {
    if (!step->leaves(out)) step->apply(out);
  }
  return out;
}

Result<NormalizerPlan> read_normalizer(const Json& description, std::string_view where) {
  Reader reader(where);
  if (!description.is_null()) ANEDVD_TRY_VOID(reader.read(description, 0));
  return std::move(reader.plan);
}

}  // namespace anedvd
