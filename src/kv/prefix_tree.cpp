#include "kv/prefix_tree.h"

#include <algorithm>

namespace anedvd {
namespace {

using Tokens = std::span<const int32_t>;

int common_prefix(Tokens a, Tokens b) {
  return int(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

template <class Node>
Tokens tokens_of(const Node& node) {
  return {node.tokens.data(), size_t(node.count)};
}

// The first child that is not before `tokens`.
template <class Children>
auto place_of(Children& children, Tokens tokens) {
  return std::lower_bound(children.begin(), children.end(), tokens, [](const auto& child, Tokens wanted) {
    const Tokens own = tokens_of(*child);
    return std::lexicographical_compare(own.begin(), own.end(), wanted.begin(), wanted.end());
  });
}

}  // namespace

PrefixMatch PrefixTree::find(Tokens tokens) {
  PrefixMatch match;
  Node* node = &root_;
  ++clock_;
  while (!tokens.empty()) {
    const Tokens head = tokens.first(std::min(tokens.size(), size_t(kPageTokens)));
    const auto place = place_of(node->children, head);
    // Neighbours in order share the longest beginnings.
    Node* best = nullptr;
    int best_tokens = 0;
    for (auto at = place == node->children.begin() ? place : place - 1; at != node->children.end() && at <= place;
         ++at) {
      const int common = common_prefix(tokens_of(**at), head);
      if (common > best_tokens) {
        best = at->get();
        best_tokens = common;
      }
    }
    if (best == nullptr) break;
    best->used = clock_;
    if (best_tokens < kPageTokens) {
      match.beginning = best->page;
      match.beginning_tokens = best_tokens;
      break;
    }
    match.pages.push_back(best->page);
    tokens = tokens.subspan(kPageTokens);
    node = best;
  }
  return match;
}

void PrefixTree::insert(Tokens tokens, SequenceCache& cache) {
  const std::span<const PageHandle> pages = cache.handles();
  Node* node = &root_;
  ++clock_;
  for (size_t i = 0; !tokens.empty(); ++i) {
    const Tokens head = tokens.first(std::min(tokens.size(), size_t(kPageTokens)));
    tokens = tokens.subspan(head.size());
    auto place = place_of(node->children, head);
    if (place != node->children.end() && common_prefix(tokens_of(**place), head) == int(head.size())) {
      // Known, or the beginning of something known.
      node = place->get();
      node->used = clock_;
      if (node->count < kPageTokens) return;
      if (int(head.size()) < kPageTokens) return;
      if (pages[i].words() != node->page.words()) cache.replace(i, node->page);
      continue;
    }
    // An open page that ends inside this one is in front of it: the longer one takes its place.
    if (place != node->children.begin()) {
      Node& before = **(place - 1);
      if (before.count < int(head.size()) && common_prefix(tokens_of(before), head) == before.count) {
        std::copy(head.begin(), head.end(), before.tokens.begin());
        before.count = int(head.size());
        before.page = pages[i];
        before.used = clock_;
        node = &before;
        continue;
      }
    }
    auto made = std::make_unique<Node>();
    std::copy(head.begin(), head.end(), made->tokens.begin());
    made->count = int(head.size());
    made->page = pages[i];
    made->used = clock_;
    made->parent = node;
    node = node->children.insert(place, std::move(made))->get();
    ++pages_;
  }
}

// A conversation is as deep as it is long: no recursion here.
template <class Visit>
void PrefixTree::for_each(Visit visit) const {
  std::vector<Node*> open;
  for (const auto& child : root_.children) open.push_back(child.get());
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    visit(*node);
    for (const auto& child : node->children) open.push_back(child.get());
  }
}

PrefixTree::~PrefixTree() {
  std::vector<std::unique_ptr<Node>> open = std::move(root_.children);
  while (!open.empty()) {
    const std::unique_ptr<Node> node = std::move(open.back());
    open.pop_back();
    for (auto& child : node->children) open.push_back(std::move(child));
  }
}

int64_t PrefixTree::evict(int64_t pages) {
  if (pages <= 0) return 0;
  std::vector<Node*> leaves;  // a heap, the least recently used on top
  const auto newer = [](const Node* a, const Node* b) { return a->used > b->used; };
  for_each([&](Node& node) {
    if (node.may_go()) leaves.push_back(&node);
  });
  std::make_heap(leaves.begin(), leaves.end(), newer);
  int64_t freed = 0;
  while (freed < pages && !leaves.empty()) {
    std::pop_heap(leaves.begin(), leaves.end(), newer);
    Node* const node = leaves.back();
    leaves.pop_back();
    Node* const parent = node->parent;
    std::erase_if(parent->children, [&](const auto& child) { return child.get() == node; });
    --pages_;
    ++freed;
    if (parent != &root_ && parent->may_go()) {
      leaves.push_back(parent);
      std::push_heap(leaves.begin(), leaves.end(), newer);
    }
  }
  return freed;
}

int64_t PrefixTree::idle_pages() const {
  int64_t idle = 0;
  for_each([&](Node& node) { idle += node.page.users() == 1 ? 1 : 0; });
  return idle;
}

}  // namespace anedvd
