// The merging loop of BPE, for any kind of symbol: the neighbouring pair with the lowest rank (leftmost on ties) becomes one symbol, until
// no pair can be joined.
//
// Short words are merged by scanning; long ones with a heap over a linked list, so that a word of n symbols costs O(n log n): a prompt of
// 200,000 equal letters is one word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace anedvd {

constexpr uint32_t kNoMerge = UINT32_MAX;

template <class Symbol>
struct Joined {
  uint32_t rank = kNoMerge;
  Symbol symbol = {};
};

namespace merge_detail {

// Scanning costs n²/2 comparisons of small numbers in a few cache lines: faster than a heap up to about here.
constexpr size_t kScanLimit = 48;

template <class Symbol, class Join>
void merge_scanning(std::vector<Symbol>& symbols, size_t start, const Join& join) {
  Symbol* word = symbols.data() + start;
  size_t count = symbols.size() - start;
  Joined<Symbol> merges[kScanLimit];  // merges[i]: of word[i] and word[i + 1]
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = join(word[i], word[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNoMerge) break;
    word[best] = merges[best].symbol;
    std::copy(word + best + 2, word + count, word + best + 1);
    if (best + 2 < count) std::copy(merges + best + 2, merges + count - 1, merges + best + 1);
    --count;
    if (best > 0) merges[best - 1] = join(word[best - 1], word[best]);
    if (best + 1 < count) merges[best] = join(word[best], word[best + 1]);
  }
  symbols.resize(start + count);
}

template <class Symbol, class Join>
void merge_with_heap(std::vector<Symbol>& symbols, size_t start, const Join& join) {
  constexpr uint32_t kNone = UINT32_MAX;
  constexpr uint32_t kMergedAway = UINT32_MAX - 1;
  struct Node {
    Symbol symbol;
    uint32_t previous, next;
  };
  struct Candidate {
    uint32_t rank;
    uint32_t at;                 // position: ties go to the leftmost
    Symbol left, right, joined;  // a candidate whose nodes hold other symbols by now is stale
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  const auto count = static_cast<uint32_t>(symbols.size() - start);
  std::vector<Node> nodes(count);
  for (uint32_t i = 0; i < count; ++i)
    nodes[i] = {symbols[start + i], i == 0 ? kNone : i - 1, i + 1 < count ? i + 1 : kNone};

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](uint32_t at) {
    if (at == kNone || nodes[at].next == kNone) return;
    const Symbol left = nodes[at].symbol;
    const Symbol right = nodes[nodes[at].next].symbol;
    const Joined<Symbol> joined = join(left, right);
    if (joined.rank != kNoMerge) queue.push({joined.rank, at, left, right, joined.symbol});
  };
  for (uint32_t i = 0; i < count; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Node& left = nodes[best.at];
    if (left.next >= kMergedAway || !(left.symbol == best.left) || !(nodes[left.next].symbol == best.right)) continue;
    Node& right = nodes[left.next];
    left.symbol = best.joined;
    left.next = right.next;
    right.next = kMergedAway;
    if (left.next != kNone) nodes[left.next].previous = best.at;
    offer(left.previous);
    offer(best.at);
  }
  symbols.resize(start);
  for (uint32_t i = 0; i != kNone; i = nodes[i].next) symbols.push_back(nodes[i].symbol);
}

}  // namespace merge_detail

// Merges the symbols from position `start` on, in place. join(left, right) gives the pair's rank and what it becomes; kNoMerge: they stay.
template <class Symbol, class Join>
void merge_symbols(std::vector<Symbol>& symbols, size_t start, const Join& join) {
  const size_t count = symbols.size() - start;
  if (count < 2) return;
  if (count <= merge_detail::kScanLimit) {
    merge_detail::merge_scanning(symbols, start, join);
  } else {
    merge_detail::merge_with_heap(symbols, start, join);
  }
}

}  // namespace anedvd
