// How an error says that the template itself refused (raise_exception), so callers can find the template's own words in it.
#pragma once

#include <string_view>

namespace anedvd::jinja {

constexpr std::string_view kRefusalPrefix = "the template says: ";

}  // namespace anedvd::jinja
