#include "shatter/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/checksum.h"
#include "base/json.h"
#include "families/find.h"
#include "formats/quantize.h"
#include "formats/tiles.h"

namespace smoe {
namespace {

// What a preset makes of matrices that are no blocks yet; nothing: they keep their type.
struct Preset {
  std::string_view name;
  std::optional<Format> experts;
  std::optional<Format> scout;
};
// In the order of the enumerators. The dense matrices are used by every token, and of most models
// they are a tenth of the weights, so they are worth more bits than the experts.
constexpr Preset kPresets[] = {{"exact", std::nullopt, std::nullopt},
                               {"quality", Format::kQ8_0, Format::kQ8_0},
                               {"balanced", Format::kQ4_K, Format::kQ8_0},
                               {"small", Format::kQ3_K, Format::kQ6_K}};

bool is_router(Role role) { return role == Role::kRouter || role == Role::kSharedRouter; }

// Chooses the format of every matrix, and remembers for people where it is not the expected one.
class FormatChoice {
 public:
  FormatChoice(const TensorSource& source, const SourceModel& model, const ShatterOptions& options,
               std::vector<std::string>& notes)
      : source_(source), model_(model), notes_(notes) {
    const Preset& preset = kPresets[static_cast<size_t>(options.quant)];
    experts_ = options.experts ? options.experts : preset.experts;
    scout_ = options.scout ? options.scout : preset.scout;
  }

  Format of_scout(const TensorNeed& need) {
    return chosen(need, dtype_of(need.role, need.layer, 0), scout_name(need.role, need.layer));
  }

  // One format serves all experts of a layer, so where their types differ it is the one that holds
  // them all.
  Format of_experts(Role role, uint32_t layer) {
    const TensorNeed need = need_of(model_.spec, role, layer);
    const uint32_t experts = model_.spec.layers[layer].ffn.experts;
    const DType first = dtype_of(role, layer, 0);
    const std::string name = model_.source_name(role, layer);
    for (uint32_t expert = 1; expert < experts; ++expert) {
      if (dtype_of(role, layer, expert) == first) continue;
      const Format format = chosen(need, DType::kF32, name);
      if (format == Format::kF32)
        notes_.push_back(fmt::format("{} and its siblings differ in type: stored as f32", name));
      return format;
    }
    return chosen(need, first, name);
  }

 private:
  DType dtype_of(Role role, uint32_t layer, uint32_t expert) const {
    const TensorSource::Tensor* tensor = source_.find(model_.source_name(role, layer, expert));
    SMOE_CHECK(tensor != nullptr);  // read_source_model has seen it
    return tensor->dtype;
  }

  Format chosen(const TensorNeed& need, DType dtype, const std::string& name) {
    const auto exact = exact_format(dtype);
    SMOE_CHECK(exact.has_value());
    // Trap: a router below its source's precision picks other experts.
    const std::optional<Format> wanted = is_expert(need.role) ? experts_ : scout_;
    if (!wanted || is_router(need.role)) return *exact;
    // What is quantised stays as it is: twice would lose more than once.
    if (is_block(dtype)) return *exact;
    const BlockChoice choice = block_type_for(info(*wanted).source, need.cols);
    if (choice.dtype == info(*wanted).source) return *wanted;
    const auto stand_in = choice.dtype ? exact_format(*choice.dtype) : std::nullopt;
    const bool stays = !stand_in || !info(*stand_in).computed;
    const Format format = stays ? *exact : *stand_in;
    notes_.push_back(fmt::format("{} {} {}: its rows of {} do not fill blocks of {}", name,
                                 stays ? "stays" : "becomes", info(format).name, need.cols,
                                 info(*wanted).block_k));
    return format;
  }

  const TensorSource& source_;
  const SourceModel& model_;
  std::optional<Format> experts_;
  std::optional<Format> scout_;
  std::vector<std::string>& notes_;
};

Status plan_scout_file(FormatChoice& choice, ShatterPlan& plan) {
  for (const TensorNeed& need : scout_needs(plan.model.spec)) {
    ScoutTensor tensor;
    tensor.name = scout_name(need.role, need.layer);
    tensor.rows = need.rows;
    tensor.cols = need.cols;
    if (!need.vector) {
      tensor.layout = Layout::kTiles16;
      tensor.format = choice.of_scout(need);
    }
    plan.scout.tensors.push_back(std::move(tensor));
  }
  return {};
}

void plan_vault_files(FormatChoice& choice, ShatterPlan& plan) {
  const ModelSpec& spec = plan.model.spec;
  plan.vault_by_layer.resize(spec.layers.size());
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    const FfnSpec& ffn = spec.layers[layer].ffn;
    if (ffn.kind != FfnKind::kExperts) continue;
    VaultInfo vault;
    vault.layer = layer;
    vault.experts = ffn.experts;
    const Format gate = choice.of_experts(Role::kExpertGate, layer);
    const Format up = choice.of_experts(Role::kExpertUp, layer);
    const Format down = choice.of_experts(Role::kExpertDown, layer);
    vault.record = RecordLayout::of_expert(spec.width, ffn.width, gate, up, down);
    vault.checksums.resize(ffn.experts);
    plan.vault_by_layer[layer] = plan.vaults.size();
    plan.vaults.push_back(std::move(vault));
  }
}

uint64_t fingerprint_of(const ShatterPlan& plan, const TensorSource& source,
                        const ShatterOptions& options) {
  Checksum checksum;
  checksum.add(fmt::format("plan {} {}\n{}\n{}\n", kFolderVersion,
                           kPresets[static_cast<size_t>(options.quant)].name, source.identity(),
                           plan.scout.spec_json));
  if (options.calibration.importance)
    checksum.add(fmt::format("calibration {}\n", checksum_text(options.calibration.checksum)));
  for (const TensorSource::Tensor& tensor : source.tensors()) {
    checksum.add(fmt::format("{} {}", tensor.name, name_of(tensor.dtype)));
    for (const uint64_t side : tensor.shape) checksum.add(fmt::format(" {}", side));
    checksum.add("\n");
  }
  for (const ScoutTensor& tensor : plan.scout.tensors)
    checksum.add(fmt::format("{} {}\n", tensor.name, info(tensor.format).name));
  for (const VaultInfo& vault : plan.vaults) {
    JsonWriter record;
    vault.record.write(record);
    checksum.add(fmt::format("layer {} {}\n", vault.layer, record.text()));
  }
  return checksum.value();
}

// The checkpoint's own name: its path says more about this machine than about the model.
std::string label_of(const TensorSource& source) {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::weakly_canonical(source.name(), failed);
  const std::string label = path.filename().string();
  return failed || label.empty() ? source.name() : label;
}

Status fix_sizes(ShatterPlan& plan) {
  plan.scout.fingerprint = plan.fingerprint;
  SMOE_DO(plan_scout(plan.scout));
  plan.scout_file_bytes = plan.scout.tensors.back().offset + plan.scout.tensors.back().bytes;
  for (VaultInfo& vault : plan.vaults) {
    vault.fingerprint = plan.fingerprint;
    SMOE_TRY(const std::string header, vault_header(vault));
    vault.data_begin = header.size();
  }
  return {};
}

}  // namespace

std::optional<Quant> quant_named(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kPresets), std::end(kPresets),
                                         [&](const Preset& preset) { return preset.name == name; });
  if (found == std::end(kPresets)) return std::nullopt;
  return static_cast<Quant>(found - std::begin(kPresets));
}

size_t ShatterPlan::vault_of(uint32_t layer) const {
  const size_t vault = vault_by_layer[layer];
  SMOE_CHECK(vaults[vault].layer == layer);
  return vault;
}

size_t ShatterPlan::scout_tensor_of(Role role, uint32_t layer) const {
  const std::string name = scout_name(role, layer);
  for (size_t i = 0; i < scout.tensors.size(); ++i)
    if (scout.tensors[i].name == name) return i;
  SMOE_CHECK(false);
  return 0;
}

uint64_t file_bytes(const VaultInfo& vault) {
  return vault.data_begin + uint64_t{vault.experts} * vault.record.record_bytes;
}

Result<Format> storable_format(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < kFormats; ++i) {
    const FormatInfo& one = info(static_cast<Format>(i));
    if (!one.computed || !can_quantize_to(one.source)) continue;
    if (one.name == name) return static_cast<Format>(i);
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  return Error{Code::kUsage, fmt::format("weights cannot be stored as {}, this build makes {}",
                                         json_quote(name.substr(0, 40)), known)};
}

Result<ShatterPlan> plan_shatter(const TensorSource& source, Quant quant) {
  return plan_shatter(source, ShatterOptions{.quant = quant});
}

Result<ShatterPlan> plan_shatter(const TensorSource& source, const ShatterOptions& options) {
  for (const auto& wanted : {options.experts, options.scout})
    if (wanted) SMOE_DO(storable_format(info(*wanted).name));
  ShatterPlan plan;
  SMOE_TRY(plan.model, read_source_model(source));
  plan.scout.spec_json = plan.model.spec.to_json();
  plan.scout.source = label_of(source);
  FormatChoice choice(source, plan.model, options, plan.notes);
  SMOE_DO(plan_scout_file(choice, plan));
  plan_vault_files(choice, plan);
  plan.fingerprint = fingerprint_of(plan, source, options);
  SMOE_DO(fix_sizes(plan));
  return plan;
}

}  // namespace smoe
