// Which beginnings of texts the KV cache still holds, so that a prompt pays only for what is new: a
// radix tree whose every node is one page of tokens.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/token.h"
#include "engine/kv_cache.h"
#include "engine/prefix_store.h"

namespace smoe {

// Holds pages beside the sequences that use them. Equal beginnings exist once, whoever computed
// them; a page that a text uses in part only is copied for it. Bits: a position's keys and values
// depend on the tokens up to it alone, so a shared page is the page that would be computed.
// Threads: the step's own. Cost: no allocation after construction, but for the store's.
class PrefixTree {
 public:
  // Lifetime: ends before the cache; its pages are released then.
  // `store`: where pages go that memory has no room for, and all at the end; may be null. It
  // outlives the tree.
  explicit PrefixTree(KvCache& cache, PrefixStore* store = nullptr);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // Gives `sequence`, which has no pages yet, those of the longest beginning of `tokens` that is
  // here or in the store. Returns how many tokens that is. The last page is left out where it would
  // have to be copied and no page is free.
  uint32_t attach(SequenceId sequence, std::span<const TokenId> tokens);

  // How many tokens attach() would find here.
  uint32_t covered(std::span<const TokenId> tokens) const;

  // Keeps the pages of `sequence`, which holds `tokens`. A last page that is not full is kept only
  // from a sequence that ends, because one that goes on writes to it.
  enum class Tail : uint8_t { kKept, kLeftOut };
  void keep(SequenceId sequence, std::span<const TokenId> tokens, Tail tail);

  // Gives pages up until `pages` are free, those first that are the least worth: tokens to compute
  // again, against the time since they were used. False when what is left is in use.
  bool make_room(uint32_t pages);

  // Pages that only the tree holds.
  uint32_t unused_pages() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    std::array<TokenId, kPagePositions> tokens{};
    uint32_t count = 0;  // of tokens; a node with fewer than a page has no children
    uint32_t page = 0;
    uint32_t depth = 0;  // pages up to this one
    uint64_t used = 0;   // tick
    uint32_t parent = kNone;
    uint32_t child = kNone;    // the first
    uint32_t sibling = kNone;  // the next
    PageKey key{};             // in the store
  };
  // The child of `parent` that begins most like `tokens`, and how many tokens they share.
  struct Best {
    uint32_t node = kNone;
    uint32_t common = 0;
  };
  Best best_child(uint32_t parent, std::span<const TokenId> tokens) const;
  uint32_t find_or_add(uint32_t parent, std::span<const TokenId> tokens, uint32_t page);
  void add(uint32_t parent, std::span<const TokenId> tokens, uint32_t page);
  void remove(uint32_t node);
  uint32_t load_next(SequenceId sequence, uint32_t parent, std::span<const TokenId> tokens,
                     uint32_t more_than);
  void save(const Node& node);
  void save_all();
  uint32_t least_worth() const;

  KvCache& cache_;
  PrefixStore* store_;
  std::vector<Node> nodes_;  // [pages + 1]; the first is the root, which has no page
  std::vector<uint32_t> free_nodes_;
  uint64_t tick_ = 0;
};

}  // namespace smoe
