#include "text/grammar/automaton.h"

#include <algorithm>

namespace smoe {
namespace {

constexpr size_t kAutomatonMaxStacks = 2048;   // readings of a text at once
constexpr size_t kAutomatonMaxWork = 4 << 20;  // frames followed for one token
constexpr uint32_t kAutomatonMaxDepth = 512;   // of calls
constexpr size_t kAutomatonLargeFrames = 1 << 17;
constexpr size_t kAutomatonLargeSets = 1 << 12;  // a kibibyte of steps each
constexpr size_t kAutomatonMaxFrames = 1 << 21;
constexpr size_t kAutomatonMaxSets = 1 << 15;
constexpr size_t kAutomatonFirstSlots = 1024;

size_t mixed(size_t hash, uint32_t value) {
  hash ^= value;
  hash *= 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29U);
}

size_t frame_hash(uint32_t state, uint32_t turn, uint32_t parent) {
  return mixed(mixed(mixed(0, state), turn), parent);
}

size_t set_hash(std::span<const uint32_t> members, bool ends) {
  size_t hash = ends ? 1 : 0;
  for (const uint32_t member : members) hash = mixed(hash, member);
  return hash;
}

}  // namespace

Automaton::Automaton(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)) {
  clear();
}

void Automaton::clear() {
  frames_.assign(1, {});  // what nothing follows
  frame_table_.assign(kAutomatonFirstSlots, kUnknown);
  seen_.assign(1, 0);
  resumed_.assign(1, kUnknown);
  stamp_ = 0;
  sets_.clear();
  members_.clear();
  set_table_.assign(kAutomatonFirstSlots, kUnknown);
  steps_.clear();
  begin_set();
  const StackSet dead = finish_set();
  std::fill_n(steps_.begin() + static_cast<ptrdiff_t>(dead), 256, static_cast<uint32_t>(dead));
}

StackSet Automaton::start() {
  begin_set();
  reach(grammar_->start(), 0, 0);
  return finish_set();
}

StackSet Automaton::alone(const GrammarFrame& frame) {
  begin_set();
  reach(frame.state, frame.turn, 0);
  return finish_set();
}

StackSet Automaton::resume(uint32_t frame) {
  if (resumed_[frame] != kUnknown) return StackSet{resumed_[frame]};
  begin_set();
  if (frame == 0) {
    ends_ = true;
  } else {
    const GrammarFrame at = frames_[frame];
    reach(at.state, at.turn, at.parent);
  }
  const StackSet set = finish_set();
  resumed_[frame] = static_cast<uint32_t>(set);
  return set;
}

StackSet Automaton::compute_step(StackSet set, uint8_t byte) {
  const bool full = sets_.size() > kAutomatonMaxSets || frames_.size() > kAutomatonMaxFrames;
  if (full || work_ > kAutomatonMaxWork) return kDead;
  begin_set();
  const Set from = sets_[static_cast<size_t>(set)];
  for (uint32_t i = from.begin; i < from.end; ++i) {
    const GrammarFrame top = frames_[members_[i]];
    for (const Grammar::ByteEdge& edge : grammar_->edges(grammar_->state(top.state)))
      if (byte >= edge.first && byte <= edge.last) reach(edge.target, top.turn, top.parent);
  }
  const StackSet next = finish_set();
  steps_[static_cast<size_t>(set) * 256 + byte] = static_cast<uint32_t>(next);
  return next;
}

uint32_t Automaton::intern(uint32_t state, uint32_t turn, uint32_t parent) {
  const size_t slots = frame_table_.size();
  size_t slot = frame_hash(state, turn, parent) & (slots - 1);
  for (; frame_table_[slot] != kUnknown; slot = (slot + 1) & (slots - 1)) {
    const GrammarFrame& found = frames_[frame_table_[slot]];
    if (found.state == state && found.turn == turn && found.parent == parent)
      return frame_table_[slot];
  }
  const auto index = static_cast<uint32_t>(frames_.size());
  const uint32_t depth = parent == 0 ? 1 : frames_[parent].depth + 1;
  frames_.push_back({state, turn, parent, depth});
  seen_.push_back(0);
  resumed_.push_back(kUnknown);
  frame_table_[slot] = index;
  if (frames_.size() * 2 > slots) grow_frame_table();
  return index;
}

void Automaton::grow_frame_table() {
  const size_t slots = frame_table_.size() * 2;
  frame_table_.assign(slots, kUnknown);
  for (uint32_t index = 1; index < frames_.size(); ++index) {
    const GrammarFrame& frame = frames_[index];
    size_t slot = frame_hash(frame.state, frame.turn, frame.parent) & (slots - 1);
    while (frame_table_[slot] != kUnknown) slot = (slot + 1) & (slots - 1);
    frame_table_[slot] = index;
  }
}

void Automaton::begin_set() {
  ++stamp_;
  pending_.clear();
  tops_.clear();
  ends_ = false;
}

// A frame that has nothing to do but return is its caller; so a list that is written as a rule that
// ends in itself needs no deeper stack.
void Automaton::reach(uint32_t state, uint32_t turn, uint32_t parent) {
  while (grammar_->leaves(state)) {
    if (parent == 0) {
      ends_ = true;
      return;
    }
    const GrammarFrame& caller = frames_[parent];
    state = caller.state;
    turn = caller.turn;
    parent = caller.parent;
  }
  const uint32_t frame = intern(state, turn, parent);
  if (seen_[frame] == stamp_) return;
  seen_[frame] = stamp_;
  pending_.push_back(frame);
}

void Automaton::follow(uint32_t index) {
  const GrammarFrame frame = frames_[index];
  const Grammar::State& state = grammar_->state(frame.state);
  switch (state.op) {
    case Grammar::Op::kBytes:
      tops_.push_back(index);
      return;
    case Grammar::Op::kSplit:
      for (const uint32_t target : grammar_->targets(state))
        reach(target, frame.turn, frame.parent);
      return;
    case Grammar::Op::kCall:
      if (grammar_->leaves(state.next)) {
        reach(state.begin, 0, frame.parent);
      } else if (frame.depth < kAutomatonMaxDepth) {
        reach(state.begin, 0, intern(state.next, frame.turn, frame.parent));
      }
      return;
    case Grammar::Op::kCount:
      count(frame, state);
      return;
    case Grammar::Op::kReturn:
      return;
  }
}

void Automaton::count(const GrammarFrame& frame, const Grammar::State& state) {
  const Grammar::Counter& counter = grammar_->counter(state);
  if (counter.most == kNoBound) {
    reach(state.next, std::min(frame.turn + 1, counter.least), frame.parent);
  } else if (frame.turn < counter.most) {
    reach(state.next, frame.turn + 1, frame.parent);
  }
  if (frame.turn < counter.least) return;
  if (frame.parent == 0) {
    ends_ = true;
  } else {
    const GrammarFrame caller = frames_[frame.parent];
    reach(caller.state, caller.turn, caller.parent);
  }
}

void Automaton::close() {
  while (!pending_.empty()) {
    const uint32_t next = pending_.back();
    pending_.pop_back();
    follow(next);
    if (++work_ <= kAutomatonMaxWork && tops_.size() <= kAutomatonMaxStacks) continue;
    tops_.clear();
    ends_ = false;
    return;
  }
}

StackSet Automaton::finish_set() {
  close();
  std::sort(tops_.begin(), tops_.end());
  const size_t slots = set_table_.size();
  size_t slot = set_hash(tops_, ends_) & (slots - 1);
  for (; set_table_[slot] != kUnknown; slot = (slot + 1) & (slots - 1)) {
    const StackSet known{set_table_[slot]};
    const auto members = tops(known);
    if (ends(known) == ends_ &&
        std::equal(members.begin(), members.end(), tops_.begin(), tops_.end()))
      return known;
  }
  set_table_[slot] = static_cast<uint32_t>(sets_.size());
  const auto set = StackSet{static_cast<uint32_t>(sets_.size())};
  const auto begin = static_cast<uint32_t>(members_.size());
  members_.insert(members_.end(), tops_.begin(), tops_.end());
  sets_.push_back({begin, static_cast<uint32_t>(members_.size()), ends_});
  steps_.insert(steps_.end(), 256, kUnknown);
  if (sets_.size() * 2 > slots) grow_set_table();
  return set;
}

void Automaton::grow_set_table() {
  const size_t slots = set_table_.size() * 2;
  set_table_.assign(slots, kUnknown);
  for (uint32_t index = 0; index < sets_.size(); ++index) {
    size_t slot = set_hash(tops(StackSet{index}), sets_[index].ends) & (slots - 1);
    while (set_table_[slot] != kUnknown) slot = (slot + 1) & (slots - 1);
    set_table_[slot] = index;
  }
}

bool Automaton::is_large() const {
  return frames_.size() > kAutomatonLargeFrames || sets_.size() > kAutomatonLargeSets;
}

StackSet Automaton::compact(StackSet keep) {
  const std::vector<GrammarFrame> old = std::move(frames_);
  const auto members = tops(keep);
  const std::vector<uint32_t> kept(members.begin(), members.end());
  const bool kept_ends = ends(keep);
  clear();
  // Chains share their ends: what was copied is found again by intern().
  std::vector<uint32_t> chain;
  begin_set();
  for (const uint32_t top : kept) {
    chain.clear();
    for (uint32_t at = top; at != 0; at = old[at].parent) chain.push_back(at);
    uint32_t copy = 0;
    for (auto at = chain.rbegin(); at != chain.rend(); ++at)
      copy = intern(old[*at].state, old[*at].turn, copy);
    tops_.push_back(copy);
  }
  ends_ = kept_ends;
  return finish_set();
}

}  // namespace smoe
