// Unicode normalisation forms of text that may hold broken UTF-8 (which stays as it is).
#pragma once

#include <string>
#include <string_view>

namespace anedvd {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// True if the text surely is in the form already (a fast test; false may be wrong).
bool surely_normal(std::string_view text, NormalForm form);

std::string normalize(std::string_view text, NormalForm form);

}  // namespace anedvd
