// Anonymous memory on huge pages where the system grants them: the largest single lever on decode speed in a virtual machine.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace anedvd {

class HugeBuffer {
 public:
  HugeBuffer() = default;

  // Reserves `bytes` of zeroed memory, aligned to 2 MiB; pages are taken at first touch. kNoMemory if the system refuses.
  static Result<HugeBuffer> reserve(size_t bytes);

  HugeBuffer(HugeBuffer&& other) noexcept;
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;
  ~HugeBuffer();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace anedvd
