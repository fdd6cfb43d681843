#include "cli/outline.h"

#include <map>
#include <memory>
#include <utility>

#include "cli/checkup.h"
#include "cli/storage_choice.h"
#include "families/gguf_checkpoint.h"
#include "formats/checkpoint.h"
#include "formats/companion.h"
#include "shatter/plan.h"
#include "shatter/unshattered.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

Result<Outline> outline_of_model(const fs::path& path) {
  SMOE_TRY(const ModelFiles files, open_model_files(path));
  Outline outline;
  outline.kind = is_gguf_path(path) ? "GGUF file" : "model folder";
  outline.spec = files.spec;
  outline.scout = files.scout.info();
  outline.sizes = sizes_of(files, EngineOptions().readers);
  outline.notes = files.notes;
  for (const VaultFile& file : files.vault) {
    outline.layers.push_back(file.info());
    if (file.rows().empty()) outline.files.push_back(file.path());
  }
  if (outline.files.empty()) outline.files.push_back(largest_file(path));
  return outline;
}

Result<Outline> outline_of_checkpoint(const fs::path& path, const Settings& settings) {
  SMOE_TRY(const ShatterOptions options, storage_options(settings));
  SMOE_TRY(const std::unique_ptr<TensorSource> source, open_source(path));
  SMOE_TRY(ShatterPlan plan, plan_shatter(*source, options));
  Outline outline;
  outline.kind = "checkpoint";
  outline.spec = std::move(plan.model.spec);
  outline.scout = std::move(plan.scout);
  outline.scout.fingerprint = plan.fingerprint;
  outline.layers = std::move(plan.vaults);
  outline.notes = std::move(plan.notes);
  for (const ScoutTensor& tensor : outline.scout.tensors) outline.sizes.scout_bytes += tensor.bytes;
  std::map<uint64_t, uint64_t> records;
  for (const VaultInfo& layer : outline.layers) records[layer.record.record_bytes] += layer.experts;
  for (const auto& [bytes, count] : records) outline.sizes.records.push_back({bytes, count});
  std::error_code no_tokenizer;
  const uint64_t tokenizer = fs::file_size(path / "tokenizer.json", no_tokenizer);
  if (!no_tokenizer) outline.sizes.tokenizer_bytes = tokenizer;
  outline.files.push_back(largest_file(path));
  return outline;
}

}  // namespace

Result<Outline> outline_of(const Settings& settings) {
  const fs::path path = settings.model;
  std::error_code ignored;
  const bool is_model =
      fs::exists(path / "scout.safetensors", ignored) || fs::exists(path / "vault", ignored);
  if (is_model || is_gguf_path(path)) return outline_of_model(path);
  return outline_of_checkpoint(path, settings);
}

}  // namespace smoe::cli
