// Fields of the small objects in a tokenizer.json, of whatever type they turn out to be.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace anedvd {

// The field's value, or `fallback` if the object lacks it, it is of another type, or `object` is no object.
std::string string_field(const nlohmann::json& object, const char* name, std::string_view fallback = "");
bool bool_field(const nlohmann::json& object, const char* name, bool fallback);

// Borrowed; nullptr if it is no array (of the right sort).
const nlohmann::json* array_field(const nlohmann::json& object, const char* name);
// The field of any type, nullptr if absent or null.
const nlohmann::json* field(const nlohmann::json& object, const char* name);

// {"String": "x"} or {"Regex": "x"} under "pattern".
struct PatternField {
  std::string text;
  bool is_regex = false;
};
Result<PatternField> pattern_field(const nlohmann::json& object, std::string_view where);

}  // namespace anedvd
