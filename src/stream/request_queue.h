// What passes between the step's thread and the readers: a bounded queue that nobody locks, and the
// word that a thread sleeps on until there is something in it.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace smoe {

// First in, first out, of at least `capacity` items. Threads: any number pushes and pops at once.
// Cost: no allocation after construction, no waiting: a full or empty queue says so.
//
// Each cell has a turn: 2n when it is free for the n-th round, 2n + 1 when it holds that round's
// item. The release of a turn pairs with the acquire of the next, so an item is never seen half
// written.
template <class Item>
class RequestQueue {
  static_assert(std::is_trivially_copyable_v<Item>);

 public:
  explicit RequestQueue(size_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), cells_(std::bit_ceil(capacity)) {}

  bool push(const Item& item) {
    uint64_t ticket = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[ticket & mask_];
      const uint64_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == free_turn(ticket)) {
        if (tail_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) {
          cell.item = item;
          cell.turn.store(turn + 1, std::memory_order_release);
          return true;
        }
      } else {
        const uint64_t now = tail_.load(std::memory_order_relaxed);
        if (now == ticket) return false;  // the cell still holds the round before: full
        ticket = now;
      }
    }
  }

  bool pop(Item& item) {
    uint64_t ticket = head_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[ticket & mask_];
      const uint64_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == free_turn(ticket) + 1) {
        if (head_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) {
          item = cell.item;
          cell.turn.store(turn + 1, std::memory_order_release);
          return true;
        }
      } else {
        const uint64_t now = head_.load(std::memory_order_relaxed);
        if (now == ticket) return false;  // not yet written: empty
        ticket = now;
      }
    }
  }

 private:
  struct Cell {
    std::atomic<uint64_t> turn{0};
    Item item{};
  };

  uint64_t free_turn(uint64_t ticket) const { return 2 * (ticket / (mask_ + 1)); }

  const uint64_t mask_;
  std::vector<Cell> cells_;
  alignas(64) std::atomic<uint64_t> tail_{0};  // apart, so that the two ends share no cache line
  alignas(64) std::atomic<uint64_t> head_{0};
};

// An event counter to sleep on. Whatever a waiter may wait for raises the same word, so no ending
// is missed: read seen(), look for work, and only then wait(seen). 32 bits, so that the standard
// library sleeps on the word itself.
class Signal {
 public:
  // Acquire pairs with the release in raise(): the waiter sees what was done before it.
  uint32_t seen() const { return count_.load(std::memory_order_acquire); }
  void wait(uint32_t seen) const { count_.wait(seen, std::memory_order_acquire); }

  void raise() {
    count_.fetch_add(1, std::memory_order_release);
    count_.notify_all();
  }
  // For one piece of work that any one of the waiters can do.
  void raise_one() {
    count_.fetch_add(1, std::memory_order_release);
    count_.notify_one();
  }

 private:
  std::atomic<uint32_t> count_{0};
};

}  // namespace smoe
