#include "text/hf/decoder.h"

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "text/byte_map.h"
#include "text/hf/json_fields.h"
#include "text/vocabulary.h"

namespace anedvd {
namespace {

using Json = nlohmann::json;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

Result<> read(const Json& step, std::string_view where, int depth, DecoderPlan& plan) {
  constexpr int kDeepest = 8;
  const std::string type = string_field(step, "type");
  if (type == "Sequence") {
    const Json* parts = array_field(step, "decoders");
    if (parts == nullptr || depth > kDeepest)
      return fail(ErrorCode::kBadFile, "{}: a decoder sequence is broken", where);
    for (const Json& part : *parts) ANEDVD_TRY_VOID(read(part, where, depth + 1, plan));
  } else if (type == "ByteLevel") {
    plan.byte_level = true;
  } else if (type == "ByteFallback") {
    plan.byte_fallback = true;
  } else if (type == "Fuse") {
    // Joins tokens before later steps; those act on single tokens here, or on the start of the text.
  } else if (type == "Replace") {
    ANEDVD_TRY(const PatternField pattern, pattern_field(step, where));
    if (pattern.is_regex)
      return fail(ErrorCode::kUnsupported, "{}: a decoder replaces a regular expression, which anedvd cannot", where);
    plan.replacements.emplace_back(pattern.text, string_field(step, "content"));
  } else if (type == "Metaspace") {
    plan.replacements.emplace_back(string_field(step, "replacement", "▁"), " ");
    const std::string legacy = bool_field(step, "add_prefix_space", true) ? "always" : "never";
    plan.drops_first_space = plan.drops_first_space || string_field(step, "prepend_scheme", legacy) != "never";
  } else if (type == "Strip") {
    const auto* start = field(step, "start");
    const bool at_start = start != nullptr && start->is_number_integer() && *start > 0;
    plan.drops_first_space = plan.drops_first_space || (at_start && string_field(step, "content", " ") == " ");
  } else if (type == "WordPiece") {
    plan.words = true;
    plan.continuation = string_field(step, "prefix", "##");
    plan.drops_first_space = true;
  } else if (type == "BPEDecoder") {
    plan.word_end = string_field(step, "suffix", "</w>");
  } else {
    return fail(ErrorCode::kUnsupported, "{}: decoder \"{}\" is not one that anedvd knows", where, visible(type));
  }
  return {};
}

}  // namespace

void DecoderPlan::append(std::string_view text, std::string& out) const {
  if (byte_level) return append_unmapped(text, out);
  if (const int byte = byte_fallback ? byte_token_value(text) : -1; byte >= 0) {
    out.push_back(static_cast<char>(byte));
    return;
  }
  std::string plain(text);
  if (words)
    plain = text.starts_with(continuation) && !continuation.empty() ? plain.substr(continuation.size()) : " " + plain;
  if (!word_end.empty() && plain.ends_with(word_end))
    plain.replace(plain.size() - word_end.size(), word_end.size(), " ");
  out.append(with_replacements(std::move(plain)));
}

void DecoderPlan::append_added(std::string_view text, std::string& out) const {
  out.append(with_replacements(std::string(text)));
}

std::string DecoderPlan::with_replacements(std::string text) const {
  for (const auto& [from, to] : replacements) text = replaced(std::move(text), from, to);
  return text;
}

Result<DecoderPlan> read_decoder(const Json& description, std::string_view where) {
  DecoderPlan plan;
  if (!description.is_null()) ANEDVD_TRY_VOID(read(description, where, 0, plan));
  return plan;
}

}  // namespace anedvd
