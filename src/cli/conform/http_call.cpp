#include "cli/conform/http_call.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/words.h"

namespace anedvd {
namespace {

constexpr size_t kMaxReply = size_t(64) << 20;
constexpr int kPatienceSeconds = 30;

// A connected socket, closed at the end.
class Connection {
 public:
  explicit Connection(const ServerAddress& address) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found) != 0) return;
    for (const addrinfo* one = found; one && fd_ < 0; one = one->ai_next) {
      const int fd = ::socket(one->ai_family, one->ai_socktype, one->ai_protocol);
      if (fd < 0) continue;
      const timeval patience{kPatienceSeconds, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      if (::connect(fd, one->ai_addr, one->ai_addrlen) == 0)
        fd_ = fd;
      else
        ::close(fd);
    }
    ::freeaddrinfo(found);
  }
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// The body of a chunked reply; nullopt when it is cut off or no such thing.
std::optional<std::string> without_chunks(std::string_view bytes) {
  std::string body;
  while (true) {
    const size_t end = bytes.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    size_t size = 0;
    const auto [stop, error] = std::from_chars(bytes.data(), bytes.data() + end, size, 16);
    if (error != std::errc() || stop == bytes.data()) return std::nullopt;
    bytes.remove_prefix(end + 2);
    if (size == 0) return body;
    if (bytes.size() < 2 || size > bytes.size() - 2) return std::nullopt;
    body += bytes.substr(0, size);
    bytes.remove_prefix(size + 2);
  }
}

}  // namespace

Result<ServerAddress> parse_url(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://"))
    return fail(ErrorCode::kUsage, "{}: https is not spoken here; give the server's own http:// address",
                visible(url, 80));
  std::string_view rest = url;
  if (rest.starts_with(kScheme)) rest.remove_prefix(kScheme.size());
  ServerAddress address;
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view place = rest.substr(0, slash);
  address.prefix = std::string(rest.substr(slash));
  while (address.prefix.ends_with('/')) address.prefix.pop_back();
  const size_t colon = place.rfind(':');
  const bool has_port = colon != std::string_view::npos && place.find(']', colon) == std::string_view::npos;
  address.port = has_port ? std::string(place.substr(colon + 1)) : "80";
  address.host = std::string(place.substr(0, has_port ? colon : place.size()));
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  const bool is_number = !address.port.empty() && address.port.find_first_not_of("0123456789") == std::string::npos;
  if (address.host.empty() || !is_number || address.prefix.find_first_of(" \r\n") != std::string::npos)
    return fail(ErrorCode::kUsage, "{}: not an address; for example http://127.0.0.1:8080", visible(url, 80));
  // Base URLs of OpenAI's clients end so; the checks add it themselves.
  if (address.prefix.ends_with("/v1")) address.prefix.resize(address.prefix.size() - 3);
  return address;
}

std::string HttpReply::header(const std::string& name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

Result<HttpReply> parse_reply(const std::string& bytes) {
  HttpReply reply;
  const size_t head = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.") || head == std::string::npos || head < 12)
    return fail(ErrorCode::kBadFile, "the answer is not HTTP");
  std::from_chars(bytes.data() + 9, bytes.data() + 12, reply.status);
  for (size_t at = bytes.find("\r\n") + 2; at < head;) {
    const size_t end = bytes.find("\r\n", at), colon = bytes.find(':', at);
    if (colon < end) {
      size_t value = colon + 1;
      while (value < end && bytes[value] == ' ') ++value;
      reply.headers.emplace_back(lower_ascii(bytes.substr(at, colon - at)), bytes.substr(value, end - value));
    }
    at = end + 2;
  }
  reply.body = bytes.substr(head + 4);
  if (lower_ascii(reply.header("transfer-encoding")) != "chunked") return reply;
  auto body = without_chunks(reply.body);
  if (!body) return fail(ErrorCode::kBadFile, "the chunks are cut off");
  reply.body = std::move(*body);
  return reply;
}

Result<std::string> exchange_bytes(const ServerAddress& address, const std::string& bytes) {
  const Connection connection(address);
  if (connection.fd() < 0)
    return fail(ErrorCode::kIo, "http://{}:{}: nobody answers there; is the server running?", visible(address.host, 80),
                address.port);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t count = ::send(connection.fd(), rest.data(), rest.size(), 0);
    if (count <= 0) break;  // it may have said already what is wrong
    rest.remove_prefix(size_t(count));
  }
  std::string heard;
  std::vector<char> buffer(65536);
  while (heard.size() < kMaxReply) {
    const ssize_t count = ::recv(connection.fd(), buffer.data(), buffer.size(), 0);
    if (count <= 0) break;
    heard.append(buffer.data(), size_t(count));
  }
  return heard;
}

Result<HttpReply> http_call(const ServerAddress& address, const std::string& method, const std::string& path,
                            const std::string& body, const std::vector<std::string>& header_lines) {
  std::string bytes = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\n", method, address.prefix,
                                  path, address.host, address.port);
  for (const std::string& line : header_lines) bytes += line + "\r\n";
  if (method == "POST") bytes += fmt::format("Content-Length: {}\r\n", body.size());
  bytes += "\r\n" + body;
  ANEDVD_TRY(const std::string heard, exchange_bytes(address, bytes));
  return parse_reply(heard);
}

}  // namespace anedvd
