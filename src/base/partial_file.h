// A file that is either there whole or not at all: bytes go to NAME.partial, which takes the name when all are written.
//
//   auto file = PartialFile::create("model.gguf");  write(…) …  publish()
//
// Not thread-safe. Destroyed unpublished, it removes what it wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace anedvd {

class PartialFile {
 public:
  // `bytes_needed`: refused beforehand if the disk has less. A target that exists must be a file: it is replaced by publish().
  // kUsage: the target is a folder or a device; kIo: no such folder, no permission, no space, another process writes the same target.
  static Result<PartialFile> create(const std::filesystem::path& target, uint64_t bytes_needed = 0);

  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  ~PartialFile();

  // kIo: TARGET: no space left on device; free some or choose another place
  Result<> write(std::span<const std::byte> bytes);

  // Writes to the disk and renames. Nothing may follow. `durable` false leaves the time of writing to the system: for what can be made again.
  Result<> publish(bool durable = true);

  uint64_t written() const { return written_; }

 private:
  PartialFile(std::filesystem::path target, int descriptor);
  tl::unexpected<Error> refuse(int error_number) const;

  std::filesystem::path target_, partial_;
  int descriptor_ = -1;
  uint64_t written_ = 0;
};

}  // namespace anedvd
