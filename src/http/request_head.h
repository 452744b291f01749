// Questions about the first bytes of a request that need no parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/exchange.h"

namespace anedvd {

// What can be said against a request whose head is not complete yet: bytes that begin no request line (a TLS hello), a first line that is none, a
// target that is too long. Without it such clients would be waited for.
std::optional<HttpFault> hopeless_start(std::string_view bytes, size_t max_uri);

// What is wrong with a whole head's Host (RFC 9112 §3.2) and Transfer-Encoding (§6.1, §6.3): where a body's end is read in two ways, a proxy in front
// can be made to see other requests than this server.
std::optional<HttpFault> framing_fault(const Request& head, int version);

inline bool is_line_end(char c) { return c == '\r' || c == '\n'; }

// A request id of a client that may be echoed and logged: 1 to 128 letters, digits, "-", "_", ".", ":".
bool is_harmless_id(std::string_view id);

// " (by NAME, pid N)": who listens on that TCP port, where the system tells; empty otherwise.
std::string port_owner(int port);

}  // namespace anedvd
