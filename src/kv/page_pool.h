// Pages of keys and values, shared by counting. A page holds 16 positions of every layer (device/kv_view.h); memory is taken from the system
// when a page is first used.
//
// One thread, the engine's.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/machine/huge_buffer.h"
#include "base/result.h"

namespace anedvd {

class PagePool;

// A share in a page: the page goes back to its pool with the last one. What several hold must not be written to.
class PageHandle {
 public:
  PageHandle() = default;
  PageHandle(const PageHandle& other) : page_(other.page_) {
    if (page_ != nullptr) ++page_->users;
  }
  PageHandle(PageHandle&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
  PageHandle& operator=(PageHandle other) noexcept {
    std::swap(page_, other.page_);
    return *this;
  }
  ~PageHandle();

  uint16_t* words() const { return page_->words; }
  int users() const { return page_->users; }
  explicit operator bool() const { return page_ != nullptr; }

 private:
  friend class PagePool;
  struct Page {
    PagePool* pool;
    uint16_t* words;
    int users;
  };
  explicit PageHandle(Page* page) : page_(page) { page->users = 1; }

  Page* page_ = nullptr;
};

// Outlives every handle.
class PagePool {
 public:
  // At most `max_pages` pages of `page_bytes` each.
  PagePool(int64_t page_bytes, int64_t max_pages) : page_bytes_(page_bytes), max_pages_(max_pages) {}
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // A page with undefined contents. kNoMemory when all are in use or the system refuses.
  Result<PageHandle> take();

  int64_t page_bytes() const { return page_bytes_; }
  int64_t max_pages() const { return max_pages_; }
  int64_t pages_in_use() const { return int64_t(pages_.size() - free_.size()); }
  int64_t pages_left() const { return max_pages_ - pages_in_use(); }

 private:
  friend class PageHandle;

  int64_t page_bytes_;
  int64_t max_pages_;
  std::deque<PageHandle::Page> pages_;  // addresses stay
  std::vector<HugeBuffer> slabs_;
  int64_t slab_left_ = 0;  // pages of the last slab that were never handed out
  std::vector<PageHandle::Page*> free_;
};

inline PageHandle::~PageHandle() {
  if (page_ != nullptr && --page_->users == 0) page_->pool->free_.push_back(page_);
}

}  // namespace anedvd
