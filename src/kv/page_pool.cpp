#include "kv/page_pool.h"

#include <algorithm>

namespace anedvd {
namespace {

constexpr int64_t kSlabPages = 16;  // a slab is address space only until its pages are touched

}  // namespace

Result<PageHandle> PagePool::take() {
  if (!free_.empty()) {
    PageHandle::Page* page = free_.back();
    free_.pop_back();
    return PageHandle(page);
  }
  const auto made = int64_t(pages_.size());
  if (made >= max_pages_)
    return fail(ErrorCode::kNoMemory, "cache: all {} pages are in use; use a smaller context or fewer requests at once",
                max_pages_);
  if (slab_left_ == 0) {
    const int64_t pages = std::min(kSlabPages, max_pages_ - made);
    ANEDVD_TRY(HugeBuffer slab, HugeBuffer::reserve(size_t(pages * page_bytes_)));
    slabs_.push_back(std::move(slab));
    slab_left_ = pages;
  }
  const HugeBuffer& slab = slabs_.back();
  auto* words =
      reinterpret_cast<uint16_t*>(slab.data() + (int64_t(slab.size()) / page_bytes_ - slab_left_) * page_bytes_);
  --slab_left_;
  pages_.push_back({this, words, 0});
  return PageHandle(&pages_.back());
}

}  // namespace anedvd
