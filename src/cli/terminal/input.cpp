#include "cli/terminal/input.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/words.h"

namespace anedvd {
namespace {

constexpr size_t kReadBytes = 64 << 10;  // what a pipe holds

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd > STDERR_FILENO) close(fd);
  }
};

// Appends up to kReadBytes. False at the end.
Result<bool> read_some(int fd, std::string& out, std::string_view where) {
  const size_t before = out.size();
  out.resize(before + kReadBytes);
  ssize_t count = 0;
  do count = read(fd, out.data() + before, kReadBytes);
  while (count < 0 && errno == EINTR);
  out.resize(before + size_t(count > 0 ? count : 0));
  if (count < 0) return fail(ErrorCode::kIo, "{}: {}", where, std::strerror(errno));
  return count > 0;
}

}  // namespace

Result<std::string> read_input(const std::string& path, size_t most) {
  const std::string where = path == "-" ? "standard input" : visible(path);
  const Descriptor file{path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0 && errno == ENOENT) return fail(ErrorCode::kNotFound, "{}: no such file; check the name", where);
  if (file.fd < 0) return fail(ErrorCode::kIo, "{}: {}", where, std::strerror(errno));
  struct stat status = {};
  if (fstat(file.fd, &status) == 0 && S_ISDIR(status.st_mode))
    return fail(ErrorCode::kIo, "{}: a folder, not a file; name a file in it", where);
  std::string text;
  for (;;) {
    ANEDVD_TRY(const bool more, read_some(file.fd, text, where));
    if (!more) return text;
    if (text.size() > most)
      return fail(ErrorCode::kBadFile, "{}: more than {}; give a smaller part of it", where, size_words(most));
  }
}

Result<std::optional<std::string_view>> LineReader::next() {
  size_t searched = begin_;
  for (;;) {
    const size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = end + 1;
      return line;
    }
    if (at_end_) {
      if (begin_ == buffer_.size()) return std::nullopt;
      const std::string_view line = std::string_view(buffer_).substr(begin_);
      begin_ = buffer_.size();
      return line;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    if (buffer_.size() > kMaxInputBytes)
      return fail(ErrorCode::kBadFile, "standard input: a line of more than {}", size_words(kMaxInputBytes));
    ANEDVD_TRY(const bool more, read_some(fd_, buffer_, "standard input"));
    at_end_ = !more;
  }
}

Result<std::vector<int32_t>> parse_ids(std::string_view text, std::string_view where) {
  ANEDVD_TRY(const nlohmann::json json, parse_json(text, where));
  if (!json.is_array())
    return fail(ErrorCode::kBadFile, "{}: not a JSON array of token ids; write for example [1, 2, 3]", where);
  std::vector<int32_t> ids;
  ids.reserve(json.size());
  for (const auto& value : json) {
    const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= INT32_MAX : false;
    if (!fits)
      return fail(ErrorCode::kBadFile, "{}: item {} is not a token id: {}; ids are whole numbers from 0 on", where,
                  ids.size(), visible(value.dump(), 40));
    ids.push_back(value.get<int32_t>());
  }
  return ids;
}

}  // namespace anedvd
