// Runs a grammar over bytes. Where the text stands is a set of stacks (a grammar need not be
// unambiguous); a stack is a chain of frames, and equal frames are one, so that sets compare and
// steps are remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "text/grammar/grammar.h"

namespace smoe {

// Where a stack goes on: a state of the grammar, the turn of the loop around it, the caller.
struct GrammarFrame {
  uint32_t state = 0;
  uint32_t turn = 0;
  uint32_t parent = 0;  // index of a frame; 0: nothing follows
  uint32_t depth = 0;
};

enum class StackSet : uint32_t {};

// Threads: one. Cost of step(): a table lookup for what was asked before.
class Automaton {
 public:
  static constexpr StackSet kDead{0};

  explicit Automaton(std::shared_ptr<const Grammar> grammar);

  const Grammar& grammar() const { return *grammar_; }

  // The whole grammar lies ahead.
  StackSet start();
  // One frame alone, whose caller is unknown: ends() then means that the caller goes on.
  StackSet alone(const GrammarFrame& frame);
  // What follows when `frame`, a parent of another, goes on. 0 is the end of the text.
  StackSet resume(uint32_t frame);

  StackSet step(StackSet set, uint8_t byte) {
    const uint32_t known = steps_[static_cast<size_t>(set) * 256 + byte];
    return known != kUnknown ? StackSet{known} : compute_step(set, byte);
  }
  // Whether the text may end here.
  bool ends(StackSet set) const { return sets_[static_cast<size_t>(set)].ends; }
  // The tops of the stacks, each at a state that reads a byte.
  std::span<const uint32_t> tops(StackSet set) const {
    const Set& found = sets_[static_cast<size_t>(set)];
    return std::span(members_).subspan(found.begin, found.end - found.begin);
  }
  const GrammarFrame& frame(uint32_t index) const { return frames_[index]; }

  // Whether so much is remembered that compact() should be called; other sets than the one that it
  // gets, and all frames, are void after it.
  bool is_large() const;
  StackSet compact(StackSet keep);
  // From here on so many frames may be followed; more, like too many stacks at once, make a step
  // end in kDead: a grammar from outside allows less than it should rather than take all the time.
  void allow_work() { work_ = 0; }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  struct Set {
    uint32_t begin;
    uint32_t end;
    bool ends;
  };

  void clear();
  StackSet compute_step(StackSet set, uint8_t byte);
  uint32_t intern(uint32_t state, uint32_t turn, uint32_t parent);
  void grow_frame_table();
  void begin_set();
  void reach(uint32_t state, uint32_t turn, uint32_t parent);
  void follow(uint32_t frame);
  void count(const GrammarFrame& frame, const Grammar::State& state);
  void close();
  StackSet finish_set();
  void grow_set_table();

  std::shared_ptr<const Grammar> grammar_;
  std::vector<GrammarFrame> frames_;
  std::vector<uint32_t> frame_table_;  // open addressing over frames, a power of two
  std::vector<uint32_t> seen_;         // by frame: the set that it was last reached for
  uint32_t stamp_ = 0;

  std::vector<Set> sets_;
  std::vector<uint32_t> members_;
  std::vector<uint32_t> set_table_;
  std::vector<uint32_t> steps_;    // [sets, 256]
  std::vector<uint32_t> resumed_;  // by frame

  // The set that is being built.
  std::vector<uint32_t> pending_;
  std::vector<uint32_t> tops_;
  bool ends_ = false;
  size_t work_ = 0;
};

}  // namespace smoe
