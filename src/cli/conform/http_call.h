// One request to an HTTP server and its whole answer, over a plain socket: what `conform` asks with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace anedvd {

struct ServerAddress {
  std::string host, port, prefix;  // prefix: of the path, without "/" at its end
};

// "http://127.0.0.1:8080/base". Error kUsage: no such URL, or one that asks for TLS.
Result<ServerAddress> parse_url(const std::string& url);

struct HttpReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;                                          // chunks put together

  std::string header(const std::string& name) const;
};

// A whole reply from its bytes; the connection has ended behind them. Error kBadFile.
Result<HttpReply> parse_reply(const std::string& bytes);

// Sends `bytes` as they are and reads until the server closes, or half a minute passes. Error kIo: no connection.
Result<std::string> exchange_bytes(const ServerAddress& address, const std::string& bytes);

// A request with these headers besides Host, Connection: close and the length of `body`.
Result<HttpReply> http_call(const ServerAddress& address, const std::string& method, const std::string& path,
                            const std::string& body, const std::vector<std::string>& header_lines);

}  // namespace anedvd
