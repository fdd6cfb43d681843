// Decides whether bets are worth their reads: they run by turns with and without, and the turn that
// makes the step wait less is the one that lasts.
#pragma once

#include <array>
#include <cstdint>

namespace smoe {

// Bets save waiting when they guess right, and cost waiting when a demand stands behind them or
// its record was pushed out for them; only the sum tells. Threads: one. Cost: O(1).
class BetGovernor {
 public:
  bool allows() const { return on_; }

  // A layer was visited; the step waited so long for records since the last visit.
  void visited(uint64_t wait_ns) {
    wait_ns_ += wait_ns;
    if (++visits_ < kTurnVisits) return;
    end_turn();
  }

  static constexpr uint32_t kTurnVisits = 64;    // some tokens: layers differ
  static constexpr uint32_t kFirstTurns = 8;     // by turns with and without
  static constexpr uint32_t kTurnsBetween = 16;  // of the better way, before the other is tried

 private:
  // While the ring fills, the step waits less and less whatever the bets do. So the very first
  // turns do not count, and those after them change every time.
  void end_turn() {
    Way& way = ways_[on_ ? 1 : 0];
    const auto cost = static_cast<double>(wait_ns_);
    way.cost = way.known ? way.cost + kMemory * (cost - way.cost) : cost;
    way.known = turns_ >= 2;
    wait_ns_ = 0;
    visits_ = 0;
    ++turns_;
    const bool better_on = ways_[1].cost <= ways_[0].cost;
    if (turns_ < kFirstTurns) {
      on_ = !on_;
    } else {
      on_ = (turns_ % kTurnsBetween == 0) != better_on;
    }
  }

  struct Way {
    double cost = 0;  // waiting in a turn
    bool known = false;
  };
  static constexpr double kMemory = 0.5;

  std::array<Way, 2> ways_{};  // without bets, with bets
  bool on_ = true;
  uint32_t visits_ = 0;
  uint64_t turns_ = 0;
  uint64_t wait_ns_ = 0;
};

}  // namespace smoe
