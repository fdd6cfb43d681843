#include "engine/prefix_tree.h"

#include <algorithm>

#include "base/check.h"

namespace smoe {
namespace {

constexpr uint32_t kTreeRoot = 0;

}  // namespace

PrefixTree::PrefixTree(KvCache& cache) : cache_(cache), nodes_(size_t{cache.pages()} + 1) {
  free_nodes_.reserve(cache.pages());
  for (uint32_t node = cache.pages(); node > 0; --node) free_nodes_.push_back(node);
}

PrefixTree::~PrefixTree() {
  for (const Node& node : nodes_)
    if (node.count > 0) cache_.release(node.page);
}

PrefixTree::Best PrefixTree::best_child(uint32_t parent, std::span<const TokenId> tokens) const {
  Best best;
  for (uint32_t i = nodes_[parent].child; i != kNone; i = nodes_[i].sibling) {
    const Node& node = nodes_[i];
    const auto most = std::min<size_t>(node.count, tokens.size());
    const auto differ = std::mismatch(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(most),
                                      node.tokens.begin());
    const auto common = static_cast<uint32_t>(differ.first - tokens.begin());
    if (common > best.common) best = {i, common};
  }
  return best;
}

uint32_t PrefixTree::attach(SequenceId sequence, std::span<const TokenId> tokens) {
  ++tick_;
  uint32_t held = 0;
  for (uint32_t at = kTreeRoot; held < tokens.size();) {
    const Best best = best_child(at, tokens.subspan(held));
    if (best.node == kNone) break;
    Node& node = nodes_[best.node];
    if (best.common == kPagePositions) {
      cache_.share(sequence, node.page);
    } else if (cache_.free_pages() > 0) {
      cache_.share_copy(sequence, node.page);
    } else {
      break;
    }
    node.used = tick_;
    held += best.common;
    if (best.common < kPagePositions) break;
    at = best.node;
  }
  return held;
}

uint32_t PrefixTree::covered(std::span<const TokenId> tokens) const {
  uint32_t held = 0;
  Best best{kTreeRoot, kPagePositions};
  while (best.common == kPagePositions && held < tokens.size()) {
    best = best_child(best.node, tokens.subspan(held));
    held += best.common;
  }
  return held;
}

void PrefixTree::keep(SequenceId sequence, std::span<const TokenId> tokens, Tail tail) {
  ++tick_;
  uint32_t at = kTreeRoot;
  for (uint32_t index = 0; !tokens.empty(); ++index) {
    const auto count = std::min<size_t>(tokens.size(), kPagePositions);
    if (count < kPagePositions && tail == Tail::kLeftOut) return;
    at = find_or_add(at, tokens.first(count), cache_.page(sequence, index));
    tokens = tokens.subspan(count);
  }
}

uint32_t PrefixTree::find_or_add(uint32_t parent, std::span<const TokenId> tokens, uint32_t page) {
  const Best best = best_child(parent, tokens);
  if (best.node != kNone && best.common == tokens.size()) {
    nodes_[best.node].used = tick_;
    return best.node;
  }
  if (best.node != kNone && best.common == nodes_[best.node].count) {  // it goes on here
    Node& node = nodes_[best.node];
    cache_.hold(page);
    cache_.release(node.page);
    node.page = page;
    node.count = static_cast<uint32_t>(tokens.size());
    node.used = tick_;
    std::copy(tokens.begin(), tokens.end(), node.tokens.begin());
    return best.node;
  }
  add(parent, tokens, page);
  return nodes_[parent].child;
}

void PrefixTree::add(uint32_t parent, std::span<const TokenId> tokens, uint32_t page) {
  SMOE_CHECK(!free_nodes_.empty());  // each node holds a page, and no page is held by two
  const uint32_t index = free_nodes_.back();
  free_nodes_.pop_back();
  cache_.hold(page);
  Node& node = nodes_[index];
  std::copy(tokens.begin(), tokens.end(), node.tokens.begin());
  node.count = static_cast<uint32_t>(tokens.size());
  node.page = page;
  node.depth = nodes_[parent].depth + 1;
  node.used = tick_;
  node.parent = parent;
  node.child = kNone;
  node.sibling = nodes_[parent].child;
  nodes_[parent].child = index;
}

void PrefixTree::remove(uint32_t index) {
  Node& node = nodes_[index];
  uint32_t* link = &nodes_[node.parent].child;
  while (*link != index) link = &nodes_[*link].sibling;
  *link = node.sibling;
  cache_.release(node.page);
  node = {};
  free_nodes_.push_back(index);
}

// Losing a leaf means computing it again, and with it, soon, all that led to it: leaves of long
// texts are worth more, as are those used lately.
uint32_t PrefixTree::least_worth() const {
  uint32_t least = kNone;
  double least_worth = 0;
  for (uint32_t i = 1; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.count == 0 || node.child != kNone || cache_.holders(node.page) > 1) continue;
    const double worth =
        static_cast<double>(node.depth) / static_cast<double>(tick_ - node.used + 1);
    if (least != kNone && worth >= least_worth) continue;
    least = i;
    least_worth = worth;
  }
  return least;
}

bool PrefixTree::make_room(uint32_t pages) {
  while (cache_.free_pages() < pages) {
    const uint32_t node = least_worth();
    if (node == kNone) return false;
    remove(node);
  }
  return true;
}

uint32_t PrefixTree::unused_pages() const {
  return static_cast<uint32_t>(std::count_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    return node.count > 0 && cache_.holders(node.page) == 1;
  }));
}

}  // namespace smoe
