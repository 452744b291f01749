#include "cli/chat/history_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/words.h"
#include "cli/chat/private_file.h"
#include "cli/terminal/console.h"

namespace anedvd {
namespace {

constexpr size_t kMaxFileBytes = size_t(64)
                                 << 20;  // the tail of a longer file is read: far more than kMaxHistory entries

using Path = std::filesystem::path;

tl::unexpected<Error> system_failure(const Path& path) {
  return fail(ErrorCode::kIo, "{}: {}; the history is not kept, --no-history does without", visible(path.string()),
              std::strerror(errno));
}

// The open file, locked for this process until it is closed.
class LockedFile {
 public:
  static Result<LockedFile> open(const Path& path) {
    std::error_code ignored;
    // Only folders that are missing get the owner's permissions.
    if (!std::filesystem::exists(path.parent_path(), ignored)) {
      std::filesystem::create_directories(path.parent_path(), ignored);
      std::filesystem::permissions(path.parent_path(), std::filesystem::perms::owner_all, ignored);
    }
    for (;;) {
      LockedFile file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, S_IRUSR | S_IWUSR));
      struct stat here = {}, there = {};
      if (file.fd_ < 0 || flock(file.fd_, LOCK_EX) != 0 || fstat(file.fd_, &here) != 0) return system_failure(path);
      // Another chat may have put a new file in its place while this one waited.
      if (stat(path.c_str(), &there) != 0 || here.st_ino != there.st_ino || here.st_dev != there.st_dev) continue;
      if (!S_ISREG(here.st_mode)) {
        errno = EINVAL;
        return system_failure(path);
      }
      if ((here.st_mode & 0777) != (S_IRUSR | S_IWUSR)) (void)fchmod(file.fd_, S_IRUSR | S_IWUSR);
      return file;
    }
  }

  LockedFile(LockedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  LockedFile& operator=(LockedFile&&) = delete;
  ~LockedFile() {
    if (fd_ >= 0) close(fd_);
  }

  Result<std::string> read(const Path& path) const {
    struct stat status = {};
    if (fstat(fd_, &status) != 0) return system_failure(path);
    const auto size = size_t(std::max<off_t>(status.st_size, 0));
    const size_t first = size > kMaxFileBytes ? size - kMaxFileBytes : 0;
    std::string text(size - first, '\0');
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t count = pread(fd_, text.data() + done, text.size() - done, off_t(first + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_failure(path);
      if (count == 0) break;
      done += size_t(count);
    }
    text.resize(done);
    return text;
  }

  int fd() const { return fd_; }

 private:
  explicit LockedFile(int fd) : fd_(fd) {}
  int fd_;
};

std::string line_of(const std::string& entry) {
  return nlohmann::json(entry).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Path history_path(const Environment& environment) {
  // XDG: a path that is not absolute is to be ignored.
  const auto absolute = [&](const char* name) {
    const Path path = environment(name);
    return path.is_absolute() ? path : Path();
  };
  const Path home = absolute("HOME");
#ifdef __APPLE__
  return home.empty() ? Path() : home / "Library" / "Application Support" / "anedvd" / "chat_history";
#else
  const Path state = absolute("XDG_STATE_HOME");
  if (!state.empty()) return state / "anedvd" / "chat_history";
  return home.empty() ? Path() : home / ".local" / "state" / "anedvd" / "chat_history";
#endif
}

std::vector<std::string> parse_history(std::string_view text, size_t limit) {
  std::vector<std::string> entries;
  std::unordered_set<std::string> seen;
  // From the end: the last place of a text counts.
  while (!text.empty() && entries.size() < limit) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    const size_t newline = text.rfind('\n');
    const std::string_view line = newline == std::string_view::npos ? text : text.substr(newline + 1);
    text = newline == std::string_view::npos ? std::string_view() : text.substr(0, newline + 1);
    if (line.size() > 8 * kMaxHistoryEntry) continue;
    const auto json = parse_json(line, "history");
    if (!json || !json->is_string()) continue;
    const auto& entry = json->get_ref<const std::string&>();
    if (!entry.empty() && seen.insert(entry).second) entries.push_back(entry);
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

Result<std::vector<std::string>> HistoryFile::load() {
  ANEDVD_TRY(const LockedFile file, LockedFile::open(path_));
  ANEDVD_TRY(const std::string text, file.read(path_));
  std::vector<std::string> entries = parse_history(text);
  std::string ordered;
  for (const std::string& entry : entries) ordered += line_of(entry);
  // The lock is held: nobody appends to the file that goes.
  if (ordered != text) ANEDVD_TRY_VOID(write_private_file(path_, ordered));
  return entries;
}

Result<> HistoryFile::append(const std::string& entry) {
  if (entry.empty() || entry[0] == ' ' || entry.size() > kMaxHistoryEntry) return {};
  ANEDVD_TRY(const LockedFile file, LockedFile::open(path_));
  ANEDVD_TRY(const std::string text, file.read(path_));
  // A line that a crash cut short must not swallow this one.
  const std::string line = (text.empty() || text.ends_with('\n') ? "" : "\n") + line_of(entry);
  if (const auto written = write_all(file.fd(), line); !written) return system_failure(path_);
  return {};
}

}  // namespace anedvd
