// Tokens to a tree: the statements and expressions of Jinja 3.1, with the loop controls and the `generation` tag that transformers adds.
// What reaches for other templates (include, import, extends, block) is refused by name, as are unknown filters and tests — those inside
// an `if` only when they are reached, as Jinja does, because templates guard them so.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/jinja/ast.h"

namespace anedvd::jinja {

constexpr int kMaxNesting = 100;    // brackets in brackets, blocks in blocks; real templates stay below 15
constexpr int kMaxTreeDepth = 300;  // of nodes

// Parses a whole template. The error's message begins with line and column.
Result<Tree> parse_template(std::string_view source);

}  // namespace anedvd::jinja
