// Base64 (RFC 4648, with or without padding; white space between characters is ignored).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace anedvd {

// nullopt: a character outside the alphabet, or a length that no bytes have.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace anedvd
