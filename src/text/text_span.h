// Bytes of a prompt and who wrote them: control tokens are found only in what the template wrote.
#pragma once

#include <cstddef>

namespace anedvd {

struct TextSpan {
  size_t begin, end;  // [begin, end)
  bool trusted;       // the template's own; else from a message, a tool or a setting
};

}  // namespace anedvd
