// One line a request for whoever runs the server; never a word that a client wrote or a model answered.
//
//   terminal   19:02:11  200  chat      44 in (22 reused) →   8 out   131 tok/s  0.10 s  stop
//   elsewhere  ts=… level=info event=request id=req_… route=/v1/chat/completions status=200 model=… prompt=44 …
//   --json     the same as a JSON object a line
#pragma once

#include <string>

#include "api/exchange.h"

namespace anedvd {

enum class LogStyle { kTerminal, kKeyValue, kJson };

struct LoggedRequest {
  std::string id, route;
  int status = 200;
  RequestRecord record;
  double seconds = 0;
};

// The line without its line feed. `now`: seconds since 1970.
std::string log_line_of(const LoggedRequest& request, LogStyle style, int64_t now);

// In the terminal's style, the line that follows when tokens of a prompt were left out; empty otherwise.
std::string dropped_line_of(const LoggedRequest& request, LogStyle style, int64_t now, int context);

}  // namespace anedvd
