// What people get instead of a model's file: a web page, or the pointer that git leaves without its LFS extension.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace anedvd {

// The error for a file that is such a thing, by its beginning: no more of it need be given. `where` names it.
std::optional<Error> wrong_download(std::string_view file, std::string_view where);

// The beginning as a person should see it: up to the end of a tag or line, so `<!DOCTYPE html` and not half a word.
std::string shown_start(std::string_view text);

}  // namespace anedvd
