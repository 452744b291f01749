// Which prefixes of tokens are in the cache: a tree whose edges are pages.
//
//   root ─[16 tokens]─ page ─[16 tokens]─ page ─[9 tokens]─ page (open: its other positions hold nothing)
//                          └─[16 tokens]─ page
//
// Every conversation that was served leaves its pages here, and any other that begins alike takes them. A page is used by as many sequences as
// like; one that only begins alike is copied by whoever needs its beginning. Children are sorted by their tokens, so the longest common
// beginning is beside the place where a page would be put.
//
// One thread, the engine's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/kv_view.h"
#include "kv/page_pool.h"
#include "kv/sequence_cache.h"

namespace anedvd {

struct PrefixMatch {
  std::vector<PageHandle> pages;  // whole ones, in order
  PageHandle beginning;           // a further page of which only the first `beginning_tokens` positions fit
  int beginning_tokens = 0;

  int tokens() const { return int(pages.size()) * kPageTokens + beginning_tokens; }
};

class PrefixTree {
 public:
  PrefixTree() = default;
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The longest cached prefix of `tokens`. What it passes counts as used now.
  PrefixMatch find(std::span<const int32_t> tokens);

  // Puts the pages of a sequence's first tokens into the tree; the last one may be open and must not be written to any more. Where the tree has a
  // page for the same tokens already, the sequence takes that one for its own: keys and values depend on the tokens alone.
  void insert(std::span<const int32_t> tokens, SequenceCache& cache);

  // Lets go of least recently used pages that nobody else holds, leaves first, until `pages` of them went back. How many did.
  int64_t evict(int64_t pages);

  int64_t pages() const { return pages_; }

  // Pages that nobody but the tree holds.
  int64_t idle_pages() const;

 private:
  struct Node {
    std::array<int32_t, kPageTokens> tokens{};
    int count = 0;  // of tokens; below 16 it is open and has no children
    PageHandle page;
    uint64_t used = 0;
    Node* parent = nullptr;
    std::vector<std::unique_ptr<Node>> children;

    bool may_go() const { return children.empty() && page.users() == 1; }
  };

  template <class Visit>
  void for_each(Visit visit) const;

  Node root_;
  uint64_t clock_ = 0;
  int64_t pages_ = 0;
};

}  // namespace anedvd
