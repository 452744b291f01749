#include "cli/chat/private_file.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "base/words.h"
#include "cli/terminal/console.h"

namespace anedvd {
namespace {

tl::unexpected<Error> system_failure(const std::filesystem::path& path) {
  return fail(ErrorCode::kIo, "{}: {}; nothing was written", visible(path.string()), std::strerror(errno));
}

// True when all bytes are in the file.
bool write_and_close(int fd, std::string_view text) {
  const auto written = write_all(fd, text);
  const bool is_whole = written && *written == Written::kAll;
  const int kept = errno;
  const bool is_closed = close(fd) == 0;
  if (!is_whole) errno = kept;
  return is_whole && is_closed;
}

}  // namespace

Result<> write_private_file(const std::filesystem::path& path, std::string_view text) {
  std::error_code ignored;
  std::filesystem::path real = std::filesystem::weakly_canonical(path, ignored);
  if (real.empty()) real = path;
  if (std::filesystem::exists(real, ignored) && !std::filesystem::is_regular_file(real, ignored)) {
    const int fd = open(real.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || !write_and_close(fd, text)) return system_failure(path);
    return {};
  }
  std::string name = real.string() + ".XXXXXX";
  const int fd = mkstemp(name.data());
  if (fd < 0) return system_failure(path);
  if (write_and_close(fd, text) && rename(name.c_str(), real.c_str()) == 0) return {};
  const auto failure = system_failure(path);
  unlink(name.c_str());
  return failure;
}

}  // namespace anedvd
