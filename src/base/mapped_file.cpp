#include "base/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anedvd {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    if (error == ENOENT) return fail(ErrorCode::kNotFound, "{}: no such file; check the path", path.string());
    return fail(ErrorCode::kIo, "{}: cannot be opened ({}); {}", path.string(), std::strerror(error),
                error == EACCES ? "ask its owner for the right to read it" : "look at the file");
  }
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return fail(ErrorCode::kBadFile, "{}: not a regular file; give a file", path.string());
  }
  if (status.st_size == 0) {
    ::close(fd);
    return fail(ErrorCode::kBadFile, "{}: the file is empty; fetch it again", path.string());
  }
  const auto size = size_t(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (data == MAP_FAILED)
    return fail(ErrorCode::kIo, "{}: cannot be mapped into memory ({}); {}", path.string(), std::strerror(error),
                error == ENOMEM ? "raise the limit of memory (ulimit -v)" : "copy it to a local disk");
  MappedFile file;
  file.path_ = path;
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = size;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

namespace {

// Calls madvise on the whole pages inside the range.
void advise_inner_pages(std::span<const std::byte> bytes, int advice) {
  const auto page = uintptr_t(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

void MappedFile::release(std::span<const std::byte> bytes) { advise_inner_pages(bytes, MADV_DONTNEED); }

void MappedFile::will_need(std::span<const std::byte> bytes) { advise_inner_pages(bytes, MADV_WILLNEED); }

}  // namespace anedvd
