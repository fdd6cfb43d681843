#include "engine/prefix_tree.h"

#include <algorithm>

#include "base/check.h"

namespace smoe {
namespace {

constexpr uint32_t kTreeRoot = 0;

}  // namespace

PrefixTree::PrefixTree(KvCache& cache, PrefixStore* store)
    : cache_(cache), store_(store), nodes_(size_t{cache.pages()} + 1) {
  if (store_ != nullptr) nodes_[kTreeRoot].key = store_->root();
  free_nodes_.reserve(cache.pages());
  for (uint32_t node = cache.pages(); node > 0; --node) free_nodes_.push_back(node);
}

PrefixTree::~PrefixTree() {
  if (store_ != nullptr) save_all();
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
    Best best = best_child(at, tokens.subspan(held));
    if (store_ != nullptr && best.common < kPagePositions) {
      const uint32_t loaded = load_next(sequence, at, tokens.subspan(held), best.common);
      held += loaded;
      if (loaded == kPagePositions) {
        at = nodes_[at].child;
        continue;
      }
      if (loaded > 0) break;
      best = best_child(at, tokens.subspan(held));  // room may have been made in vain
    }
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

// The longest page in the store that begins like `tokens`, of more than `more_than`, as the
// sequence's next one. A full page becomes a child of `parent`; one that is not is the sequence's
// own, because it goes on writing there. Returns how many tokens it holds.
uint32_t PrefixTree::load_next(SequenceId sequence, uint32_t parent,
                               std::span<const TokenId> tokens, uint32_t more_than) {
  const auto most = static_cast<uint32_t>(std::min<size_t>(tokens.size(), kPagePositions));
  const PageKey before = nodes_[parent].key;
  for (uint32_t count = most; count > more_than; --count) {
    if (!store_->has(store_->key_of(before, tokens.first(count)))) continue;
    const uint32_t index = nodes_[parent].depth;
    const uint32_t positions = index * kPagePositions + count;
    if (!make_room(1) || !store_->load(before, tokens.first(count))) continue;
    if (!cache_.extend(sequence, positions)) return 0;
    const uint32_t page = cache_.page(sequence, index);
    cache_.write_page(page, store_->payload());
    if (count == kPagePositions) add(parent, tokens.first(count), page);
    return count;
  }
  return 0;
}

void PrefixTree::save(const Node& node) {
  const PageKey before = nodes_[node.parent].key;
  const auto tokens = std::span(node.tokens).first(node.count);
  const bool shorter_than_a_page = node.depth == 1 && node.count < kPagePositions;
  if (shorter_than_a_page || store_->has(node.key) || !store_->may_write()) return;
  if (cache_.read_page(node.page, store_->payload())) store_->save(before, tokens);
}

// Those used lately come first, where the day's budget does not suffice; and what leads to a page
// before the page.
void PrefixTree::save_all() {
  std::vector<const Node*> kept;
  kept.reserve(nodes_.size());
  for (const Node& node : nodes_)
    if (node.count > 0) kept.push_back(&node);
  std::sort(kept.begin(), kept.end(), [](const Node* a, const Node* b) {
    return a->used != b->used ? a->used > b->used : a->depth < b->depth;
  });
  for (const Node* node : kept) save(*node);
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
    if (store_ != nullptr) node.key = store_->key_of(nodes_[parent].key, tokens);
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
  if (store_ != nullptr) node.key = store_->key_of(nodes_[parent].key, tokens);
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
    if (store_ != nullptr) save(nodes_[node]);
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
