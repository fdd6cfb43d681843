#include "shatter/unshattered.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/guard.h"
#include "families/gguf_checkpoint.h"
#include "formats/checkpoint.h"
#include "formats/companion.h"
#include "formats/gguf.h"
#include "formats/row_pieces.h"
#include "formats/tiles.h"
#include "model/naming.h"
#include "shatter/pack.h"
#include "shatter/plan.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

using Tensor = TensorSource::Tensor;

// A matrix of the scout as a record of one segment.
RecordLayout layout_of(const ScoutTensor& tensor) {
  RecordLayout layout;
  layout.record_bytes = tensor.bytes;
  layout.segments.push_back({.name = tensor.name,
                             .format = tensor.format,
                             .rows = tensor.rows,
                             .cols = tensor.cols,
                             .offset = 0,
                             .tile_stride = tile_bytes(tensor.format, tensor.cols)});
  return layout;
}

// Brings a checkpoint's dense tensors into tiles, one after the other, in the order of a step.
class CheckpointScout final : public ScoutReader {
 public:
  CheckpointScout(std::unique_ptr<TensorSource> source, const ShatterPlan& plan)
      : source_(std::move(source)), info_(plan.scout) {
    for (const TensorNeed& need : scout_needs(plan.model.spec)) {
      const Tensor* tensor = source_->find(plan.model.source_name(need.role, need.layer));
      SMOE_CHECK(tensor != nullptr);  // the plan has seen it
      tensors_.push_back(tensor);
      buffer_bytes_ = std::max(buffer_bytes_, buffer_bytes_of(tensors_.size() - 1));
    }
    SMOE_CHECK(tensors_.size() == info_.tensors.size());
  }

  uint64_t buffer_bytes() const override { return buffer_bytes_; }

  Status read(size_t index, std::span<std::byte> out, const std::atomic<bool>& stop) override {
    Status status = info_.tensors[index].layout == Layout::kRows ? read_vector(index, out)
                    : source_->extent_of(*tensors_[index])       ? read_pieces(index, out, stop)
                                                                 : read_whole(index, out, stop);
    if (status) return {};
    return std::move(status).error().in(source_->name() + ": " + tensors_[index]->name);
  }

 private:
  RowSlice slice_of(size_t index) const { return {0, 0, tensors_[index]->dtype}; }

  uint64_t buffer_bytes_of(size_t index) const {
    const ScoutTensor& tensor = info_.tensors[index];
    if (tensor.layout == Layout::kRows) return 0;
    if (!source_->extent_of(*tensors_[index])) return tensors_[index]->bytes;
    return largest_read_bytes(layout_of(tensor), {{}, {slice_of(index)}});
  }

  Status read_vector(size_t index, std::span<std::byte> out) {
    SMOE_TRY(const std::vector<std::byte> data, source_->read(tensors_[index]->name));
    SMOE_TRY(const std::vector<float> values, vector_of(tensors_[index]->dtype, data));
    std::memcpy(out.data(), values.data(), values.size() * sizeof(float));
    return {};
  }

  // Rows that do not lie in the file in the order in which they are used.
  Status read_whole(size_t index, std::span<std::byte> out, const std::atomic<bool>& stop) {
    SMOE_TRY(const std::vector<std::byte> data, source_->read(tensors_[index]->name));
    return pack_all(index, out, stop, [&](const RowPiece& piece) {
      return Result<std::span<const std::byte>>(std::span(data).subspan(piece.offset, piece.bytes));
    });
  }

  Status read_pieces(size_t index, std::span<std::byte> out, const std::atomic<bool>& stop) {
    const TensorSource::Extent extent = *source_->extent_of(*tensors_[index]);
    SMOE_TRY(const File* const file, file_of(extent.file));
    buffer_.resize(buffer_bytes_);
    return pack_all(index, out, stop,
                    [&](const RowPiece& piece) -> Result<std::span<const std::byte>> {
                      const uint64_t begin = extent.offset + piece.offset;
                      const auto rows = std::span(buffer_).first(piece.bytes);
                      SMOE_DO(file->read_at(begin, rows));
                      // A second copy in the page cache would count against the cgroup's limit.
                      ::posix_fadvise(file->descriptor(), static_cast<off_t>(begin),
                                      static_cast<off_t>(piece.bytes), POSIX_FADV_DONTNEED);
                      return std::span<const std::byte>(rows);
                    });
  }

  // `rows_of` gives the bytes of a piece whose offset counts from the tensor's first byte.
  template <class RowsOf>
  Status pack_all(size_t index, std::span<std::byte> out, const std::atomic<bool>& stop,
                  const RowsOf& rows_of) {
    const RecordLayout layout = layout_of(info_.tensors[index]);
    const RowSlice slice = slice_of(index);
    for (uint32_t tile = 0; tile * kTileRows < layout.segments.front().rows;) {
      if (stop.load(std::memory_order_relaxed))
        return Error{Code::kCancelled, "stopped while the scout was being read"};
      const RowPiece piece = piece_at(layout, {&slice, 1}, 0, tile);
      SMOE_TRY(const std::span<const std::byte> rows, rows_of(piece));
      SMOE_DO(pack_piece(layout, piece, rows, out));
      tile += piece.tiles;
    }
    return {};
  }

  Result<const File*> file_of(const fs::path& path) {
    const auto found = files_.find(path);
    if (found != files_.end()) return &found->second;
    SMOE_TRY(File file, File::open(path));
    ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
    return &files_.emplace(path, std::move(file)).first->second;
  }

  std::unique_ptr<TensorSource> source_;
  ScoutInfo info_;
  std::vector<const Tensor*> tensors_;  // by index in info_.tensors
  std::map<fs::path, File> files_;
  uint64_t buffer_bytes_ = 0;
  std::vector<std::byte> buffer_;
};

Error cannot_lie(const TensorSource& source, const Tensor& tensor) {
  return {Code::kUnsupported, source.name() + ": " + tensor.name +
                                  " cannot be used as it lies; run smoe shatter first"};
}

class RowStores {
 public:
  RowStores(const TensorSource& source, const ShatterPlan& plan) : source_(source), plan_(plan) {}

  Result<VaultFile> of(const VaultInfo& vault) const {
    RowStore store;
    for (uint32_t expert = 0; expert < vault.experts; ++expert)
      for (const Role role : {Role::kExpertGate, Role::kExpertUp, Role::kExpertDown})
        SMOE_DO(add(role, vault.layer, expert, store));
    return VaultFile::over(vault, std::move(store));
  }

 private:
  Status add(Role role, uint32_t layer, uint32_t expert, RowStore& store) const {
    const Tensor* tensor = source_.find(plan_.model.source_name(role, layer, expert));
    SMOE_CHECK(tensor != nullptr);  // the plan has seen it
    const auto extent = source_.extent_of(*tensor);
    if (!extent) return cannot_lie(source_, *tensor);
    const auto file = std::find(store.files.begin(), store.files.end(), extent->file);
    const auto number = static_cast<size_t>(file - store.files.begin());
    if (number == store.files.size()) store.files.push_back(extent->file);
    store.slices.push_back({extent->offset, static_cast<uint32_t>(number), tensor->dtype});
    return {};
  }

  const TensorSource& source_;
  const ShatterPlan& plan_;
};

// Nearly all of a header is the tokenizer's tables, and a tokenizer.json made of them is about
// twice as long.
uint64_t tokenizer_bytes_of(const fs::path& path) {
  std::error_code none;
  if (!is_gguf_path(path)) {
    const uint64_t bytes = fs::file_size(path / "tokenizer.json", none);
    return none ? 0 : bytes;
  }
  const auto files = open_gguf(path);
  return files ? 2 * files->front().header_bytes().size() : 0;
}

Result<ModelFiles> open_index(const fs::path& path) {
  SMOE_TRY(std::unique_ptr<TensorSource> source, open_source(path));
  for (const Tensor& tensor : source->tensors())
    if (tensor.dtype == DType::kF8E4M3) return cannot_lie(*source, tensor);
  SMOE_TRY(const ShatterPlan plan, plan_shatter(*source, Quant::kExact));
  ModelFiles files;
  files.path = path;
  files.spec = plan.model.spec;
  files.scout = ScoutFile::over(plan.scout, path);
  const RowStores stores(*source, plan);
  for (const VaultInfo& vault : plan.vaults) {
    SMOE_TRY(VaultFile layer, stores.of(vault));
    files.vault.push_back(std::move(layer));
  }
  files.tokenizer_bytes = tokenizer_bytes_of(path);
  files.notes = source->notes();
  files.notes.insert(files.notes.end(), plan.notes.begin(), plan.notes.end());
  files.scout_reader = std::make_shared<CheckpointScout>(std::move(source), plan);
  return files;
}

}  // namespace

Result<ModelFiles> open_unshattered(const fs::path& path) {
  return guarded([&] { return open_index(path); });
}

Result<ModelFiles> open_model_files(const fs::path& path) {
  return is_gguf_path(path) ? open_unshattered(path) : ModelFiles::open(path);
}

}  // namespace smoe
