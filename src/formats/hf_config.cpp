#include "formats/hf_config.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"

namespace anedvd {

using Json = nlohmann::json;

struct HfConfig::Parsed {
  std::string where;
  Json config, generation;
  const Json* text = nullptr;  // config's text_config; nullptr: it has none
};

namespace {

constexpr std::string_view kGenerationPrefix = "generation_config.";
constexpr size_t kShownBytes = 120;
constexpr size_t kShownEntries = 8;

// The value at a dotted path below `object`; nullptr if a part is absent, null or no object.
const Json* descend(const Json* object, std::string_view path) {
  while (object != nullptr) {
    if (!object->is_object()) return nullptr;
    const size_t dot = path.find('.');
    const auto found = object->find(path.substr(0, dot));
    if (found == object->end() || found->is_null()) return nullptr;
    object = &*found;
    if (dot == std::string_view::npos) return object;
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

std::optional<int64_t> whole_number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return number <= uint64_t(INT64_MAX) ? std::optional(int64_t(number)) : std::nullopt;
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  // Both bounds are exact as doubles; 2^63 itself does not fit.
  if (!(number >= -0x1p63 && number < 0x1p63) || number != std::trunc(number)) return std::nullopt;
  return int64_t(number);
}

std::optional<double> any_number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string scalar_words(const Json& value, bool quoted) {
  if (value.is_string()) {
    const std::string text = visible(value.get_ref<const std::string&>(), kShownBytes);
    return quoted ? "\"" + text + "\"" : text;
  }
  if (value.is_object()) return "{…}";
  if (value.is_array()) return "[…]";
  return value.dump();
}

std::string words(const Json& value) {
  if (!value.is_array()) return scalar_words(value, false);
  std::string text = fmt::format("{} entries", with_commas(int64_t(value.size())));
  const size_t shown = std::min(value.size(), kShownEntries);
  for (size_t i = 0; i < shown; ++i) text += (i == 0 ? ": " : ", ") + scalar_words(value[i], true);
  return shown < value.size() ? text + ", …" : text;
}

// parse_json bounds how deep objects lie in each other, and so this.
void describe_object(const Json& object, const std::string& prefix,
                     std::vector<std::pair<std::string, std::string>>& lines) {
  for (const auto& [key, value] : object.items()) {
    const std::string path = prefix + visible(key);
    if (value.is_object() && !value.empty())
      describe_object(value, path + ".", lines);
    else if (!value.is_null())
      lines.emplace_back(path, words(value));
  }
}

Result<Json> parse_object(std::string_view text, const std::string& where) {
  ANEDVD_TRY(Json value, parse_json(text, where));
  if (!value.is_object()) return fail(ErrorCode::kBadFile, "{}: holds no JSON object; fetch it again", where);
  return value;
}

}  // namespace

HfConfig::HfConfig(std::unique_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
HfConfig::HfConfig(HfConfig&&) noexcept = default;
HfConfig& HfConfig::operator=(HfConfig&&) noexcept = default;
HfConfig::~HfConfig() = default;

Result<HfConfig> HfConfig::read(std::string_view config, std::string_view generation, std::string_view where) {
  auto parsed = std::make_unique<Parsed>();
  parsed->where = where;
  ANEDVD_TRY(parsed->config, parse_object(config, fmt::format("{}/config.json", where)));
  if (!generation.empty()) {
    ANEDVD_TRY(parsed->generation, parse_object(generation, fmt::format("{}/generation_config.json", where)));
  }
  const auto text = parsed->config.find("text_config");
  if (text != parsed->config.end() && text->is_object()) parsed->text = &*text;
  return HfConfig(std::move(parsed));
}

const Json* HfConfig::find(std::string_view key) const {
  if (key.starts_with(kGenerationPrefix)) return descend(&parsed_->generation, key.substr(kGenerationPrefix.size()));
  const std::string_view first = key.substr(0, key.find('.'));
  const bool is_nested = descend(parsed_->text, first) != nullptr;
  return descend(is_nested ? parsed_->text : &parsed_->config, key);
}

bool HfConfig::has(std::string_view key) const { return find(key) != nullptr; }

std::optional<int64_t> HfConfig::integer(std::string_view key) const {
  const Json* value = find(key);
  return value != nullptr && value->is_number() ? whole_number(*value) : std::nullopt;
}

std::optional<double> HfConfig::number(std::string_view key) const {
  const Json* value = find(key);
  return value != nullptr && value->is_number() ? any_number(*value) : std::nullopt;
}

std::optional<bool> HfConfig::boolean(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  const auto number = value->is_number_integer() ? whole_number(*value) : std::nullopt;
  return number == 0 || number == 1 ? std::optional(*number == 1) : std::nullopt;
}

std::optional<std::string_view> HfConfig::string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get_ref<const std::string&>();
}

std::optional<int64_t> HfConfig::array_size(std::string_view key) const {
  const Json* value = find(key);
  return value != nullptr && value->is_array() ? std::optional(int64_t(value->size())) : std::nullopt;
}

Result<const Json*> HfConfig::find_array(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr)
    return fail(ErrorCode::kNotFound, "{}: config key \"{}\" is missing; use another model", parsed_->where,
                visible(key));
  if (!value->is_array())
    return fail(ErrorCode::kBadFile, "{}: config key \"{}\" is no array; use another model", parsed_->where,
                visible(key));
  return value;
}

Result<std::vector<std::string_view>> HfConfig::strings(std::string_view key) const {
  ANEDVD_TRY(const Json* array, find_array(key));
  std::vector<std::string_view> out;
  for (const Json& entry : *array) {
    if (!entry.is_string())
      return fail(ErrorCode::kBadFile, "{}: config key \"{}\", entry {} is no string; use another model",
                  parsed_->where, visible(key), out.size());
    out.push_back(entry.get_ref<const std::string&>());
  }
  return out;
}

Result<std::vector<int64_t>> HfConfig::integers(std::string_view key) const {
  ANEDVD_TRY(const Json* array, find_array(key));
  std::vector<int64_t> out;
  for (const Json& entry : *array) {
    const auto value = whole_number(entry);
    if (!value)
      return fail(ErrorCode::kBadFile,
                  "{}: config key \"{}\", entry {} is not a whole number of 64 bits; use another model", parsed_->where,
                  visible(key), out.size());
    out.push_back(*value);
  }
  return out;
}

Result<std::vector<double>> HfConfig::numbers(std::string_view key) const {
  ANEDVD_TRY(const Json* array, find_array(key));
  std::vector<double> out;
  for (const Json& entry : *array) {
    const auto value = any_number(entry);
    if (!value)
      return fail(ErrorCode::kBadFile, "{}: config key \"{}\", entry {} is not a number; use another model",
                  parsed_->where, visible(key), out.size());
    out.push_back(*value);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> HfConfig::describe() const {
  std::vector<std::pair<std::string, std::string>> lines;
  describe_object(parsed_->config, "", lines);
  if (parsed_->generation.is_object()) describe_object(parsed_->generation, std::string(kGenerationPrefix), lines);
  return lines;
}

}  // namespace anedvd
