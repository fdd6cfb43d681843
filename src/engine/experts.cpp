#include "engine/experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

namespace smoe {
namespace {

ExpertKey key_of(uint32_t layer, const Routing::Member& member) {
  return {LayerId{static_cast<uint16_t>(layer)}, ExpertId{member.expert}};
}

uint32_t largest_count(const Routing& routing) {
  uint32_t largest = 0;
  for (const Routing::Member& member : routing.members) largest = std::max(largest, member.count);
  return largest;
}

}  // namespace

Result<std::unique_ptr<LocalExperts>> LocalExperts::open(std::span<const VaultFile> layers,
                                                         Streamer& streamer, Device& device) {
  std::unique_ptr<LocalExperts> experts(new LocalExperts(streamer, device));
  SMOE_TRY(experts->ring_, device.adopt(streamer.memory()));
  uint32_t most = 0;
  for (const VaultFile& file : layers) {
    const VaultInfo& info = file.info();
    if (experts->layers_.size() <= info.layer) experts->layers_.resize(info.layer + 1);
    experts->layers_[info.layer] = {*info.record.find("gate"), *info.record.find("up"),
                                    *info.record.find("down"), info.record.record_bytes};
    most = std::max(most, info.experts);
  }
  experts->keys_.reserve(most);
  experts->member_of_.resize(most);
  experts->held_.reserve(most);
  return experts;
}

void LocalExperts::demand(uint32_t layer, const Routing& routing) {
  keys_.clear();
  for (const Routing::Member& member : routing.members) keys_.push_back(key_of(layer, member));
  streamer_.demand(keys_, routing.numbers());
}

void LocalExperts::bet(uint32_t layer, const Routing& routing) {
  keys_.clear();
  for (const Routing::Member& member : routing.members) {
    const ExpertKey key = key_of(layer, member);
    if (!streamer_.resident(key)) keys_.push_back(key);
  }
  streamer_.bet(keys_);
}

// Records arrive in the disk's order and are computed at once; their outputs are added in ascending
// expert id. What comes before its turn waits in `held`. When that is too full for another expert,
// only the one whose turn it is is taken, which needs no room there; so a ring of two slots
// suffices.
Status LocalExperts::run(const ExpertsCall& call) {
  const std::vector<Routing::Member>& members = call.routing->members;
  for (uint32_t i = 0; i < members.size(); ++i) member_of_[members[i].expert] = i;
  held_.assign(members.size(), Held{});
  const uint32_t largest = largest_count(*call.routing);
  uint32_t held_used = 0;
  uint32_t waiting = 0;

  for (size_t turn = 0; turn < members.size();) {
    const bool room = call.held.count - held_used >= largest;
    auto lease = streamer_.next_ready(room ? Streamer::Pick::kAny : Streamer::Pick::kFirst);
    if (!lease) {
      streamer_.abandon();
      return std::move(lease).error();
    }
    const uint32_t index = member_of_[static_cast<size_t>(lease->key().expert)];
    const Routing::Member& member = members[index];
    if (index != turn) {
      SMOE_DO(compute(call, *lease, member, call.held.slice(held_used, member.count)));
      held_[index] = {held_used, true};
      held_used += member.count;
      ++waiting;
      continue;
    }
    SMOE_DO(compute(call, *lease, member, call.direct.first(member.count)));
    add(call, member, call.direct.first(member.count));
    for (++turn; turn < members.size() && held_[turn].waiting; ++turn) {
      add(call, members[turn], call.held.slice(held_[turn].row, members[turn].count));
      --waiting;
    }
    if (waiting == 0) held_used = 0;
  }
  return {};
}

Status LocalExperts::compute(const ExpertsCall& call, const Lease& lease,
                             const Routing::Member& member, Rows out) {
  const LayerRecords& records = layers_[call.layer];
  device_.run_expert({matrix(records.gate, lease), matrix(records.up, lease),
                      matrix(records.down, lease), call.in, call.routing->rows_of(member), out});
  // The record may be replaced once its lease ends, so the device must have read it by then.
  const Ticket ticket = device_.submit();
  while (!device_.finished(ticket)) std::this_thread::yield();
  if (!call.checked) return {};

  check_values_.resize(size_t{out.count} * out.width);
  device_.read(out, check_values_);
  if (std::all_of(check_values_.begin(), check_values_.end(),
                  [](float v) { return std::isfinite(v); }))
    return {};
  streamer_.abandon();
  return Error{Code::kNumeric, fmt::format("layer {}, expert {}: the output is not finite",
                                           call.layer, member.expert)};
}

Matrix LocalExperts::matrix(const Segment& segment, const Lease& lease) {
  const auto record = static_cast<size_t>(lease.record().data() - streamer_.memory().data());
  return {{&ring_, record + segment.offset},
          segment.format,
          segment.rows,
          segment.cols,
          segment.tile_stride};
}

void LocalExperts::add(const ExpertsCall& call, const Routing::Member& member, Rows outputs) {
  device_.accumulate(
      {outputs, call.routing->rows_of(member), call.routing->weights_of(member), call.out});
}

}  // namespace smoe
