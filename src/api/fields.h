// The fields of a request's JSON object, each checked when it is asked for.
//
// null is absent. A known field of the wrong type or out of range is an error that names it; fields that nobody asks for are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/api_error.h"

namespace anedvd {

// The body as a JSON object: 400 invalid_json otherwise.
ApiResult<nlohmann::ordered_json> parse_body(std::string_view body);

// JSON as text; bytes that are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

class Fields {
 public:
  using Json = nlohmann::ordered_json;

  // Borrows `object` (which must be one). `where` stands before the names in errors: "messages[2]".
  explicit Fields(const Json& object, std::string where = {}) : object_(&object), where_(std::move(where)) {}

  // nullptr: absent or null.
  const Json* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // "messages[2].content": the name as errors give it.
  std::string path(std::string_view name) const;

  ApiResult<std::optional<bool>> boolean(std::string_view name) const;
  // A whole number (256.0 is one, "256" is not) in [low, high]. Whatever is above kAny is kAny.
  static constexpr int64_t kAny = int64_t(1) << 62;
  ApiResult<std::optional<int64_t>> integer(std::string_view name, int64_t low, int64_t high) const;
  // A finite number in [low, high].
  ApiResult<std::optional<double>> number(std::string_view name, double low, double high) const;
  ApiResult<std::optional<std::string>> text(std::string_view name) const;
  ApiResult<const Json*> array(std::string_view name) const;   // nullptr: absent
  ApiResult<const Json*> object(std::string_view name) const;  // nullptr: absent
  // A text, or an array of at most `most` texts. Empty when absent.
  ApiResult<std::vector<std::string>> texts(std::string_view name, size_t most) const;

 private:
  const Json* object_;
  std::string where_;
};

}  // namespace anedvd
