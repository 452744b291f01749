// A file mapped into memory, read only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace anedvd {

class MappedFile {
 public:
  // Maps the whole file. Errors: kNotFound, kIo; a folder or an empty file is kBadFile.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  // Tells the system that these bytes will not be needed soon: resident pages that lie wholly inside are given back.
  static void release(std::span<const std::byte> bytes);

  // Asks the system to read these bytes ahead.
  static void will_need(std::span<const std::byte> bytes);

 private:
  MappedFile() = default;

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace anedvd
