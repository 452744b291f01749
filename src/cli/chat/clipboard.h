// The clipboard by way of the terminal, also over ssh: the escape OSC 52.
#pragma once

#include <string>
#include <string_view>

namespace anedvd {

// The escape that asks a terminal to put `text` into its clipboard. Terminals answer nothing: whether it worked cannot be told.
std::string clipboard_escape(std::string_view text);

}  // namespace anedvd
