// Rows of a checkpoint and of the model made from it, as floats.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "formats/checkpoint.h"
#include "formats/scout_file.h"
#include "formats/vault_file.h"
#include "model/family.h"

namespace smoe::test {

class ModelRows {
 public:
  ModelRows(const std::filesystem::path& checkpoint, const std::filesystem::path& model);

  const SourceModel& source() const { return source_model_; }
  const ScoutFile& scout() const { return *scout_; }

  // Every row of a tensor as the checkpoint means it: converted to f32, block scales applied.
  std::vector<float> in_checkpoint(Role role, uint32_t layer, uint32_t expert = 0) const;
  // The same from the model's tiles or rows.
  std::vector<float> in_model(Role role, uint32_t layer, uint32_t expert = 0) const;
  Format format_in_model(Role role, uint32_t layer) const;

 private:
  const ScoutTensor& scout_tensor(Role role, uint32_t layer) const;

  std::filesystem::path model_;
  std::unique_ptr<TensorSource> checkpoint_;
  SourceModel source_model_;
  std::unique_ptr<ScoutFile> scout_;
};

}  // namespace smoe::test
