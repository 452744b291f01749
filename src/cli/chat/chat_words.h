// What a chat says besides the answers.
#pragma once

#include <string>

#include "cli/chat/chat_session.h"

namespace anedvd {

// [42 tokens, 131 tok/s, stop, context 512/4096, 480 reused]
std::string status_line(const ChatAnswer& answer, int context);

// reading 1,024/3,210 tokens
std::string reading_line(const ReadingProgress& progress);

}  // namespace anedvd
