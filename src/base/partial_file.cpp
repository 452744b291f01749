#include "base/partial_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/words.h"

namespace anedvd {
namespace {

tl::unexpected<Error> refuse_path(const std::filesystem::path& path, int error_number) {
  const bool is_full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  return fail(ErrorCode::kIo, "{}: {}; {}", visible(path.string()),
              std::error_code(error_number, std::generic_category()).message(),
              is_full ? "free some space or choose another place" : "choose another place");
}

}  // namespace

PartialFile::PartialFile(std::filesystem::path target, int descriptor)
    : target_(std::move(target)), partial_(target_.string() + ".partial"), descriptor_(descriptor) {}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : target_(std::move(other.target_)),
      partial_(std::move(other.partial_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_) {}

PartialFile::~PartialFile() {
  if (descriptor_ < 0) return;
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);  // before the lock goes: afterwards the name may be another's
  close(descriptor_);
}

Result<PartialFile> PartialFile::create(const std::filesystem::path& target, uint64_t bytes_needed) {
  std::error_code error;
  const auto status = std::filesystem::status(target, error);
  // Renaming onto a device would take its place.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return fail(ErrorCode::kUsage, "{}: is {}; give the name of a file", visible(target.string()),
                std::filesystem::is_directory(status) ? "a folder" : "not a file");
  const auto folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  if (const auto space = std::filesystem::space(folder, error); !error && space.available < bytes_needed)
    return fail(ErrorCode::kIo, "{}: needs {}, the disk has {} left; free some space or choose another place",
                visible(target.string()), size_words(bytes_needed), size_words(space.available));
  const std::filesystem::path partial = target.string() + ".partial";
  while (true) {
    // O_NOFOLLOW: a link of that name could lead anywhere. What another process writes is not cut off before the lock says that nobody does.
    const int descriptor = open(partial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) return refuse_path(target, errno);
    const bool is_locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!is_locked && errno == EWOULDBLOCK) {
      close(descriptor);
      return fail(ErrorCode::kIo, "{}: another process is writing it; wait for its end, or choose another name",
                  visible(target.string()));
    }
    // It may have been published or removed between the two calls: then the lock is on another file than the one of that name.
    struct stat held {};
    struct stat named {};
    const bool is_same = fstat(descriptor, &held) == 0 && lstat(partial.c_str(), &named) == 0 &&
                         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
    if (is_same) {
      if (ftruncate(descriptor, 0) == 0) return PartialFile(target, descriptor);
      const int error_number = errno;
      close(descriptor);
      return refuse_path(target, error_number);
    }
    close(descriptor);
  }
}

tl::unexpected<Error> PartialFile::refuse(int error_number) const { return refuse_path(target_, error_number); }

Result<> PartialFile::write(std::span<const std::byte> bytes) {
  constexpr size_t kMostAtOnce = size_t(1) << 30;  // macOS refuses 2 GB and more
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse(errno);
    bytes = bytes.subspan(size_t(count));
    written_ += uint64_t(count);
  }
  return {};
}

Result<> PartialFile::publish(bool durable) {
  // Only then does a full disk of a network file system speak up.
  if (durable && fsync(descriptor_) != 0 && errno != EINVAL) return refuse(errno);
  std::error_code error;
  std::filesystem::rename(partial_, target_, error);
  if (error) return refuse(error.value());
  close(std::exchange(descriptor_, -1));
  return {};
}

}  // namespace anedvd
