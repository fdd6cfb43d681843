// From a checkpoint to a ModelSpec: finds the family by config.json's model_type, fills the spec
// from the config, probes the tensors, and checks one against the other.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "formats/checkpoint.h"
#include "model/family.h"

namespace smoe {

// Every family that this build knows.
std::span<const Family* const> known_families();

// nullptr for an unknown one.
const Family* find_family(std::string_view model_type);

// Fails: kUnsupported for an unknown model_type, activation, rope type or routing rule (by name,
// with the list that works); kNotFound for a missing tensor (by name); kCorrupt for a shape that
// contradicts the config (naming both).
Result<SourceModel> read_source_model(const TensorSource& source);

}  // namespace smoe
