// Causal attention over the pages of the KV cache.
#pragma once

#include "compute/calls.h"
#include "devices/cpu/matrix.h"

namespace smoe::cpu {

void store_kv(const Means& means, const StoreKvCall& call);
void attend(const Means& means, const AttendCall& call);

}  // namespace smoe::cpu
