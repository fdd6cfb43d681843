// What a shatter will write, known in full before the first byte: names, formats, offsets, sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/checkpoint.h"
#include "formats/scout_file.h"
#include "formats/vault_file.h"
#include "model/family.h"
#include "shatter/shatter.h"

namespace smoe {

struct ShatterPlan {
  SourceModel model;
  ScoutInfo scout;  // checksums are zero
  uint64_t scout_file_bytes = 0;
  std::vector<VaultInfo> vaults;  // one for each layer of experts, ascending; checksums are zero
  uint64_t fingerprint = 0;
  std::vector<std::string> notes;

  // Of a layer that has experts, and of a tensor that a scout has.
  size_t vault_of(uint32_t layer) const;
  size_t scout_tensor_of(Role role, uint32_t layer) const;

  std::vector<size_t> vault_by_layer;
};

uint64_t file_bytes(const VaultInfo& vault);

// Fails: as read_source_model and storable_format.
Result<ShatterPlan> plan_shatter(const TensorSource& source, const ShatterOptions& options);
Result<ShatterPlan> plan_shatter(const TensorSource& source, Quant quant);

}  // namespace smoe
