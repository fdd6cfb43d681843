#include "model/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/units.h"

namespace smoe {
namespace {

constexpr uint32_t kSmallestChunk = 64;
constexpr uint32_t kSmallestShare = 2;  // slots of a record size: one computes, one loads
constexpr uint64_t kChunkShare = 8;     // an eighth of what is free

uint64_t ring_bytes(const std::vector<RecordSize>& sizes, const std::vector<uint32_t>& slots) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < sizes.size(); ++i) bytes += sizes[i].record_bytes * slots[i];
  return bytes;
}

uint32_t smallest_share(const RecordSize& size) {
  return static_cast<uint32_t>(std::min<uint64_t>(kSmallestShare, size.records));
}

// Slots for `bytes` of ring: every size gets the same fraction of its records.
std::vector<uint32_t> share_bytes(const std::vector<RecordSize>& sizes, uint64_t bytes) {
  uint64_t vault = 0;
  for (const RecordSize& size : sizes) vault += size.record_bytes * size.records;
  std::vector<uint32_t> slots;
  for (const RecordSize& size : sizes) {
    const double fraction = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(vault));
    const auto share = static_cast<uint64_t>(fraction * static_cast<double>(size.records));
    slots.push_back(
        static_cast<uint32_t>(std::clamp<uint64_t>(share, smallest_share(size), size.records)));
  }
  // The minimum of a rare size may have pushed the sum over: the most numerous size gives way.
  while (ring_bytes(sizes, slots) > bytes) {
    const auto largest = std::max_element(slots.begin(), slots.end());
    if (*largest <= kSmallestShare) break;
    --*largest;
  }
  return slots;
}

// Slots for a total count that the user asked for.
Result<std::vector<uint32_t>> share_count(const std::vector<RecordSize>& sizes, uint32_t count) {
  uint64_t records = 0;
  uint64_t least = 0;
  for (const RecordSize& size : sizes) {
    records += size.records;
    least += smallest_share(size);
  }
  if (count < least)
    return Error{
        Code::kUsage,
        fmt::format("a ring of {} slots is too small: this model needs at least {}", count, least)};
  std::vector<uint32_t> slots;
  uint64_t left = std::min<uint64_t>(count, records);
  uint64_t records_left = records;
  uint64_t least_left = least;
  for (const RecordSize& size : sizes) {
    least_left -= smallest_share(size);
    const uint64_t fair = left * size.records / std::max<uint64_t>(records_left, 1);
    const uint64_t share =
        std::clamp<uint64_t>(fair, smallest_share(size), std::min(size.records, left - least_left));
    slots.push_back(static_cast<uint32_t>(share));
    left -= share;
    records_left -= size.records;
  }
  return slots;
}

Error too_small(const MemoryRequest& request, uint64_t scratch, uint64_t ring, uint64_t needed) {
  return {Code::kNoMemory,
          fmt::format(
              "{} of {} is too small for this model: it needs at least {} (scout {}, KV cache "
              "for {} positions {}, scratch {}, ring {}, program {}); a shorter --ctx needs "
              "less",
              request.budget_origin, format_bytes(request.budget_bytes), format_bytes(needed),
              format_bytes(request.scout_bytes), request.context, format_bytes(request.kv_bytes),
              format_bytes(scratch), format_bytes(ring), format_bytes(request.fixed_bytes))};
}

// The longest chunk (a multiple of 64 or the whole context) whose scratch fits in `bytes`.
uint32_t longest_chunk(const MemoryRequest& request, uint64_t bytes) {
  uint32_t low = 1;
  uint32_t high = ceil_div(request.context, kSmallestChunk);
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (request.scratch_of(std::min(middle * kSmallestChunk, request.context)) <= bytes) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return std::min(low * kSmallestChunk, request.context);
}

}  // namespace

uint64_t MemoryPlan::ring_slots() const {
  return std::accumulate(slots.begin(), slots.end(), uint64_t{0});
}

Result<MemoryPlan> plan_memory(const MemoryRequest& request) {
  MemoryPlan plan;
  plan.budget_bytes = request.budget_bytes;
  plan.scout_bytes = request.scout_bytes;
  plan.kv_bytes = request.kv_bytes;
  plan.fixed_bytes = request.fixed_bytes;
  plan.context = request.context;
  for (const RecordSize& size : request.sizes) plan.records += size.records;

  const uint64_t fixed = request.scout_bytes + request.kv_bytes + request.fixed_bytes;
  const uint32_t least_chunk =
      std::min(request.prompt_chunk.value_or(kSmallestChunk), request.context);
  const uint64_t least_scratch = request.scratch_of(least_chunk);
  std::vector<uint32_t> least_slots;
  if (request.ring_slots) {
    SMOE_TRY(least_slots, share_count(request.sizes, *request.ring_slots));
  } else {
    for (const RecordSize& size : request.sizes) least_slots.push_back(smallest_share(size));
  }
  const uint64_t least_ring = ring_bytes(request.sizes, least_slots);
  const uint64_t needed = fixed + least_scratch + least_ring;
  if (needed > request.budget_bytes) return too_small(request, least_scratch, least_ring, needed);

  const uint64_t free = request.budget_bytes - needed;
  plan.prompt_chunk = request.prompt_chunk
                          ? least_chunk
                          : longest_chunk(request, least_scratch + free / kChunkShare);
  plan.scratch_bytes = request.scratch_of(plan.prompt_chunk);
  plan.slots = request.ring_slots
                   ? least_slots
                   : share_bytes(request.sizes, request.budget_bytes - fixed - plan.scratch_bytes);
  plan.ring_bytes = ring_bytes(request.sizes, plan.slots);
  return plan;
}

}  // namespace smoe
