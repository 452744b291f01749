#include "device/kv_view.h"

namespace anedvd {

KvLayout::KvLayout(std::span<const CacheLayer> layers) {
  int64_t words = 0;
  for (const CacheLayer& layer : layers) {
    const int padded_dim = (layer.head_dim + 15) / 16 * 16;
    layers_.push_back({words, padded_dim});
    words += int64_t(layer.kv_heads) * 2 * kPageTokens * padded_dim;
  }
  page_bytes_ = words * int64_t(sizeof(uint16_t));
}

}  // namespace anedvd
