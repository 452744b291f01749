// What commands read: files a person names, and standard input as bytes or lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace anedvd {

constexpr uint64_t kMaxInputBytes = uint64_t(1) << 30;  // a prompt or a list of ids beyond 1 GiB is a mistake

// The whole file, or standard input for "-". Errors: kNotFound, kIo; kBadFile past kMaxInputBytes.
Result<std::string> read_input(const std::string& path, size_t most = kMaxInputBytes);

// Lines of standard input as they come. The newline is not part of a line; a last line without one counts.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  // nullopt at the end. The view is valid until the next call.
  Result<std::optional<std::string_view>> next();

  // The next call has to wait for the writer: what was answered should be on its way.
  bool would_wait() const { return buffer_.find('\n', begin_) == std::string::npos; }

 private:
  int fd_;
  std::string buffer_;
  size_t begin_ = 0;
  bool at_end_ = false;
};

// Token ids from a JSON array of whole numbers. `where` names the file in errors (kBadFile).
Result<std::vector<int32_t>> parse_ids(std::string_view text, std::string_view where);

}  // namespace anedvd
