#include "formats/hf_index.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"

namespace anedvd {
namespace {

constexpr std::string_view kEnding = ".safetensors";
constexpr int kMostParts = 10000;  // of a numbered set

bool is_plain_name(std::string_view name) {
  const auto is_bad = [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) < ' ' || c == 0x7f; };
  return name.ends_with(kEnding) && name.size() > kEnding.size() && name.size() <= 255 && !name.starts_with('.') &&
         std::none_of(name.begin(), name.end(), is_bad);
}

// N of "…-of-N.safetensors".
std::optional<int> parts_of(std::string_view name) {
  name.remove_suffix(kEnding.size());
  const size_t at = name.rfind("-of-");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(at + 4);
  int count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size() || count < 1 || count > kMostParts)
    return std::nullopt;
  return count;
}

// A set that is numbered 1 to N has N files: an index that names fewer describes a part of the model.
Result<> check_numbers(const HfIndex& index, std::string_view where) {
  const std::string& first = index.begin()->first;
  const auto count = parts_of(first);
  if (!count || size_t(*count) <= index.size()) return {};
  return fail(ErrorCode::kBadFile, "{}: names {} of {} parts (\"{}\" …); fetch the index again", where, index.size(),
              *count, first);
}

}  // namespace

Result<HfIndex> read_hf_index(std::string_view text, std::string_view where) {
  ANEDVD_TRY(const nlohmann::json json, parse_json(text, where));
  const auto* map = json.is_object() && json.contains("weight_map") ? &json["weight_map"] : nullptr;
  if (map == nullptr || !map->is_object() || map->empty())
    return fail(ErrorCode::kBadFile, "{}: has no \"weight_map\" of tensors; fetch it again", where);
  HfIndex index;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string())
      return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" is not given a file name; fetch it again", where,
                  visible(tensor));
    const auto& name = file.get_ref<const std::string&>();
    if (!is_plain_name(name))
      return fail(ErrorCode::kBadFile,
                  "{}: tensor \"{}\" is said to be in \"{}\", which is no plain .safetensors name in this folder; do "
                  "not use this model",
                  where, visible(tensor), visible(name));
    index[name].insert(tensor);
  }
  ANEDVD_TRY_VOID(check_numbers(index, where));
  return index;
}

}  // namespace anedvd
