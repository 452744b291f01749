#include "text/hf/added_tokens.h"

#include <nlohmann/json.hpp>

#include "text/hf/json_fields.h"

namespace anedvd {

void AddedTokens::normalize(const NormalizerPlan& normalizer, std::deque<std::string>& arena) {
  for (Added& token : tokens) {
    if (token.normalized) token.normal_text = arena.emplace_back(normalizer.apply(token.entry.text));
  }
}

std::vector<SpecialMatcher::Entry> AddedTokens::normal_entries(bool with_special) const {
  std::vector<SpecialMatcher::Entry> entries;
  for (const Added& token : tokens) {
    if (!token.normalized || (token.special && !with_special)) continue;
    entries.push_back(token.entry);
    entries.back().text = token.normal_text;
  }
  return entries;
}

Result<AddedTokens> read_added_tokens(const nlohmann::json& description, std::string_view where,
                                      std::deque<std::string>& arena) {
  AddedTokens added;
  if (description.is_null()) return added;
  if (!description.is_array()) return fail(ErrorCode::kBadFile, "{}: added_tokens is no list", where);
  for (const auto& item : description) {
    const auto* id = field(item, "id");
    if (id == nullptr || !id->is_number_integer() || *id < 0 || *id >= INT32_MAX) {
      return fail(ErrorCode::kBadFile, "{}: an added token has no id", where);
    }
    AddedTokens::Added token;
    token.entry.text = arena.emplace_back(string_field(item, "content"));
    token.entry.token = id->get<Token>();
    token.entry.single_word = bool_field(item, "single_word", false);
    token.entry.strips_left = bool_field(item, "lstrip", false);
    token.entry.strips_right = bool_field(item, "rstrip", false);
    token.special = bool_field(item, "special", false);
    token.normalized = bool_field(item, "normalized", !token.special);
    added.tokens.push_back(token);
  }
  return added;
}

}  // namespace anedvd
