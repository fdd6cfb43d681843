#include "cli/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "base/system_memory.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "devices/cpu/cpu_device.h"
#include "engine/engine.h"
#include "families/gguf_checkpoint.h"
#include "formats/checkpoint.h"
#include "formats/companion.h"
#include "shatter/plan.h"
#include "shatter/unshattered.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

using Planner = std::function<Result<MemoryPlan>(const EngineOptions& options)>;

// "layer.17.attention.q" becomes "layer.*.attention.q".
std::string without_layer(std::string_view name) {
  constexpr std::string_view kLayer = "layer.";
  if (!name.starts_with(kLayer)) return std::string(name);
  const size_t end = name.find('.', kLayer.size());
  return fmt::format("{}*{}", kLayer, end == std::string_view::npos ? "" : name.substr(end));
}

void add(std::vector<TensorGroup>& groups, TensorGroup tensor) {
  const auto same = std::find_if(groups.begin(), groups.end(), [&](const TensorGroup& group) {
    return group.name == tensor.name && group.format == tensor.format &&
           group.rows == tensor.rows && group.cols == tensor.cols;
  });
  if (same == groups.end()) {
    groups.push_back(std::move(tensor));
    return;
  }
  same->count += tensor.count;
  same->bytes += tensor.bytes;
}

void describe(const ScoutInfo& scout, Summary& summary) {
  for (const ScoutTensor& tensor : scout.tensors) {
    add(summary.tensors, {without_layer(tensor.name), std::string(info(tensor.format).name),
                          tensor.rows, tensor.cols, 1, tensor.bytes});
  }
}

void describe(std::span<const VaultInfo> vaults, Summary& summary) {
  std::map<uint64_t, uint64_t> records;
  for (const VaultInfo& vault : vaults) {
    records[vault.record.record_bytes] += vault.experts;
    summary.vault_bytes += vault.record.record_bytes * vault.experts;
    for (const Segment& segment : vault.record.segments)
      add(summary.tensors,
          {"expert." + segment.name, std::string(info(segment.format).name), segment.rows,
           segment.cols, vault.experts,
           vault.experts * matrix_bytes(segment.format, segment.rows, segment.cols)});
  }
  for (const auto& [bytes, count] : records) summary.records.push_back({bytes, count});
}

bool holds_everything(const MemoryPlan& plan) { return plan.ring_slots() >= plan.records; }

// One row; an error that no larger memory would cure is one.
Result<MemoryRow> plan_row(const Planner& planner, EngineOptions options, uint64_t budget) {
  options.memory_bytes = budget;
  auto plan = planner(options);
  MemoryRow row;
  row.budget_bytes = budget;
  if (plan)
    row.plan = *std::move(plan);
  else if (plan.error().code == Code::kNoMemory)
    row.refusal = plan.error().message;
  else
    return std::move(plan).error();
  return row;
}

// The smallest budget that works, to a 64th, between one that does not and one that does.
Result<MemoryRow> smallest_row(const Planner& planner, const EngineOptions& options,
                               uint64_t too_small, MemoryRow enough) {
  const uint64_t step = std::max<uint64_t>(kMiB, enough.budget_bytes / 64);
  while (enough.budget_bytes - too_small > step) {
    const uint64_t middle = align_up(std::midpoint(too_small, enough.budget_bytes), kMiB);
    SMOE_TRY(MemoryRow row, plan_row(planner, options, middle));
    if (row.plan)
      enough = std::move(row);
    else
      too_small = middle;
  }
  return enough;
}

Status plan_rows(const Planner& planner, const Settings& settings, Summary& summary) {
  EngineOptions options;
  options.kv = settings.kv;
  if (settings.context_tokens) options.context = static_cast<uint32_t>(*settings.context_tokens);
  if (settings.ring_slots) options.ring_slots = static_cast<uint32_t>(*settings.ring_slots);
  if (settings.memory_bytes) {
    SMOE_TRY(summary.memory.emplace_back(), plan_row(planner, options, *settings.memory_bytes));
    return {};
  }

  constexpr uint64_t kSmallest = 2 * kMiB;
  constexpr uint64_t kLargest = 64 * 1024 * kGiB;
  for (uint64_t budget = kSmallest; budget <= kLargest; budget *= 2) {
    SMOE_TRY(MemoryRow row, plan_row(planner, options, budget));
    if (!row.plan) continue;
    if (summary.memory.empty()) {
      SMOE_TRY(MemoryRow smallest, smallest_row(planner, options, budget / 2, row));
      if (smallest.budget_bytes < budget) summary.memory.push_back(std::move(smallest));
    }
    const bool enough = holds_everything(*row.plan) || options.ring_slots;
    summary.memory.push_back(std::move(row));
    if (enough) break;
  }
  return {};
}

Result<Summary> summarize_model(const fs::path& path, const Settings& settings,
                                const Device& device) {
  SMOE_TRY(const ModelFiles files, open_model_files(path));
  Summary summary;
  summary.is_model = true;
  summary.source = files.scout.info().source;
  summary.spec = files.spec;
  summary.scout_bytes = files.scout.data_bytes();
  describe(files.scout.info(), summary);
  std::vector<VaultInfo> vaults;
  for (const VaultFile& file : files.vault) vaults.push_back(file.info());
  describe(vaults, summary);
  const ModelSizes sizes = sizes_of(files, EngineOptions().readers);
  const Planner planner = [&](const EngineOptions& options) {
    return Engine::plan(files.spec, sizes, options, device);
  };
  SMOE_DO(plan_rows(planner, settings, summary));
  return summary;
}

AsItIs reading_of(const VaultFile& layer) {
  const VaultInfo& info = layer.info();
  AsItIs reading;
  reading.record_bytes = info.record.record_bytes;
  for (uint32_t segment = 0; segment < info.record.segments.size(); ++segment)
    for (uint32_t tile = 0; tile * kTileRows < info.record.segments[segment].rows;) {
      const RowPiece piece = piece_at(info.record, layer.rows().slices, segment, tile);
      ++reading.reads;
      reading.read_bytes += piece.read_bytes();
      tile += piece.tiles;
    }
  return reading;
}

Result<Summary> summarize_gguf(const fs::path& path, const Settings& settings,
                               const Device& device) {
  SMOE_TRY(Summary summary, summarize_model(path, settings, device));
  summary.is_model = false;
  SMOE_TRY(const ModelFiles files, open_model_files(path));
  summary.notes = files.notes;
  for (const VaultFile& layer : files.vault) {
    const AsItIs reading = reading_of(layer);
    if (!summary.as_it_is || reading.record_bytes > summary.as_it_is->record_bytes)
      summary.as_it_is = reading;
  }
  return summary;
}

Result<Summary> summarize_checkpoint(const fs::path& path, const Settings& settings,
                                     const Device& device) {
  SMOE_TRY(const std::unique_ptr<TensorSource> source, open_source(path));
  SMOE_TRY(const ShatterPlan plan, plan_shatter(*source, Quant::kExact));
  Summary summary;
  summary.spec = plan.model.spec;
  summary.notes = plan.notes;
  describe(plan.scout, summary);
  for (const ScoutTensor& tensor : plan.scout.tensors) summary.scout_bytes += tensor.bytes;
  describe(plan.vaults, summary);
  ModelSizes sizes{summary.scout_bytes, summary.records};
  std::error_code no_tokenizer;
  const uint64_t tokenizer = fs::file_size(path / "tokenizer.json", no_tokenizer);
  if (!no_tokenizer) sizes.tokenizer_bytes = tokenizer;
  const Planner planner = [&](const EngineOptions& options) {
    return Engine::plan(summary.spec, sizes, options, device);
  };
  SMOE_DO(plan_rows(planner, settings, summary));
  return summary;
}

}  // namespace

Result<Summary> summarize(const fs::path& path, const Settings& settings) {
  ThreadPool pool(usable_processors());
  SMOE_TRY(const std::unique_ptr<Device> device, make_cpu_device(pool, CpuKernels::kBest));
  std::error_code ignored;
  const bool is_model =
      fs::exists(path / "scout.safetensors", ignored) || fs::exists(path / "vault", ignored);
  if (is_gguf_path(path)) return summarize_gguf(path, settings, *device);
  return is_model ? summarize_model(path, settings, *device)
                  : summarize_checkpoint(path, settings, *device);
}

}  // namespace smoe::cli
