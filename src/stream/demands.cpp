#include "stream/demands.h"

#include "base/check.h"

namespace smoe {
namespace {

constexpr uint32_t kReadyList = 0;

uint32_t waiting_list(uint32_t size_class) { return size_class + 1; }

}  // namespace

Demands::Demands(const Catalog& catalog)
    : catalog_(catalog),
      order_(catalog.records(), 1),
      queues_(catalog.records(), static_cast<uint32_t>(catalog.classes().size()) + 1),
      states_(catalog.records(), State::kNone),
      sequence_(catalog.records()) {}

void Demands::add(uint32_t record) {
  SMOE_CHECK(states_[record] == State::kNone);  // the keys of a step are all different
  states_[record] = State::kReading;
  sequence_[record] = ++last_sequence_;
  order_.append(0, record);
  ++outstanding_;
  ++reading_;
}

void Demands::move(uint32_t record, State state) {
  SMOE_CHECK(states_[record] != State::kNone);
  if (states_[record] == State::kWaiting) --waiting_;
  if (states_[record] == State::kReading) --reading_;
  if (state == State::kReading) ++reading_;
  queues_.remove(record);
  states_[record] = state;
}

void Demands::set_ready(uint32_t record) {
  move(record, State::kReady);
  queues_.append(kReadyList, record);
}

void Demands::set_waiting(uint32_t record) {
  move(record, State::kWaiting);
  ++waiting_;
  const uint32_t list = waiting_list(catalog_.size_class(record));
  uint32_t node = queues_.last(list);
  while (node != queues_.end(list) && sequence_[node] > sequence_[record])
    node = queues_.previous(node);
  queues_.insert_after(node, record);
}

void Demands::remove(uint32_t record) {
  move(record, State::kNone);
  order_.remove(record);
  --outstanding_;
}

uint32_t Demands::first_ready() const {
  return queues_.empty(kReadyList) ? kNoRecord : queues_.first(kReadyList);
}

uint32_t Demands::first_waiting(uint32_t size_class) const {
  const uint32_t list = waiting_list(size_class);
  return queues_.empty(list) ? kNoRecord : queues_.first(list);
}

bool Demands::among_first(uint32_t record, size_t count) const {
  uint32_t one = order_.first(0);
  for (; count > 0 && one != order_.end(0); --count, one = order_.next(one))
    if (one == record) return true;
  return false;
}

uint32_t Demands::before(uint32_t record) const {
  const uint32_t previous = record == kNoRecord ? order_.last(0) : order_.previous(record);
  return previous == order_.end(0) ? kNoRecord : previous;
}

}  // namespace smoe
