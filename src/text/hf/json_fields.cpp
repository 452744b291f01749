#include "text/hf/json_fields.h"

#include <nlohmann/json.hpp>

namespace anedvd {

const nlohmann::json* field(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(name);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

std::string string_field(const nlohmann::json& object, const char* name, std::string_view fallback) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string(fallback);
}

bool bool_field(const nlohmann::json& object, const char* name, bool fallback) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : fallback;
}

const nlohmann::json* array_field(const nlohmann::json& object, const char* name) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_array() ? value : nullptr;
}

Result<PatternField> pattern_field(const nlohmann::json& object, std::string_view where) {
  const auto* pattern = field(object, "pattern");
  // Patterns in files from before the two sorts were told apart are plain strings.
  if (pattern != nullptr && pattern->is_string()) return PatternField{pattern->get<std::string>(), false};
  if (pattern != nullptr) {
    for (const char* sort : {"String", "Regex"}) {
      const auto* text = field(*pattern, sort);
      if (text != nullptr && text->is_string())
        return PatternField{text->get<std::string>(), std::string_view(sort) == "Regex"};
    }
  }
  return fail(ErrorCode::kBadFile, "{}: a pattern is neither a String nor a Regex", where);
}

}  // namespace anedvd
