#include "engine/experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
                                                         Streamer& streamer, Device& device,
                                                         std::unique_ptr<DeviceCache> cache) {
  std::unique_ptr<LocalExperts> experts(new LocalExperts(streamer, device));
  experts->cache_ = std::move(cache);
  SMOE_TRY(experts->ring_, experts->cache_ ? device.adopt_source(streamer.memory())
                                           : device.adopt(streamer.memory()));
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
  experts->missing_.reserve(most);
  return experts;
}

void LocalExperts::demand(uint32_t layer, const Routing& routing) {
  keys_.clear();
  for (const Routing::Member& member : routing.members) keys_.push_back(key_of(layer, member));
  if (!cache_) return streamer_.demand(keys_, routing.numbers());
  cache_->visit({LayerId{static_cast<uint16_t>(layer)}, keys_, routing.numbers()});
  missing_.clear();
  std::copy_if(keys_.begin(), keys_.end(), std::back_inserter(missing_),
               [&](ExpertKey key) { return !cache_->holds(key); });
  streamer_.demand(missing_, routing.numbers());
}

void LocalExperts::bet(uint32_t layer, const Routing& routing) {
  keys_.clear();
  for (const Routing::Member& member : routing.members) {
    const ExpertKey key = key_of(layer, member);
    if (!streamer_.resident(key) && !(cache_ && cache_->holds(key))) keys_.push_back(key);
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
  if (cache_) cache_->abandon();
  return status;
}

Status LocalExperts::run_all(const ExpertsCall& call) {
  const std::vector<Routing::Member>& members = call.routing->members;
  held_.assign(members.size(), Held{});
  for (uint32_t i = 0; i < members.size(); ++i) {
    member_of_[members[i].expert] = i;
    held_[i].cached = cache_ && cache_->holds(key_of(call.layer, members[i]));
  }
  const uint32_t largest = largest_count(*call.routing);
  uint32_t held_used = 0;
  uint32_t waiting = 0;

  for (uint32_t turn = 0; turn < members.size();) {
    const bool room = call.held.count - held_used >= largest;
    SMOE_TRY(Ready ready, next_ready(call, turn, room));
    const uint32_t index = ready.member;
    const Routing::Member& member = members[index];
    held_[index].taken = true;
    if (index != turn) {
      SMOE_DO(compute(call, std::move(ready), call.held.slice(held_used, member.count)));
      held_[index].row = held_used;
      held_[index].waiting = true;
      held_used += member.count;
      ++waiting;
      continue;
    }
    SMOE_DO(compute(call, std::move(ready), call.direct.first(member.count)));
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

// What the device has comes before what the disk still brings.
Result<LocalExperts::Ready> LocalExperts::next_ready(const ExpertsCall& call, uint32_t turn,
                                                     bool room) {
  const auto cached =
      std::find_if(held_.begin() + turn, room ? held_.end() : held_.begin() + turn + 1,
                   [](const Held& held) { return held.cached && !held.taken; });
  if (cached != (room ? held_.end() : held_.begin() + turn + 1))
    return Ready{static_cast<uint32_t>(cached - held_.begin()), {}};
  if (must_wait(call)) last_use_ = device_.submit();
  SMOE_TRY(Lease lease, streamer_.next_ready(room ? Streamer::Pick::kAny : Streamer::Pick::kFirst));
  const uint32_t member = member_of_[static_cast<size_t>(lease.key().expert)];
  return Ready{member, std::move(lease)};
}

View LocalExperts::record_of(const Lease& lease) {
  const View in_ring{&ring_,
                     static_cast<size_t>(lease.record().data() - streamer_.memory().data())};
  if (!cache_) {
    device_.refresh(in_ring, lease.record().size());
    return in_ring;
  }
  const View place = cache_->room(lease.key());
  device_.upload(place, in_ring, lease.record().size());
  cache_->placed(lease.key());
  return place;
}

// The record may be replaced once its lease ends, so the device must have read it by then.
Status LocalExperts::keep_until_used(Lease lease) {
  leases_.push_back(std::move(lease));
  if (device_.deferred() && leases_.size() < most_leases_) return {};
  last_use_ = device_.submit();
  return end_leases();
}

Status LocalExperts::compute(const ExpertsCall& call, Ready ready, Rows out) {
  const LayerRecords& records = layers_[call.layer];
  const Routing::Member& member = call.routing->members[ready.member];
  const View record =
      ready.lease ? record_of(*ready.lease) : cache_->use(key_of(call.layer, member));
  const Matrix gate = matrix(records.gate, record);
  const Matrix up = matrix(records.up, record);
  if (call.importance != nullptr)
    call.importance->add({Role::kExpertDown, call.layer, member.expert, gate, up}, call.in,
                         call.routing->rows_of(member));
  device_.run_expert(
      {gate, up, matrix(records.down, record), call.in, call.routing->rows_of(member), out});
  if (ready.lease) SMOE_DO(keep_until_used(*std::move(ready.lease)));
  if (!call.checked) return {};

  check_values_.resize(size_t{out.count} * out.width);
  SMOE_DO(device_.read(out, check_values_));
  if (std::all_of(check_values_.begin(), check_values_.end(),
                  [](float v) { return std::isfinite(v); }))
    return {};
  return Error{Code::kNumeric, fmt::format("layer {}, expert {}: the output is not finite",
                                           call.layer, member.expert)};
}

void LocalExperts::run_routed(const RoutedExpertsCall& call) {
  const LayerRecords& records = layers_[call.layer];
  const View begin{&ring_, 0};  // of any record
  device_.run_routed({cache_->table(call.layer), matrix(records.gate, begin),
                      matrix(records.up, begin), matrix(records.down, begin), call.in, call.routing,
                      call.active_experts, call.shared, call.hidden, call.outputs, call.onto});
}

Result<bool> LocalExperts::fill(uint32_t most) {
  if (!cache_ || !cache_->fits_all()) return false;
  SMOE_DO(end_leases());
  bool more = true;
  for (uint32_t i = 0; i < most && more; ++i) {
    const std::optional<ExpertKey> key = cache_->missing();
    more = key.has_value();
    if (!more) break;
    streamer_.demand(std::span(&*key, 1));
    auto lease = streamer_.next_ready(Streamer::Pick::kAny);
    if (!lease) {
      streamer_.abandon();
      return std::move(lease).error();
    }
    static_cast<void>(record_of(*lease));
    SMOE_DO(keep_until_used(*std::move(lease)));
  }
  last_use_ = device_.submit();
  SMOE_DO(end_leases());
  return more;
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
  return !leases_.empty();
}

Matrix LocalExperts::matrix(const Segment& segment, View record) {
  return {{record.buffer, record.offset + segment.offset},
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
