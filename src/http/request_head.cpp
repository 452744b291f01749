#include "http/request_head.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/core.h>

#include "base/ascii.h"
#include "base/words.h"

namespace anedvd {
namespace {

bool is_token_letter(char c) {
  return std::isalnum(uint8_t(c)) != 0 || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// The socket's inode from a table of /proc/net; empty when nobody listens.
std::string listening_inode(const char* table, int port) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);
  const std::string wanted = fmt::format(":{:04X}", port);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string slot, local, remote, state, skip, inode;
    words >> slot >> local >> remote >> state >> skip >> skip >> skip >> skip >> skip >> inode;
    if (state == "0A" && local.ends_with(wanted)) return inode;  // 0A: listening
  }
  return {};
}

}  // namespace

std::optional<HttpFault> hopeless_start(std::string_view bytes, size_t max_uri) {
  if (bytes.empty()) return std::nullopt;
  if (!is_token_letter(bytes.front())) return HttpFault::kBadRequest;
  constexpr size_t kAround = 64;  // the method and the version
  std::string_view line = bytes.substr(0, bytes.find('\n'));
  if (line.find('\0') != std::string_view::npos) return HttpFault::kBadRequest;
  if (line.size() > max_uri + kAround) return HttpFault::kUriTooLong;
  if (line.size() == bytes.size()) return std::nullopt;  // not whole yet
  if (line.ends_with('\r')) line.remove_suffix(1);
  const bool is_request = line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0");
  return is_request ? std::nullopt : std::optional(HttpFault::kBadRequest);
}

std::optional<HttpFault> framing_fault(const Request& head, int version) {
  int hosts = 0, codings = 0, lengths = 0;
  bool is_chunked = false;
  for (const Header& header : head.headers) {
    hosts += header.name == "host";
    lengths += header.name == "content-length";
    if (header.name != "transfer-encoding") continue;
    ++codings;
    is_chunked = lower_ascii(header.value) == "chunked";
  }
  if (hosts > 1 || (hosts == 0 && version >= 11)) return HttpFault::kBadHost;
  if (codings == 0) return std::nullopt;
  if (codings > 1 || !is_chunked) return HttpFault::kUnknownCoding;
  return lengths > 0 || version < 11 ? std::optional(HttpFault::kBadRequest) : std::nullopt;
}

bool is_harmless_id(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return std::isalnum(uint8_t(c)) != 0 || c == '-' || c == '_' || c == '.' || c == ':';
  });
}

std::string port_owner(int port) {
  std::string inode = listening_inode("/proc/net/tcp", port);
  if (inode.empty()) inode = listening_inode("/proc/net/tcp6", port);
  if (inode.empty()) return {};
  const std::string wanted = fmt::format("socket:[{}]", inode);
  std::error_code error;
  namespace fs = std::filesystem;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end; process.increment(error)) {
    const std::string pid = process->path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code denied;
    for (fs::directory_iterator fd(process->path() / "fd", denied), last; !denied && fd != last; fd.increment(denied)) {
      std::error_code ignored;
      if (fs::read_symlink(fd->path(), ignored) != wanted) continue;
      std::ifstream file(process->path() / "comm");
      std::string name;
      std::getline(file, name);
      return fmt::format(" (by {}, pid {})", visible(name, 40), pid);
    }
  }
  return {};
}

}  // namespace anedvd
