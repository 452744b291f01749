// Pages of keys and values. A page holds 16 positions of every layer (device/kv_view.h); memory is taken from the system when a page is first used.
//
// One thread, the engine's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/machine/huge_buffer.h"
#include "base/result.h"

namespace anedvd {

class PagePool {
 public:
  // At most `max_pages` pages of `page_bytes` each.
  PagePool(int64_t page_bytes, int64_t max_pages) : page_bytes_(page_bytes), max_pages_(max_pages) {}

  // A page with undefined contents. kNoMemory when all are in use or the system refuses.
  Result<uint16_t*> take();
  void give_back(uint16_t* page) { free_.push_back(page); }

  int64_t page_bytes() const { return page_bytes_; }
  int64_t pages_in_use() const { return made_ - int64_t(free_.size()); }

 private:
  int64_t page_bytes_;
  int64_t max_pages_;
  int64_t made_ = 0;
  std::vector<HugeBuffer> slabs_;
  int64_t slab_left_ = 0;  // pages of the last slab that were never handed out
  std::vector<uint16_t*> free_;
};

}  // namespace anedvd
