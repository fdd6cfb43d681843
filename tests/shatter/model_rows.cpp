#include "shatter/model_rows.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/check.h"
#include "base/file.h"
#include "families/find.h"
#include "families/gguf_checkpoint.h"
#include "formats/tiles.h"
#include "shatter/pack.h"

namespace smoe::test {
namespace {

// Tests stop at the first thing that is not as it should be.
template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  SMOE_CHECK(result.has_value());
  return std::move(*result);
}

std::vector<std::byte> read_range(const std::filesystem::path& path, uint64_t offset,
                                  uint64_t bytes) {
  const File file = must(File::open(path));
  std::vector<std::byte> data(bytes);
  SMOE_CHECK(file.read_at(offset, data).has_value());
  return data;
}

std::string_view segment_of(Role role) {
  return role == Role::kExpertGate ? "gate" : role == Role::kExpertUp ? "up" : "down";
}

// Rows of tiles that lie `stride` bytes apart.
std::vector<float> unpack(Format format, uint32_t rows, uint32_t cols, uint64_t stride,
                          std::span<const std::byte> tiles) {
  std::vector<float> values(size_t{rows} * cols);
  for (uint32_t row = 0; row < rows; ++row)
    unpack_row(format, tiles.subspan(row / kTileRows * stride, tile_bytes(format, cols)),
               row % kTileRows, std::span(values).subspan(size_t{row} * cols, cols));
  return values;
}

}  // namespace

ModelRows::ModelRows(const std::filesystem::path& checkpoint, const std::filesystem::path& model)
    : model_(model),
      checkpoint_(must(open_source(checkpoint))),
      source_model_(must(read_source_model(*checkpoint_))),
      scout_(std::make_unique<ScoutFile>(must(ScoutFile::open(model / "scout.safetensors")))) {}

std::vector<float> ModelRows::in_checkpoint(Role role, uint32_t layer, uint32_t expert) const {
  const std::string name = source_model_.source_name(role, layer, expert);
  const TensorSource::Tensor* tensor = checkpoint_->find(name);
  SMOE_CHECK(tensor != nullptr);
  const TensorNeed need = need_of(source_model_.spec, role, layer);
  const std::vector<std::byte> data = must(checkpoint_->read(name));
  const std::vector<float> scales = must(scales_of(*checkpoint_, *tensor));
  const RowMajor matrix = {
      .dtype = tensor->dtype, .rows = need.rows, .cols = need.cols, .data = data, .scales = scales};
  std::vector<float> values(size_t{need.rows} * need.cols);
  for (uint32_t row = 0; row < need.rows; ++row)
    read_row(matrix, row, std::span(values).subspan(size_t{row} * need.cols, need.cols));
  return values;
}

const ScoutTensor& ModelRows::scout_tensor(Role role, uint32_t layer) const {
  for (const ScoutTensor& tensor : scout_->info().tensors)
    if (tensor.name == scout_name(role, layer)) return tensor;
  SMOE_CHECK(false);
  return scout_->info().tensors.front();
}

Format ModelRows::format_in_model(Role role, uint32_t layer) const {
  if (!is_expert(role)) return scout_tensor(role, layer).format;
  const VaultFile vault = must(VaultFile::open(model_ / "vault" / vault_file_name(layer)));
  return vault.info().record.find(segment_of(role))->format;
}

std::vector<float> ModelRows::in_model(Role role, uint32_t layer, uint32_t expert) const {
  if (is_expert(role)) {
    const VaultFile vault = must(VaultFile::open(model_ / "vault" / vault_file_name(layer)));
    const VaultInfo& info = vault.info();
    const std::vector<std::byte> record =
        read_range(vault.path(), info.offset_of(expert), info.record.record_bytes);
    const Segment& segment = *info.record.find(segment_of(role));
    return unpack(segment.format, segment.rows, segment.cols, segment.tile_stride,
                  std::span(record).subspan(segment.offset));
  }
  const ScoutTensor& tensor = scout_tensor(role, layer);
  const std::vector<std::byte> data = read_range(scout_->path(), tensor.offset, tensor.bytes);
  if (tensor.layout == Layout::kRows) {
    std::vector<float> values(tensor.cols);
    std::memcpy(values.data(), data.data(), tensor.cols * sizeof(float));
    return values;
  }
  return unpack(tensor.format, tensor.rows, tensor.cols, tile_bytes(tensor.format, tensor.cols),
                data);
}

}  // namespace smoe::test
