// How long a model's arithmetic takes on this machine, before its weights exist: the real step,
// over weights that are all zero and experts that are always there.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "compute/device.h"
#include "formats/scout_file.h"
#include "formats/vault_file.h"
#include "model/spec.h"

namespace smoe {

struct RehearsalWishes {
  uint32_t prompt_tokens = 512;      // that stand before the token that is timed
  uint64_t time_ns = 2'000'000'000;  // of the tokens together, and of the prompt's chunks
  KvType kv = KvType::kF32;
};

struct Rehearsal {
  uint64_t token_ns = 0;      // of a step of one token, on average
  uint32_t chunk_tokens = 0;  // of a step of a prompt, and its time
  uint64_t chunk_ns = 0;
};

// Where the tokens of a prompt choose among a layer's experts as if by lot: how many they want.
double expected_union(const FfnSpec& ffn, uint64_t tokens);

// `scout` and `layers` say how the weights will be stored. Fails: kNoMemory (the scout does not fit
// into memory), kUsage (the prompt does not fit into the model's context). Cost: memory for the
// whole scout and for some records, a few seconds.
Result<Rehearsal> rehearse(const ModelSpec& spec, const ScoutInfo& scout,
                           std::span<const VaultInfo> layers, const RehearsalWishes& wishes,
                           Device& device);

}  // namespace smoe
