// JSON from outside, parsed with a bound on nesting. Values are nlohmann::json; headers elsewhere include <nlohmann/json_fwd.hpp> only.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace anedvd {

constexpr int kMaxJsonDepth = 512;  // real configs, tokenizers and requests stay below 20

// Parses one JSON value. `where` names the file or field in the error (kBadFile), which tells the byte at fault.
// Nesting deeper than kMaxJsonDepth is refused before anything is built.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view where);

// The same, keeping the order of keys: messages and tool schemas, which templates print as they came.
Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text, std::string_view where);

}  // namespace anedvd
