#include "model/model_files.h"

#include <fmt/format.h>

namespace smoe {
namespace {

namespace fs = std::filesystem;

Status check_segment(const VaultFile& file, const char* name, uint32_t rows, uint32_t cols) {
  const Segment* segment = file.info().record.find(name);
  if (segment == nullptr)
    return Error{Code::kCorrupt, fmt::format("{}: records have no {}", file.path().string(), name)};
  if (segment->rows == rows && segment->cols == cols) return {};
  return Error{Code::kCorrupt,
               fmt::format("{}: the {} of an expert is [{}, {}], the model needs [{}, {}]",
                           file.path().string(), name, segment->rows, segment->cols, rows, cols)};
}

Status check_vault(const VaultFile& file, const ModelFiles& model, uint32_t layer) {
  const FfnSpec& ffn = model.spec.layers[layer].ffn;
  const VaultInfo& info = file.info();
  if (info.fingerprint != model.scout.info().fingerprint)
    return Error{Code::kCorrupt,
                 fmt::format("{}: belongs to another model than {} (fingerprint {:016x}, expected "
                             "{:016x}); shatter the checkpoint again",
                             file.path().string(), model.scout.path().filename().string(),
                             info.fingerprint, model.scout.info().fingerprint)};
  if (info.layer != layer)
    return Error{Code::kCorrupt, fmt::format("{}: holds layer {}, expected {}",
                                             file.path().string(), info.layer, layer)};
  if (info.experts != ffn.experts)
    return Error{Code::kCorrupt, fmt::format("{}: holds {} experts, the model has {}",
                                             file.path().string(), info.experts, ffn.experts)};
  SMOE_DO(check_segment(file, "gate", ffn.width, model.spec.width));
  SMOE_DO(check_segment(file, "up", ffn.width, model.spec.width));
  return check_segment(file, "down", model.spec.width, ffn.width);
}

Error no_model(const fs::path& folder) {
  std::error_code ignored;
  const std::string name = folder.string();
  if (!fs::exists(folder, ignored)) return {Code::kNotFound, name + ": no such model folder"};
  const bool checkpoint = fs::exists(folder / "model.safetensors", ignored) ||
                          fs::exists(folder / "model.safetensors.index.json", ignored) ||
                          folder.extension() == ".safetensors";
  if (checkpoint)
    return {Code::kNotFound,
            fmt::format("{}: is a checkpoint that was not shattered yet; \"smoe shatter {} MODEL\" "
                        "makes a model folder of it, to be used here in its place",
                        name, name)};
  if (fs::exists(folder / "vault", ignored))
    return {Code::kNotFound,
            name +
                ": is unfinished (no scout.safetensors); run the same smoe shatter "
                "again and it resumes"};
  return {Code::kNotFound, name + ": is no model folder (no scout.safetensors)"};
}

}  // namespace

Result<ModelFiles> ModelFiles::open(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "scout.safetensors", ignored)) return no_model(folder);
  ModelFiles model;
  model.path = folder;
  SMOE_TRY(model.scout, ScoutFile::open(folder / "scout.safetensors"));
  auto spec = ModelSpec::from_json(model.scout.info().spec_json);
  if (!spec) return std::move(spec).error().in(model.scout.path().string());
  model.spec = *std::move(spec);
  for (uint32_t layer = 0; layer < model.spec.layers.size(); ++layer) {
    if (model.spec.layers[layer].ffn.kind != FfnKind::kExperts) continue;
    SMOE_TRY(VaultFile file, VaultFile::open(folder / "vault" / vault_file_name(layer)));
    SMOE_DO(check_vault(file, model, layer));
    model.vault.push_back(std::move(file));
  }
  const uint64_t tokenizer = fs::file_size(folder / "tokenizer.json", ignored);
  if (!ignored) model.tokenizer_bytes = tokenizer;
  return model;
}

uint64_t ModelFiles::vault_bytes() const {
  uint64_t bytes = 0;
  for (const VaultFile& file : vault)
    bytes += file.info().record.record_bytes * file.info().experts;
  return bytes;
}

}  // namespace smoe
