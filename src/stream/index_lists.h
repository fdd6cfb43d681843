// Doubly linked lists over the numbers 0..n-1: every operation is O(1), none allocates.
#pragma once

#include <cstdint>
#include <vector>

namespace smoe {

// A number is in at most one of the lists. Each list is a circle through its own end node, so there
// are no special cases at either end. Threads: one.
class IndexLists {
 public:
  IndexLists(uint32_t numbers, uint32_t lists)
      : numbers_(numbers), next_(numbers + lists), previous_(numbers + lists) {
    for (uint32_t node = 0; node < numbers + lists; ++node) next_[node] = previous_[node] = node;
  }

  // The node after a list's last and before its first number.
  uint32_t end(uint32_t list) const { return numbers_ + list; }
  uint32_t first(uint32_t list) const { return next_[end(list)]; }
  uint32_t last(uint32_t list) const { return previous_[end(list)]; }
  uint32_t next(uint32_t number) const { return next_[number]; }
  uint32_t previous(uint32_t number) const { return previous_[number]; }
  bool empty(uint32_t list) const { return first(list) == end(list); }
  bool listed(uint32_t number) const { return next_[number] != number; }

  void append(uint32_t list, uint32_t number) { insert_after(last(list), number); }

  void insert_after(uint32_t node, uint32_t number) {
    next_[number] = next_[node];
    previous_[number] = node;
    previous_[next_[node]] = number;
    next_[node] = number;
  }

  // No effect on a number that is in no list.
  void remove(uint32_t number) {
    next_[previous_[number]] = next_[number];
    previous_[next_[number]] = previous_[number];
    next_[number] = previous_[number] = number;
  }

 private:
  uint32_t numbers_;
  std::vector<uint32_t> next_;
  std::vector<uint32_t> previous_;
};

}  // namespace smoe
