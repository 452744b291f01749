// Base64 (RFC 4648, section 4) of bytes, with padding.
#pragma once

#include <string>
#include <string_view>

namespace anedvd {

std::string base64_of(std::string_view bytes);

}  // namespace anedvd
