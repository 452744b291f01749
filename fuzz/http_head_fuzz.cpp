// The first bytes of an HTTP request, before any parser: what they are refused for, and what a target becomes.
#include <cstdint>
#include <string>
#include <string_view>

#include "api/exchange.h"
#include "api/gate.h"
#include "base/ascii.h"
#include "http/request_head.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace anedvd;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)hopeless_start(bytes, 64);
  Request request;
  request.method = "POST";
  const size_t line = bytes.find('\n');
  request.target = std::string(bytes.substr(0, line));
  const std::string value(line == std::string_view::npos ? "" : bytes.substr(line + 1));
  const bool is_path = split_target(request);
  if (is_path && request.path.find("//") != std::string::npos) __builtin_trap();
  for (const char* name : {"host", "transfer-encoding", "origin", "authorization", "cookie", "content-type",
                           "content-encoding", "x-request-id"})
    request.headers.push_back({name, value});
  const Gate gate({.keys = {"secret"}, .cors_origins = {"https://example.org"}, .allowed_hosts = {"example.org"}});
  (void)gate.refusal(request, true);
  (void)gate.cors_headers(request);
  (void)gate.preflight(request);
  (void)content_refusal(request);
  (void)is_harmless_id(value);
  // What is not refused has an end that everybody sees in the same place.
  if (!framing_fault(request, 11) && lower_ascii(value) != "chunked") __builtin_trap();
  return 0;
}
