#include "api/gate.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "base/ascii.h"
#include "base/sha256.h"

namespace anedvd {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "example.org:8080" → "example.org", "[::1]:80" → "[::1]". What follows a colon and is no port belongs to the name.
std::string_view without_port(std::string_view host) {
  const size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  const size_t colon = bracket == std::string_view::npos ? bracket : host.find(':', bracket);
  if (colon == std::string_view::npos || host.find_first_not_of("0123456789", colon + 1) != std::string_view::npos)
    return host;
  return host.substr(0, colon);
}

bool is_loopback_name(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]" || host == "[0:0:0:0:0:0:0:1]";
}

// Pages of programs on this machine: their origins are no web site's.
bool is_local_origin(std::string_view origin) {
  for (const std::string_view scheme : {"app://", "file://", "tauri://", "vscode-webview://", "capacitor://",
                                        "moz-extension://", "chrome-extension://"})
    if (origin.starts_with(scheme)) return true;
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) return is_loopback_name(without_port(origin.substr(scheme.size())));
  return false;
}

std::string digest_of(std::string_view text) { return sha256_of(std::as_bytes(std::span(text.data(), text.size()))); }

// Takes the same time wherever they differ: both are digests, so the length says nothing either.
bool are_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= unsigned(uint8_t(a[i]) ^ uint8_t(b[i]));
  return difference == 0;
}

// The value of a cookie; empty when absent.
std::string_view cookie(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    const std::string_view one = trimmed(cookies.substr(0, end));
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return one.substr(name.size() + 1);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return {};
}

}  // namespace

Gate::Gate(GateOptions options) : options_(std::move(options)) {
  for (const std::string& key : options_.keys) key_digests_.push_back(digest_of(key));
  for (std::string& host : options_.allowed_hosts) host = lower_ascii(host);
}

bool Gate::is_host_allowed(const Request& head) const {
  // With a key, or on a network address that was opened on purpose, names cannot be told apart from attackers' and need not be.
  if (!head.loopback_socket || !options_.keys.empty()) return true;
  if (!head.has_header("host")) return true;  // HTTP/1.0; browsers always send it
  const std::string host = lower_ascii(trimmed(head.header("host")));
  const std::string_view name = without_port(host);
  return is_loopback_name(name) ||
         std::any_of(options_.allowed_hosts.begin(), options_.allowed_hosts.end(),
                     [&](const auto& allowed) { return allowed == "*" || allowed == name || allowed == host; });
}

bool Gate::is_origin_allowed(const Request& head, std::string_view origin) const {
  if (origin.empty()) return true;
  const std::string given = lower_ascii(origin), host = lower_ascii(trimmed(head.header("host")));
  if (!host.empty() && (given == "http://" + host || given == "https://" + host)) return true;  // its own page
  if (options_.cors_origins.empty()) return is_local_origin(given);
  return std::any_of(options_.cors_origins.begin(), options_.cors_origins.end(),
                     [&](const std::string& allowed) { return allowed == "*" || lower_ascii(allowed) == given; });
}

bool Gate::is_key_right(const Request& head) const {
  if (key_digests_.empty()) return true;
  std::string_view given = head.header("x-api-key");
  const std::string_view authorization = trimmed(head.header("authorization"));
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() > kScheme.size() && lower_ascii(authorization.substr(0, kScheme.size())) == kScheme)
    given = trimmed(authorization.substr(kScheme.size()));
  if (given.empty()) given = cookie(head.header("cookie"), "anedvd_key");
  if (given.empty()) return false;
  const std::string digest = digest_of(given);
  bool is_right = false;
  for (const std::string& key : key_digests_) is_right |= are_equal(key, digest);
  return is_right;
}

std::optional<ApiError> Gate::refusal(const Request& head, bool needs_key) const {
  if (!is_host_allowed(head))
    return ApiError{.status = 403,
                    .type = "permission_error",
                    .code = "forbidden_host",
                    .message = "This Host is not served; --allowed-hosts adds names."};
  const bool reads_only = head.method == "GET" || head.method == "HEAD" || head.method == "OPTIONS";
  if (!reads_only && !is_origin_allowed(head, trimmed(head.header("origin"))))
    return ApiError{.status = 403,
                    .type = "permission_error",
                    .code = "forbidden_host",
                    .message = "This Origin is not served; --cors adds origins."};
  if (needs_key && !is_key_right(head))
    return ApiError{.status = 401,
                    .type = "authentication_error",
                    .code = "invalid_api_key",
                    .message = "A valid API key is needed: Authorization: Bearer KEY, or x-api-key: KEY."};
  return std::nullopt;
}

std::vector<Header> Gate::cors_headers(const Request& head) const {
  const std::string_view origin = trimmed(head.header("origin"));
  const bool any =
      std::find(options_.cors_origins.begin(), options_.cors_origins.end(), "*") != options_.cors_origins.end();
  std::vector<Header> headers;
  if (any) {
    headers.push_back({"Access-Control-Allow-Origin", "*"});
  } else {
    headers.push_back({"Vary", "Origin"});
    if (origin.empty() || !is_origin_allowed(head, origin)) return headers;
    headers.push_back({"Access-Control-Allow-Origin", std::string(origin)});
  }
  headers.push_back({"Access-Control-Expose-Headers", "x-request-id, request-id, retry-after"});
  return headers;
}

Answer Gate::preflight(const Request& head) const {
  Answer answer;
  answer.status = 204;
  answer.headers.push_back({"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"});
  // Echoed: "*" would not cover Authorization.
  const std::string_view asked = head.header("access-control-request-headers");
  answer.headers.push_back(
      {"Access-Control-Allow-Headers", asked.empty() ? "Authorization, Content-Type, x-api-key" : std::string(asked)});
  answer.headers.push_back({"Access-Control-Max-Age", "86400"});
  if (lower_ascii(head.header("access-control-request-private-network")) == "true")
    answer.headers.push_back({"Access-Control-Allow-Private-Network", "true"});
  return answer;
}

std::optional<ApiError> content_refusal(const Request& head) {
  const auto refused = [](std::string message) {
    return ApiError{.status = 415, .code = "unsupported_media_type", .message = std::move(message)};
  };
  const std::string encoding = lower_ascii(trimmed(head.header("content-encoding")));
  if (!encoding.empty() && encoding != "identity")
    return refused("Content-Encoding is not supported; send the JSON as it is.");
  const std::string type = lower_ascii(trimmed(head.header("content-type")));
  if (type.empty()) return std::nullopt;
  const std::string_view kind = trimmed(std::string_view(type).substr(0, type.find(';')));
  if (kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json")))
    return refused("Send JSON: -H 'Content-Type: application/json'.");
  if (const size_t at = type.find("charset="); at != std::string::npos) {
    std::string_view charset = trimmed(std::string_view(type).substr(at + 8));
    charset = trimmed(charset.substr(0, charset.find(';')));
    if (charset.starts_with('"') && charset.ends_with('"') && charset.size() > 1)
      charset = charset.substr(1, charset.size() - 2);
    if (charset != "utf-8" && charset != "utf8") return refused("Send JSON in UTF-8.");
  }
  return std::nullopt;
}

}  // namespace anedvd
