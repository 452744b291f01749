#include "api/fields.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace anedvd {
namespace {

// A JSON value takes some 40 bytes whatever it is: a body of brackets alone must not grow without bound.
constexpr size_t kMaxValues = 2'000'000;

constexpr double kBeyond = 9223372036854775808.0;  // 2^63: the first that is no int64_t

// An upper bound of the number of values: a value is followed by a comma, or closes something.
bool has_too_many_values(std::string_view text) {
  size_t marks = 0;
  for (const char c : text) marks += c == ',' || c == '[' || c == '{';
  return marks > kMaxValues;
}

tl::unexpected<ApiError> invalid_json(std::string message) {
  return refuse({.code = "invalid_json", .message = std::move(message)});
}

}  // namespace

ApiResult<nlohmann::ordered_json> parse_body(std::string_view body) {
  if (body.empty()) return invalid_json("The body is empty; send a JSON object.");
  // Texts hold commas too, but two millions of them belong to no prompt that fits a context.
  if (has_too_many_values(body)) return invalid_json("The body holds too many values.");
  auto parsed = parse_ordered_json(body, "body");
  if (!parsed) return invalid_json(fmt::format("The {}.", parsed.error().message));
  if (!parsed->is_object()) return invalid_json("The body is not a JSON object.");
  return std::move(*parsed);
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

const Fields::Json* Fields::find(std::string_view name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::string Fields::path(std::string_view name) const {
  return where_.empty() ? std::string(name) : fmt::format("{}.{}", where_, name);
}

ApiResult<std::optional<bool>> Fields::boolean(std::string_view name) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) return wrong_type(path(name), "true or false");
  return value->get<bool>();
}

ApiResult<std::optional<int64_t>> Fields::integer(std::string_view name, int64_t low, int64_t high) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  const auto range = [&] {
    return bad_value(path(name), fmt::format("an integer from {} to {} is expected", low, high));
  };
  if (value->is_number_unsigned()) {
    const uint64_t number = value->get<uint64_t>();
    if (high == kAny && number > uint64_t(high)) return high;
    if (high < 0 || number > uint64_t(high) || int64_t(number) < low) return range();
    return int64_t(number);
  }
  if (value->is_number_integer()) {
    const int64_t number = value->get<int64_t>();
    if (number < low || number > high) return range();
    return number;
  }
  if (value->is_number_float()) {
    const double number = value->get<double>();
    if (number != std::floor(number)) return wrong_type(path(name), "an integer");
    if (number > double(high) && high == kAny) return high;
    if (number < double(low) || number > double(high) || number >= kBeyond) return range();
    return int64_t(number);
  }
  return wrong_type(path(name), "an integer");
}

ApiResult<std::optional<double>> Fields::number(std::string_view name, double low, double high) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_number()) return wrong_type(path(name), "a number");
  const double number = value->get<double>();
  if (!(number >= low && number <= high))
    return bad_value(path(name), fmt::format("a number from {} to {} is expected", low, high));
  return number;
}

ApiResult<std::optional<std::string>> Fields::text(std::string_view name) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) return wrong_type(path(name), "a string");
  return value->get<std::string>();
}

ApiResult<const Fields::Json*> Fields::array(std::string_view name) const {
  const Json* value = find(name);
  if (value && !value->is_array()) return wrong_type(path(name), "an array");
  return value;
}

ApiResult<const Fields::Json*> Fields::object(std::string_view name) const {
  const Json* value = find(name);
  if (value && !value->is_object()) return wrong_type(path(name), "an object");
  return value;
}

ApiResult<std::vector<std::string>> Fields::texts(std::string_view name, size_t most) const {
  const Json* value = find(name);
  std::vector<std::string> texts;
  if (!value) return texts;
  if (value->is_string()) return std::vector<std::string>{value->get<std::string>()};
  if (!value->is_array()) return wrong_type(path(name), "a string or an array of strings");
  if (value->size() > most) return bad_value(path(name), fmt::format("at most {} strings are allowed", most));
  for (size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_string()) return wrong_type(fmt::format("{}[{}]", path(name), i), "a string");
    texts.push_back((*value)[i].get<std::string>());
  }
  return texts;
}

}  // namespace anedvd
