// The prompt that makes a model fill the gap between two texts, for models that learnt it.
#pragma once

#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "text/tokenizer.h"

namespace anedvd {

// [prefix mark] before [suffix mark] after [middle mark]. Error: suffix_not_supported, when the vocabulary lacks the marks.
ApiResult<std::vector<Token>> fill_in_middle(const Tokenizer& tokenizer, std::string_view before,
                                             std::string_view after);

}  // namespace anedvd
