// How keys and values lie in memory, and where one sequence's are.
//
// A page holds kPageTokens positions of every layer. Within a page, for each layer and KV head:
//
//   K  [head_dim][kPageTokens] fp16   transposed, so that the scores of 16 positions come from plain multiply-adds with a broadcast query
//   V  [kPageTokens][head_dim] fp16
//
// with head_dim rounded up to 16, so that rows of V are whole vectors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/plan.h"

namespace anedvd {

constexpr int kPageTokens = 16;

class KvLayout {
 public:
  explicit KvLayout(std::span<const CacheLayer> layers);

  int64_t page_bytes() const { return page_bytes_; }
  int64_t token_bytes() const { return page_bytes_ / kPageTokens; }
  int layers() const { return int(layers_.size()); }

  // Offset in a page, in 16-bit words, of a head's K block; its V block follows directly.
  int64_t head_offset(int layer, int kv_head) const {
    const auto& entry = layers_[size_t(layer)];
    return entry.offset + int64_t(kv_head) * 2 * kPageTokens * entry.head_dim;
  }

 private:
  struct Layer {
    int64_t offset;
    int head_dim;
  };
  std::vector<Layer> layers_;
  int64_t page_bytes_ = 0;
};

// The page table of one sequence: pages[i] holds positions 16·i … 16·i + 15. Pages are big enough for all columns of the step.
struct KvView {
  std::span<uint16_t* const> pages;
};

}  // namespace anedvd
