#include "engine/experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace smoe {
namespace {

ExpertKey key_of(uint32_t layer, const Routing::Member& member) {
  return {LayerId{static_cast<uint16_t>(layer)}, ExpertId{member.expert}};
}

// More would hardly let the device do more at once.
constexpr uint32_t kMostLeases = 32;

uint32_t largest_count(const Routing& routing) {
  uint32_t largest = 0;
  for (const Routing::Member& member : routing.members) largest = std::max(largest, member.count);
  return largest;
}

}  // namespace

Result<std::unique_ptr<LocalExperts>> LocalExperts::open(std::span<const VaultFile> layers,
                                                         std::span<const uint32_t> slots,
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
  const uint32_t fewest = *std::min_element(slots.begin(), slots.end());
  experts->most_leases_ = std::clamp(fewest / 2, 1U, kMostLeases);
  experts->leases_.reserve(experts->most_leases_);
  experts->on_device_.resize(std::accumulate(slots.begin(), slots.end(), size_t{0}));
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
// suffices. A device that works while this goes on has what it was given submitted before there is
// a wait for the disk.
Status LocalExperts::run(const ExpertsCall& call) {
  Status status = end_leases();
  if (status) status = run_all(call);
  if (status) return status;
  static_cast<void>(end_leases());
  streamer_.abandon();
  return status;
}

Status LocalExperts::run_all(const ExpertsCall& call) {
  const std::vector<Routing::Member>& members = call.routing->members;
  for (uint32_t i = 0; i < members.size(); ++i) member_of_[members[i].expert] = i;
  held_.assign(members.size(), Held{});
  const uint32_t largest = largest_count(*call.routing);
  uint32_t held_used = 0;
  uint32_t waiting = 0;

  for (size_t turn = 0; turn < members.size();) {
    const bool room = call.held.count - held_used >= largest;
    if (!leases_.empty() && must_wait(call)) last_use_ = device_.submit();
    auto lease = streamer_.next_ready(room ? Streamer::Pick::kAny : Streamer::Pick::kFirst);
    if (!lease) return std::move(lease).error();
    const uint32_t index = member_of_[static_cast<size_t>(lease->key().expert)];
    const Routing::Member& member = members[index];
    held_[index].taken = true;
    if (index != turn) {
      SMOE_DO(compute(call, *std::move(lease), member, call.held.slice(held_used, member.count)));
      held_[index].row = held_used;
      held_[index].waiting = true;
      held_used += member.count;
      ++waiting;
      continue;
    }
    SMOE_DO(compute(call, *std::move(lease), member, call.direct.first(member.count)));
    add(call, member, call.direct.first(member.count));
    for (++turn; turn < members.size() && held_[turn].waiting; ++turn) {
      add(call, members[turn], call.held.slice(held_[turn].row, members[turn].count));
      --waiting;
    }
    if (waiting == 0) held_used = 0;
  }
  if (!leases_.empty()) last_use_ = device_.submit();
  return {};
}

Status LocalExperts::compute(const ExpertsCall& call, Lease lease, const Routing::Member& member,
                             Rows out) {
  const LayerRecords& records = layers_[call.layer];
  if (std::optional<ExpertKey>& known = on_device_[lease.slot()]; known != lease.key()) {
    const auto offset = static_cast<size_t>(lease.record().data() - streamer_.memory().data());
    device_.refresh({&ring_, offset}, lease.record().size());
    known = lease.key();
  }
  const Matrix gate = matrix(records.gate, lease);
  const Matrix up = matrix(records.up, lease);
  if (call.importance != nullptr)
    call.importance->add({Role::kExpertDown, call.layer, member.expert, gate, up}, call.in,
                         call.routing->rows_of(member));
  device_.run_expert(
      {gate, up, matrix(records.down, lease), call.in, call.routing->rows_of(member), out});
  // The record may be replaced once its lease ends, so the device must have read it by then.
  leases_.push_back(std::move(lease));
  if (!device_.deferred() || leases_.size() == most_leases_) {
    last_use_ = device_.submit();
    SMOE_DO(end_leases());
  }
  if (!call.checked) return {};

  check_values_.resize(size_t{out.count} * out.width);
  SMOE_DO(device_.read(out, check_values_));
  if (std::all_of(check_values_.begin(), check_values_.end(),
                  [](float v) { return std::isfinite(v); }))
    return {};
  return Error{Code::kNumeric, fmt::format("layer {}, expert {}: the output is not finite",
                                           call.layer, member.expert)};
}

Status LocalExperts::end_leases() {
  if (leases_.empty()) return {};
  Status done = device_.wait(last_use_);
  leases_.clear();
  return done;
}

bool LocalExperts::must_wait(const ExpertsCall& call) const {
  const std::vector<Routing::Member>& members = call.routing->members;
  for (size_t i = 0; i < members.size(); ++i)
    if (!held_[i].taken && streamer_.resident(key_of(call.layer, members[i]))) return false;
  return true;
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
