// Adds up every byte before the first allocation: scout, KV cache, scratch, ring, the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace smoe {

// A size of expert records and how many the vault has of it.
struct RecordSize {
  uint64_t record_bytes = 0;
  uint64_t records = 0;
};

struct MemoryRequest {
  uint64_t budget_bytes = 0;
  std::string budget_origin;  // "--memory", "available memory", for the refusal's text
  uint64_t scout_bytes = 0;
  uint64_t kv_bytes = 0;     // for the whole context
  uint64_t fixed_bytes = 0;  // program, tokenizer, stacks
  uint32_t context = 0;
  std::vector<RecordSize> sizes;                      // ascending by record_bytes
  std::function<uint64_t(uint32_t rows)> scratch_of;  // bytes for a prompt chunk of this many rows
  std::optional<uint32_t> ring_slots;                 // asked for by the user: all sizes together
  std::optional<uint32_t> prompt_chunk;
};

struct MemoryPlan {
  uint64_t budget_bytes = 0;
  uint64_t scout_bytes = 0;
  uint64_t kv_bytes = 0;
  uint64_t scratch_bytes = 0;
  uint64_t ring_bytes = 0;
  uint64_t fixed_bytes = 0;
  uint32_t context = 0;
  uint32_t prompt_chunk = 0;
  std::vector<uint32_t> slots;  // one entry a record size, in the order of MemoryRequest::sizes
  uint64_t records = 0;         // of the whole vault

  uint64_t total_bytes() const {
    return scout_bytes + kv_bytes + scratch_bytes + ring_bytes + fixed_bytes;
  }
  uint64_t ring_slots() const;
};

// What the budget must cover comes first (scout, KV, a chunk of 64, two slots of each record size).
// Of the rest the prompt chunk takes at most an eighth, because a longer chunk saves sweeps of the
// vault only for prompts, and the ring all that is left, up to the whole vault, shared between
// record sizes in proportion to their bytes. Fails: kNoMemory, naming the smallest budget that
// works and what it is made of; kUsage for a ring of fewer than two slots of each size.
Result<MemoryPlan> plan_memory(const MemoryRequest& request);

}  // namespace smoe
