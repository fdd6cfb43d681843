#include "shatter/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "formats/companion.h"
#include "formats/scout_file.h"
#include "formats/vault_file.h"
#include "model/inventory.h"
#include "model/spec.h"
#include "shatter/model_folder.h"
#include "shatter/verify_unshattered.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr size_t kVerifiedPieceBytes = kMiB;

// A range of a file with a known checksum.
struct Range {
  fs::path path;
  uint64_t offset;
  uint64_t bytes;
  uint64_t checksum;
  std::string name;  // "tensor head", "layer 3, expert 17"
};

class Verifier {
 public:
  Verifier(fs::path model, unsigned threads)
      : model_(std::move(model)), pool_(std::max(1U, threads)) {
    for (unsigned i = 0; i < pool_.threads(); ++i) buffers_.emplace_back(kVerifiedPieceBytes);
  }

  // Fails when there is no model to examine.
  Status read_headers() {
    const fs::path path = model_ / kScoutFileName;
    auto scout = ScoutFile::open(path);
    if (!scout && scout.error().code == Code::kNotFound)
      return Error{Code::kNotFound,
                   model_.string() + ": holds no finished model (there is no " + kScoutFileName +
                       "); shatter the checkpoint, which goes on where it stopped"};
    ++report_.files;
    if (scout) {
      add_scout(*scout);
    } else {
      problem(scout.error().message);
    }
    return add_vaults(scout ? std::optional(scout->info().fingerprint) : std::nullopt);
  }

  // Reads all ranges, a few at a time, so that progress and cancellation are seen often.
  Status read_data(const std::function<void(uint64_t, uint64_t)>& progress,
                   const std::atomic<bool>* cancelled) {
    uint64_t total = 0;
    for (const Range& range : ranges_) total += range.bytes;
    std::vector<std::string> found(ranges_.size());
    const size_t step = size_t{4} * pool_.threads();
    for (size_t first = 0; first < ranges_.size(); first += step) {
      const size_t count = std::min(step, ranges_.size() - first);
      pool_.run(count, [&](size_t task, unsigned worker) {
        found[first + task] = check(ranges_[first + task], buffers_[worker], cancelled);
      });
      if (is_set(cancelled)) return Error{Code::kCancelled, model_.string() + ": stopped"};
      for (size_t i = first; i < first + count; ++i) report_.bytes += ranges_[i].bytes;
      if (progress) progress(report_.bytes, total);
    }
    for (std::string& line : found)
      if (!line.empty()) problem(std::move(line));
    return {};
  }

  VerifyReport take_report() { return std::move(report_); }

 private:
  static bool is_set(const std::atomic<bool>* flag) {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  }

  void problem(std::string line) { report_.problems.push_back(std::move(line)); }

  void add_scout(const ScoutFile& scout) {
    for (const ScoutTensor& tensor : scout.info().tensors) {
      ++report_.tensors;
      ranges_.push_back(
          {scout.path(), tensor.offset, tensor.bytes, tensor.checksum, "tensor " + tensor.name});
    }
    auto spec = ModelSpec::from_json(scout.info().spec_json);
    if (!spec) return problem(scout.path().string() + ": " + spec.error().message);
    check_inventory(scout, *spec);
    spec_ = std::move(*spec);
  }

  // The tensors must be those that the spec needs.
  void check_inventory(const ScoutFile& scout, const ModelSpec& spec) {
    const std::vector<ScoutTensor>& tensors = scout.info().tensors;
    const std::vector<TensorNeed> needs = scout_needs(spec);
    for (size_t i = 0; i < std::max(tensors.size(), needs.size()); ++i) {
      const std::string wanted = i < needs.size() ? text(scout_name(needs[i].role, needs[i].layer),
                                                         needs[i].rows, needs[i].cols)
                                                  : "nothing";
      const std::string found =
          i < tensors.size() ? text(tensors[i].name, tensors[i].rows, tensors[i].cols) : "nothing";
      if (found == wanted) continue;
      return problem(fmt::format("{}: holds {} where the model needs {}", scout.path().string(),
                                 found, wanted));
    }
  }

  static std::string text(std::string_view name, uint32_t rows, uint32_t cols) {
    return fmt::format("{} [{}, {}]", name, rows, cols);
  }

  Status add_vaults(std::optional<uint64_t> fingerprint) {
    if (spec_) {
      for (uint32_t layer = 0; layer < spec_->layers.size(); ++layer)
        if (spec_->layers[layer].ffn.kind == FfnKind::kExperts)
          add_vault(model_ / kVaultFolderName / vault_file_name(layer), layer, fingerprint);
      return {};
    }
    // Without a readable scout, what lies there is all that is known.
    std::vector<fs::path> paths;
    std::error_code failed;
    fs::directory_iterator entry(model_ / kVaultFolderName, failed);
    for (; !failed && entry != fs::directory_iterator(); entry.increment(failed))
      if (entry->path().extension() == ".safetensors") paths.push_back(entry->path());
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) add_vault(path, std::nullopt, fingerprint);
    return {};
  }

  void add_vault(const fs::path& path, std::optional<uint32_t> layer,
                 std::optional<uint64_t> fingerprint) {
    ++report_.files;
    const auto vault = VaultFile::open(path);
    if (!vault) return problem(vault.error().message);
    const VaultInfo& info = vault->info();
    if (fingerprint && info.fingerprint != *fingerprint)
      return problem(fmt::format("{}: belongs to another model (fingerprint {}, the scout's is {})",
                                 path.string(), checksum_text(info.fingerprint),
                                 checksum_text(*fingerprint)));
    if (layer) check_vault(path, info, *layer);
    for (uint32_t expert = 0; expert < info.experts; ++expert)
      ranges_.push_back({path, info.offset_of(expert), info.record.record_bytes,
                         info.checksums[expert],
                         fmt::format("layer {}, expert {}", info.layer, expert)});
    report_.records += info.experts;
  }

  void check_vault(const fs::path& path, const VaultInfo& info, uint32_t layer) {
    const FfnSpec& ffn = spec_->layers[layer].ffn;
    if (info.layer != layer)
      return problem(fmt::format("{}: is layer {}", path.string(), info.layer));
    if (info.experts != ffn.experts)
      return problem(fmt::format("{}: holds {} experts, the model has {}", path.string(),
                                 info.experts, ffn.experts));
    for (const auto& [name, role] : {std::pair{"gate", Role::kExpertGate},
                                     {"up", Role::kExpertUp},
                                     {"down", Role::kExpertDown}}) {
      const TensorNeed need = need_of(*spec_, role, layer);
      const Segment* segment = info.record.find(name);
      if (segment != nullptr && segment->rows == need.rows && segment->cols == need.cols) continue;
      return problem(fmt::format("{}: its records have no {} of [{}, {}]", path.string(), name,
                                 need.rows, need.cols));
    }
  }

  // What is wrong with the range; empty when nothing is. Opens the file each time, so that a model
  // of many layers needs no more descriptors than there are threads.
  static std::string check(const Range& range, std::vector<std::byte>& buffer,
                           const std::atomic<bool>* cancelled) {
    Checksum checksum;
    const auto read = [&]() -> Status {
      SMOE_TRY(const File file, File::open(range.path));
      for (uint64_t done = 0; done < range.bytes && !is_set(cancelled); done += buffer.size()) {
        const size_t bytes = std::min<uint64_t>(buffer.size(), range.bytes - done);
        const auto piece = std::span(buffer).first(bytes);
        SMOE_DO(file.read_at(range.offset + done, piece));
        checksum.add(piece);
      }
      return {};
    };
    if (const Status status = read(); !status)
      return fmt::format("{} ({})", status.error().message, range.name);
    if (checksum.value() == range.checksum) return {};
    return fmt::format("{}: {} does not match its checksum ({} found, {} expected)",
                       range.path.string(), range.name, checksum_text(checksum.value()),
                       checksum_text(range.checksum));
  }

  fs::path model_;
  ThreadPool pool_;
  std::vector<std::vector<std::byte>> buffers_;  // by worker
  std::vector<Range> ranges_;
  std::optional<ModelSpec> spec_;
  VerifyReport report_;
};

}  // namespace

Result<VerifyReport> verify(const fs::path& model, unsigned threads,
                            const std::function<void(uint64_t done, uint64_t total)>& progress,
                            const std::atomic<bool>* cancelled) {
  const uint64_t begin_ns = now_ns();
  if (is_gguf_path(model)) {
    SMOE_TRY(VerifyReport report, verify_unshattered(model, threads, progress, cancelled));
    report.seconds = seconds_between(begin_ns, now_ns());
    return report;
  }
  Verifier verifier(model, threads);
  SMOE_DO(verifier.read_headers());
  SMOE_DO(verifier.read_data(progress, cancelled));
  VerifyReport report = verifier.take_report();
  report.seconds = seconds_between(begin_ns, now_ns());
  return report;
}

}  // namespace smoe
