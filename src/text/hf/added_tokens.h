// The `added_tokens` of a tokenizer.json: texts that are tokens wherever they stand.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "text/hf/normalizer.h"
#include "text/special_matcher.h"

namespace anedvd {

struct AddedTokens {
  struct Added {
    SpecialMatcher::Entry entry;  // the text as the file has it
    bool special = false;         // a control token
    bool normalized = false;      // found in normalised text, by its own normalised text; else in raw text
    std::string_view normal_text = {};
  };
  std::vector<Added> tokens;

  // Fills normal_text, which borrows from the arena.
  void normalize(const NormalizerPlan& normalizer, std::deque<std::string>& arena);

  // What to find in normalised text.
  std::vector<SpecialMatcher::Entry> normal_entries(bool with_special) const;
};

// `description` is the JSON array, null for none. kBadFile: ids that are no ids.
Result<AddedTokens> read_added_tokens(const nlohmann::json& description, std::string_view where,
                                      std::deque<std::string>& arena);

}  // namespace anedvd
