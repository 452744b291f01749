#include "base/machine/huge_buffer.h"

#include <cstdint>
#include <utility>

#include <sys/mman.h>

#include "base/words.h"

namespace anedvd {
namespace {

constexpr size_t kHugePage = size_t(2) << 20;

}  // namespace

Result<HugeBuffer> HugeBuffer::reserve(size_t bytes) {
  HugeBuffer buffer;
  if (bytes == 0) return buffer;
  const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(MAP_NORESERVE)
  flags |= MAP_NORESERVE;
#endif
  void* mapping = ::mmap(nullptr, rounded + kHugePage, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapping == MAP_FAILED)
    return fail(ErrorCode::kNoMemory, "memory: {} were refused by the system; use a smaller model or context",
                size_words(bytes));
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(mapping) + kHugePage - 1) / kHugePage * kHugePage;
  buffer.mapping_ = mapping;
  buffer.mapped_ = rounded + kHugePage;
  buffer.data_ = reinterpret_cast<std::byte*>(aligned);
  buffer.size_ = bytes;
#if defined(MADV_HUGEPAGE)
  // Below one huge page the rounding would cost more memory than the pages save.
  if (bytes >= kHugePage) ::madvise(buffer.data_, rounded, MADV_HUGEPAGE);
#endif
  return buffer;
}

HugeBuffer::HugeBuffer(HugeBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

HugeBuffer::~HugeBuffer() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_);
}

}  // namespace anedvd
