#include "shatter/shatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "families/gguf_checkpoint.h"
#include "formats/checkpoint.h"
#include "model/naming.h"
#include "shatter/model_folder.h"
#include "shatter/pack.h"
#include "shatter/plan.h"
#include "shatter/scout_writer.h"
#include "shatter/vault_writer.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

using Tensor = TensorSource::Tensor;

// Room for directory entries and for the companions' last blocks.
constexpr uint64_t kSlackBytes = 64 * kKiB;

// Companions are read whole; a tokenizer.json has a few MB.
struct Companion {
  std::string name;
  std::string text;
};

Result<std::vector<Companion>> companions_of(const TensorSource& source) {
  std::vector<Companion> companions;
  for (const std::string_view name : kCompanionNames) {
    if (name == "config.json") {
      companions.push_back({std::string(name), std::string(source.config_text())});
      continue;
    }
    SMOE_TRY(std::optional<std::string> text, source.companion(name));
    if (text) companions.push_back({std::string(name), *std::move(text)});
  }
  return companions;
}

// Whether a change of the file `path` is a change of the checkpoint. Other models may lie beside a
// GGUF file; parts of one have the same name up to "-00001-of-0000N.gguf".
bool belongs_to(const fs::path& checkpoint, const fs::path& path) {
  if (checkpoint.extension() != ".gguf")
    return path.extension() == ".safetensors" || path.extension() == ".json";
  constexpr std::string_view kPart = "-00001-of-00001.gguf";
  const std::string own = checkpoint.filename().string();
  const std::string other = path.filename().string();
  const size_t stem = own.size() - std::min(own.size(), kPart.size());
  return other == own || (other.size() == own.size() && other.ends_with(".gguf") && stem > 0 &&
                          other.compare(0, stem, own, 0, stem) == 0);
}

// A cheap witness that nobody has touched the checkpoint: names, sizes and times of its files.
uint64_t stamp_of(const fs::path& checkpoint) {
  std::error_code failed;
  const bool is_folder = fs::is_directory(checkpoint, failed);
  fs::directory_iterator entry(is_folder ? checkpoint : checkpoint.parent_path() / ".", failed);
  uint64_t sum = 0;  // the order of a directory's entries means nothing
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    const fs::path& path = entry->path();
    if (!belongs_to(checkpoint, path)) continue;
    std::error_code gone;  // shows in the sum
    const uint64_t bytes = entry->file_size(gone);
    const auto changed = entry->last_write_time(gone).time_since_epoch().count();
    sum += xxh3_64(fmt::format("{} {} {}", path.filename().string(), bytes, changed));
  }
  return sum;
}

// One run: from a plan and what the folder holds already to a whole model.
class Shattering {
 public:
  Shattering(TensorSource& source, const fs::path& checkpoint, const fs::path& model,
             const ShatterOptions& options, ShatterPlan plan, FolderState state,
             std::vector<Companion> companions)
      : source_(source),
        checkpoint_(checkpoint),
        model_(model),
        options_(options),
        plan_(std::move(plan)),
        state_(std::move(state)),
        companions_(std::move(companions)),
        stamp_(stamp_of(checkpoint)),
        pool_(std::max(1U, options.threads)),
        scout_(plan_.scout, model / kScoutFileName, pool_),
        vault_(plan_.vaults, model / kVaultFolderName, pool_) {}

  Status run(ShatterReport& report) {
    count_source_bytes();
    SMOE_DO(write());
    report.bytes_read = progress_.bytes_done;
    report.bytes_written = bytes_to_write();
    return {};
  }

  // Of files that are not there yet.
  uint64_t bytes_to_write() const {
    uint64_t bytes = state_.scout ? 0 : plan_.scout_file_bytes;
    for (size_t i = 0; i < plan_.vaults.size(); ++i)
      if (!state_.vaults[i]) bytes += file_bytes(plan_.vaults[i]);
    for (const Companion& companion : companions_) bytes += companion.text.size();
    return bytes;
  }

 private:
  Status write() {
    Status delivered =
        source_.deliver([&](const Tensor& tensor) { return is_wanted(tensor); },
                        [&](const Tensor& tensor, std::span<const std::byte> data) -> Status {
                          Status status = receive(tensor, data);
                          if (status) return {};
                          return std::move(status).error().in(tensor.name);
                        });
    SMOE_DO(check_source());
    SMOE_DO(delivered);
    for (const Companion& companion : companions_) SMOE_DO(write_companion(companion));
    // The scout comes last: a folder without one is no model yet.
    if (!state_.scout) SMOE_DO(scout_.finish());
    return {};
  }

  bool is_wanted(const Tensor& tensor) const {
    const auto place = place_of(*plan_.model.family, tensor.name);
    if (!place) return false;  // scales are read with their weights
    if (is_expert(place->role)) return !state_.vaults[plan_.vault_of(place->layer)];
    return !state_.scout;
  }

  void count_source_bytes() {
    for (const Tensor& tensor : source_.tensors())
      if (is_wanted(tensor)) progress_.bytes_total += tensor.bytes;
  }

  Status receive(const Tensor& tensor, std::span<const std::byte> data) {
    SMOE_DO(check_cancelled());
    const TensorPlace place = *place_of(*plan_.model.family, tensor.name);
    const TensorNeed need = need_of(plan_.model.spec, place.role, place.layer);
    SMOE_TRY(const std::vector<float> scales, scales_of(source_, tensor));
    const RowMajor matrix = {.dtype = tensor.dtype,
                             .rows = need.rows,
                             .cols = need.cols,
                             .data = data,
                             .scales = scales,
                             .importance = importance_of(place, need)};
    if (is_expert(place.role)) {
      doing_ = fmt::format("layer {} of {}", place.layer + 1, plan_.model.spec.layers.size());
      SMOE_DO(vault_.add(plan_.vault_of(place.layer), place.expert, place.role, matrix));
      report_progress(progress_.bytes_done + tensor.bytes);
    } else {
      doing_ = "scout";
      SMOE_DO(add_to_scout(place, need, matrix));
    }
    return {};
  }

  // A calibration of another model must not be read beyond its end.
  std::span<const float> importance_of(const TensorPlace& place, const TensorNeed& need) const {
    const Calibration& calibration = options_.calibration;
    if (!calibration.importance || need.vector) return {};
    const auto known = calibration.importance(place.role, place.layer, place.expert);
    SMOE_CHECK(known.empty() || known.size() == need.cols);
    return known;
  }

  Status add_to_scout(const TensorPlace& place, const TensorNeed& need, const RowMajor& matrix) {
    const size_t tensor = plan_.scout_tensor_of(place.role, place.layer);
    const uint64_t before = progress_.bytes_done;
    if (need.vector) {
      SMOE_TRY(const std::vector<float> values, vector_of(matrix.dtype, matrix.data));
      SMOE_DO(scout_.add_vector(tensor, values));
      report_progress(before + matrix.data.size());
      return {};
    }
    // An embedding takes a while: progress goes on inside it.
    return scout_.add_matrix(tensor, matrix, [&](uint32_t tiles_done, uint32_t tiles) {
      report_progress(before + matrix.data.size() / tiles * tiles_done +
                      matrix.data.size() % tiles * tiles_done / tiles);
      return check_cancelled();
    });
  }

  // Bytes of two states of a checkpoint make a model that loads and is wrong.
  Status check_source() {
    if (stamp_of(checkpoint_) == stamp_) {
      const auto again = open_source(checkpoint_);
      if (again && (*again)->identity() == source_.identity()) return {};
    }
    std::error_code ignored;
    for (size_t i = 0; i < plan_.vaults.size(); ++i)
      if (!state_.vaults[i])
        fs::remove(model_ / kVaultFolderName / vault_file_name(plan_.vaults[i].layer), ignored);
    return Error{Code::kCorrupt, source_.name() +
                                     ": changed while it was being read; what was made of it is "
                                     "removed, run the same command again"};
  }

  Status write_companion(const Companion& companion) {
    SMOE_DO(check_cancelled());
    const fs::path path = model_ / companion.name;
    const auto there = read_text_file(path, companion.text.size());
    if (there && *there == companion.text) return {};
    return replace_file(path, companion.text);
  }

  Status check_cancelled() const {
    if (options_.cancelled == nullptr || !options_.cancelled->load(std::memory_order_relaxed))
      return {};
    return Error{Code::kCancelled,
                 "stopped; the same command goes on with the layers that are missing"};
  }

  void report_progress(uint64_t bytes_done) {
    progress_.bytes_done = bytes_done;
    progress_.doing = doing_;
    if (options_.progress) options_.progress(progress_);
  }

  TensorSource& source_;
  fs::path checkpoint_;
  fs::path model_;
  const ShatterOptions& options_;
  ShatterPlan plan_;
  FolderState state_;
  std::vector<Companion> companions_;
  uint64_t stamp_;
  ThreadPool pool_;
  ScoutWriter scout_;
  VaultWriter vault_;
  ShatterProgress progress_;
  std::string doing_;
};

// A finished model keeps up with its checkpoint's small files, which no fingerprint covers.
Status refresh_companions(const fs::path& model, const std::vector<Companion>& companions,
                          ShatterReport& report) {
  for (const Companion& companion : companions) {
    const fs::path path = model / companion.name;
    const auto there = read_text_file(path, companion.text.size());
    if (there && *there == companion.text) continue;
    SMOE_DO(replace_file(path, companion.text));
    report.notes.push_back(companion.name + " was brought up to date");
  }
  return {};
}

Status check_space(const fs::path& model, uint64_t bytes) {
  SMOE_TRY(const uint64_t available, free_space(model));
  if (available >= bytes + kSlackBytes) return {};
  return Error{Code::kNoSpace,
               fmt::format("{}: needs {} on the disk, {} are free", model.string(),
                           format_bytes(bytes + kSlackBytes), format_bytes(available))};
}

Status run(const fs::path& checkpoint, const fs::path& model, const ShatterOptions& options,
           ShatterReport& report) {
  SMOE_TRY(const std::unique_ptr<TensorSource> source, open_source(checkpoint));
  SMOE_TRY(ShatterPlan plan, plan_shatter(*source, options));
  SMOE_TRY(std::vector<Companion> companions, companions_of(*source));
  report.notes = source->notes();
  report.notes.insert(report.notes.end(), plan.notes.begin(), plan.notes.end());
  if (std::none_of(companions.begin(), companions.end(),
                   [](const Companion& companion) { return companion.name == "tokenizer.json"; }))
    report.notes.push_back("no tokenizer.json: the model answers to tokens, not to text");

  FolderLock lock;
  std::error_code ignored;
  if (fs::is_directory(model, ignored)) {
    SMOE_TRY(lock, FolderLock::take(model));
  }
  SMOE_TRY(FolderState state, examine_folder(model, plan));
  report.notes.insert(report.notes.end(), state.notes.begin(), state.notes.end());
  report.layers_resumed = state.finished_files();
  if (state.complete()) {
    report.already_done = true;
    return refresh_companions(model, companions, report);
  }
  if (lock.held()) SMOE_DO(remove_partial_files(model));
  Shattering shattering(*source, checkpoint, model, options, std::move(plan), std::move(state),
                        std::move(companions));
  SMOE_DO(check_space(model, shattering.bytes_to_write()));
  SMOE_DO(create_folder(model));
  if (!lock.held()) {
    SMOE_TRY(lock, FolderLock::take(model));
  }
  return shattering.run(report);
}

}  // namespace

Result<ShatterReport> shatter(const fs::path& checkpoint, const fs::path& model,
                              const ShatterOptions& options) {
  const uint64_t begin_ns = now_ns();
  ShatterReport report;
  if (Status status = run(checkpoint, model, options, report); !status)
    return std::move(status).error();
  report.seconds = seconds_between(begin_ns, now_ns());
  return report;
}

}  // namespace smoe
