#include "shatter/verify_unshattered.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/thread_pool.h"
#include "formats/row_pieces.h"
#include "shatter/unshattered.h"

namespace smoe {
namespace {

// Brings everything into tiles, as a run would, and keeps nothing.
class UnshatteredVerifier {
 public:
  UnshatteredVerifier(ModelFiles files, unsigned threads, const std::atomic<bool>* cancelled)
      : files_(std::move(files)), pool_(std::max(1U, threads)), cancelled_(cancelled) {
    for (const ScoutTensor& tensor : files_.scout.info().tensors) total_ += tensor.bytes;
    for (const VaultFile& layer : files_.vault)
      total_ += layer.info().experts * layer.info().record.record_bytes;
  }

  Status run(const std::function<void(uint64_t done, uint64_t total)>& progress) {
    progress_ = &progress;
    const std::vector<ScoutTensor>& tensors = files_.scout.info().tensors;
    for (size_t i = 0; i < tensors.size(); ++i) {
      std::vector<std::byte> out(tensors[i].bytes);
      note(files_.scout_reader->read(i, out, stop_));
      SMOE_DO(advance(tensors[i].bytes));
    }
    for (const VaultFile& layer : files_.vault) SMOE_DO(check_layer(layer));
    return {};
  }

  VerifyReport report() {
    report_.bytes = done_;
    report_.tensors = static_cast<uint32_t>(files_.scout.info().tensors.size());
    report_.files = 1;
    if (!files_.vault.empty())
      report_.files = static_cast<uint32_t>(files_.vault.front().rows().files.size());
    return std::move(report_);
  }

 private:
  Status check_layer(const VaultFile& layer) {
    const uint32_t experts = layer.info().experts;
    std::vector<std::string> problems(experts);
    pool_.run(experts, [&](size_t expert, unsigned) {
      if (const Status status = check_expert(layer, static_cast<uint32_t>(expert)); !status)
        problems[expert] = "layer " + std::to_string(layer.info().layer) + ", expert " +
                           std::to_string(expert) + ": " + status.error().message;
    });
    for (std::string& problem : problems)
      if (!problem.empty())
        report_.problems.push_back(layer.path().string() + ": " + std::move(problem));
    report_.records += experts;
    return advance(experts * layer.info().record.record_bytes);
  }

  static Status check_expert(const VaultFile& layer, uint32_t expert) {
    const RecordLayout& layout = layer.info().record;
    const size_t segments = layout.segments.size();
    const auto slices = std::span(layer.rows().slices).subspan(expert * segments, segments);
    std::vector<std::byte> record(layout.record_bytes);
    std::vector<std::byte> rows;
    for (uint32_t segment = 0; segment < segments; ++segment) {
      SMOE_TRY(const File file, File::open(layer.rows().files[slices[segment].file]));
      for (uint32_t tile = 0; tile * kTileRows < layout.segments[segment].rows;) {
        const RowPiece piece = piece_at(layout, slices, segment, tile);
        rows.resize(piece.bytes);
        SMOE_DO(file.read_at(piece.offset, rows));
        SMOE_DO(pack_piece(layout, piece, rows, record));
        tile += piece.tiles;
      }
    }
    return {};
  }

  void note(const Status& status) {
    if (!status) report_.problems.push_back(status.error().message);
  }

  Status advance(uint64_t bytes) {
    done_ += bytes;
    if (*progress_) (*progress_)(done_, total_);
    if (cancelled_ == nullptr || !cancelled_->load(std::memory_order_relaxed)) return {};
    return Error{Code::kCancelled, "stopped"};
  }

  ModelFiles files_;
  ThreadPool pool_;
  const std::atomic<bool>* cancelled_;
  std::atomic<bool> stop_{false};
  const std::function<void(uint64_t done, uint64_t total)>* progress_ = nullptr;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
  VerifyReport report_;
};

}  // namespace

Result<VerifyReport> verify_unshattered(
    const std::filesystem::path& model, unsigned threads,
    const std::function<void(uint64_t done, uint64_t total)>& progress,
    const std::atomic<bool>* cancelled) {
  SMOE_TRY(ModelFiles files, open_unshattered(model));
  UnshatteredVerifier verifier(std::move(files), threads, cancelled);
  SMOE_DO(verifier.run(progress));
  return verifier.report();
}

}  // namespace smoe
