#include "kv/sequence_cache.h"

#include "device/kv_view.h"

namespace anedvd {
namespace {

size_t pages_for(int tokens) { return size_t((tokens + kPageTokens - 1) / kPageTokens); }

}  // namespace

Result<> SequenceCache::reserve(int tokens) {
  while (pages_.size() < pages_for(tokens)) {
    ANEDVD_TRY(uint16_t * page, pool_.take());
    pages_.push_back(page);
  }
  return {};
}

void SequenceCache::truncate(int tokens) {
  while (pages_.size() > pages_for(tokens)) {
    pool_.give_back(pages_.back());
    pages_.pop_back();
  }
}

}  // namespace anedvd
