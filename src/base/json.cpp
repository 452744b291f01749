#include "base/json.h"

#include <nlohmann/json.hpp>

namespace anedvd {
namespace {

// Byte of the bracket that opens level kMaxJsonDepth + 1, or npos. Brackets inside strings do not count.
size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

template <class Json>
Result<Json> parse(std::string_view text, std::string_view where) {
  if (const size_t at = too_deep_at(text); at != std::string_view::npos)
    return fail(ErrorCode::kBadFile, "{}: JSON nested deeper than {} levels at byte {}; use fewer", where,
                kMaxJsonDepth, at);
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return fail(ErrorCode::kBadFile, "{}: not valid JSON at byte {}; look for a quote, comma or bracket there", where,
                error.byte);
  } catch (const std::exception& error) {
    return fail(ErrorCode::kBadFile, "{}: not valid JSON ({}); mend the file", where, error.what());
  }
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, std::string_view where) {
  return parse<nlohmann::json>(text, where);
}

Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text, std::string_view where) {
  return parse<nlohmann::ordered_json>(text, where);
}

}  // namespace anedvd
