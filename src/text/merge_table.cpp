#include "text/merge_table.h"

#include <algorithm>
#include <bit>
#include <queue>

namespace anedvd {
namespace {

// Scanning costs n²/2 comparisons of small numbers in one cache line or two: faster than a heap up to about here.
constexpr size_t kScanLimit = 48;

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
  count_ = 0;
}

void MergeTable::add(Token left, Token right, uint32_t rank, Token result) {
  if (count_ * 2 >= slots_.size()) return;  // never: reserve() was given the number
  const uint64_t pair = pair_of(left, right);
  uint64_t at = hash_pair(pair) & mask_;
  for (; slots_[at].pair != UINT64_MAX; at = (at + 1) & mask_) {
    if (slots_[at].pair == pair) return;
  }
  slots_[at] = {pair, rank, result};
  ++count_;
}

MergeTable::Merge MergeTable::find(Token left, Token right) const {
  if (slots_.empty()) return {};
  const uint64_t pair = pair_of(left, right);
  for (uint64_t at = hash_pair(pair) & mask_; slots_[at].pair != UINT64_MAX; at = (at + 1) & mask_) {
    if (slots_[at].pair == pair) return {slots_[at].rank, slots_[at].token};
  }
  return {};
}

void MergeTable::apply(std::vector<Token>& tokens, size_t start) const {
  const size_t count = tokens.size() - start;
  if (count < 2) return;
  if (count <= kScanLimit) {
    apply_scanning(tokens, start);
  } else {
    apply_with_heap(tokens, start);
  }
}

void MergeTable::apply_scanning(std::vector<Token>& tokens, size_t start) const {
  Token* word = tokens.data() + start;
  size_t count = tokens.size() - start;
  Merge merges[kScanLimit];  // merges[i]: of word[i] and word[i + 1]
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = find(word[i], word[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == UINT32_MAX) break;
    word[best] = merges[best].token;
    std::copy(word + best + 2, word + count, word + best + 1);
    if (best + 2 < count) std::copy(merges + best + 2, merges + count - 1, merges + best + 1);
    --count;
    if (best > 0) merges[best - 1] = find(word[best - 1], word[best]);
    if (best + 1 < count) merges[best] = find(word[best], word[best + 1]);
  }
  tokens.resize(start + count);
}

void MergeTable::apply_with_heap(std::vector<Token>& tokens, size_t start) const {
  struct Node {
    Token token;
    uint32_t previous, next;  // UINT32_MAX: none
  };
  struct Candidate {
    uint32_t rank;
    uint32_t left;  // position: ties go to the leftmost
    uint64_t pair;  // what the two nodes held; a candidate whose nodes have changed is stale
    Token token;
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };
  constexpr uint32_t kNone = UINT32_MAX;
  const auto count = static_cast<uint32_t>(tokens.size() - start);
  std::vector<Node> nodes(count);
  for (uint32_t i = 0; i < count; ++i)
    nodes[i] = {tokens[start + i], i == 0 ? kNone : i - 1, i + 1 < count ? i + 1 : kNone};

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](uint32_t left) {
    if (left == kNone || nodes[left].next == kNone) return;
    const Token a = nodes[left].token;
    const Token b = nodes[nodes[left].next].token;
    const Merge merge = find(a, b);
    if (merge.rank != UINT32_MAX) queue.push({merge.rank, left, pair_of(a, b), merge.token});
  };
  for (uint32_t i = 0; i < count; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Node& left = nodes[best.left];
    // A node that was merged away has the token −1, which no candidate's pair holds.
    if (left.next == kNone || pair_of(left.token, nodes[left.next].token) != best.pair) continue;
    Node& right = nodes[left.next];
    left.token = best.token;
    right.token = -1;
    left.next = right.next;
    if (left.next != kNone) nodes[left.next].previous = best.left;
    offer(left.previous);
    offer(best.left);
  }
  tokens.resize(start);
  for (uint32_t i = 0; i != kNone; i = nodes[i].next) tokens.push_back(nodes[i].token);
}

}  // namespace anedvd
