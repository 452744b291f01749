#include "kv/sequence_cache.h"

#include <cstring>

#include "device/kv_view.h"

namespace anedvd {
namespace {

size_t pages_for(int tokens) { return size_t((tokens + kPageTokens - 1) / kPageTokens); }

}  // namespace

Result<> SequenceCache::reserve(int tokens) {
  while (handles_.size() < pages_for(tokens)) {
    ANEDVD_TRY(PageHandle page, pool_->take());
    append_shared(std::move(page));
  }
  return {};
}

void SequenceCache::truncate(int tokens) {
  if (handles_.size() <= pages_for(tokens)) return;
  handles_.resize(pages_for(tokens));
  table_.resize(handles_.size());
}

void SequenceCache::append_shared(PageHandle page) {
  table_.push_back(page.words());
  handles_.push_back(std::move(page));
}

void SequenceCache::replace(size_t i, const PageHandle& page) {
  handles_[i] = page;
  table_[i] = page.words();
}

Result<> SequenceCache::append_copy(const PageHandle& from) {
  ANEDVD_TRY(PageHandle page, pool_->take());
  std::memcpy(page.words(), from.words(), size_t(pool_->page_bytes()));
  append_shared(std::move(page));
  return {};
}

}  // namespace anedvd
