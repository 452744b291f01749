#include "text/merge_table.h"

#include <algorithm>
#include <bit>

namespace anedvd {
namespace {

uint64_t pair_of(Token left, Token right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

uint64_t hash_pair(uint64_t pair) {
  pair *= 0x9E3779B97F4A7C15u;
  return pair ^ pair >> 32;
}

}  // namespace

void MergeTable::reserve(size_t merges) {
  slots_.assign(std::bit_ceil(std::max<size_t>(merges * 2, 16)), {});
  mask_ = slots_.size() - 1;
}

void MergeTable::add(Token left, Token right, uint32_t rank, Token result) {
  const uint64_t pair = pair_of(left, right);
  uint64_t at = hash_pair(pair) & mask_;
  for (; slots_[at].pair != UINT64_MAX; at = (at + 1) & mask_) {
    if (slots_[at].pair == pair) return;
  }
  slots_[at] = {pair, rank, result};
}

Joined<Token> MergeTable::find(Token left, Token right) const {
  if (slots_.empty()) return {};
  const uint64_t pair = pair_of(left, right);
  for (uint64_t at = hash_pair(pair) & mask_; slots_[at].pair != UINT64_MAX; at = (at + 1) & mask_) {
    if (slots_[at].pair == pair) return {slots_[at].rank, slots_[at].token};
  }
  return {};
}

void MergeTable::apply(std::vector<Token>& tokens, size_t start) const {
  merge_symbols(tokens, start, [this](Token left, Token right) { return find(left, right); });
}

}  // namespace anedvd
