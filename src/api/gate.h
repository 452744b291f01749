// Who may ask: Host, Origin, key and content type, before a byte of the body is read.
//
// A server without a key on the loopback interface is reachable from every web page the person opens, unless three doors are shut: names that an
// attacker's DNS points to 127.0.0.1 (Host), other sites' scripts (Origin), and forms, which browsers post anywhere without asking (content type).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/exchange.h"

namespace anedvd {

struct GateOptions {
  std::vector<std::string> keys = {};           // none: any key will do
  std::vector<std::string> cors_origins = {};   // none: local origins and app schemes; "*": every site
  std::vector<std::string> allowed_hosts = {};  // besides the loopback names
};

class Gate {
 public:
  explicit Gate(GateOptions options);

  // Why this request is not let in. `needs_key`: the route is not public.
  std::optional<ApiError> refusal(const Request& head, bool needs_key) const;

  // Of every answer, errors too.
  std::vector<Header> cors_headers(const Request& head) const;

  // The answer to OPTIONS.
  Answer preflight(const Request& head) const;

 private:
  bool is_host_allowed(const Request& head) const;
  bool is_origin_allowed(const Request& head, std::string_view origin) const;
  bool is_key_right(const Request& head) const;

  GateOptions options_;
  std::vector<std::string> key_digests_;
};

// Content-Type and Content-Encoding of a request with a JSON body.
std::optional<ApiError> content_refusal(const Request& head);

}  // namespace anedvd
