#include "shatter/vault_writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/units.h"
#include "shatter/pack.h"

namespace smoe {
namespace {

// Checkpoints store an expert's tensors side by side, at worst across the border of two shards.
constexpr size_t kBuffers = 3;
constexpr uint8_t kAllArrived = 7;

std::string_view segment_name(Role role) {
  if (role == Role::kExpertGate) return "gate";
  if (role == Role::kExpertUp) return "up";
  SMOE_CHECK(role == Role::kExpertDown);
  return "down";
}

uint8_t bit_of(Role role) {
  return static_cast<uint8_t>(
      1U << (static_cast<unsigned>(role) - static_cast<unsigned>(Role::kExpertGate)));
}

}  // namespace

VaultWriter::VaultWriter(const std::vector<VaultInfo>& vaults, std::filesystem::path folder,
                         ThreadPool& pool)
    : folder_(std::move(folder)), pool_(pool), buffers_(kBuffers) {
  for (const VaultInfo& vault : vaults) {
    Layer& layer = layers_.emplace_back();
    layer.info = vault;
    layer.arrived.resize(vault.experts);
    largest_record_bytes_ = std::max(largest_record_bytes_, vault.record.record_bytes);
  }
}

std::span<std::byte> VaultWriter::record_in(const Buffer& buffer) const {
  return buffer.memory.bytes().first(layers_[buffer.vault].info.record.record_bytes);
}

Status VaultWriter::add(size_t vault, uint32_t expert, Role role, const RowMajor& source) {
  Layer& layer = layers_[vault];
  const uint8_t bit = bit_of(role);
  SMOE_CHECK((layer.arrived[expert] & bit) == 0);
  SMOE_TRY(Buffer* const buffer, buffer_for(vault, expert));
  const Segment* segment = layer.info.record.find(segment_name(role));
  SMOE_CHECK(segment->rows == source.rows && segment->cols == source.cols);
  SMOE_DO(pack_tiles(pool_, source, segment->format, 0, ceil_div(segment->rows, kTileRows),
                     segment->tile_stride, record_in(*buffer).subspan(segment->offset)));
  layer.arrived[expert] |= bit;
  if (layer.arrived[expert] != kAllArrived) return {};
  SMOE_DO(finish_record(*buffer));
  if (layer.finished_experts == layer.info.experts) return finish_layer(layer);
  return {};
}

Result<VaultWriter::Buffer*> VaultWriter::buffer_for(size_t vault, uint32_t expert) {
  for (Buffer& buffer : buffers_)
    if (buffer.used && buffer.vault == vault && buffer.expert == expert) return &buffer;
  SMOE_TRY(Buffer* const buffer, free_buffer());
  buffer->vault = vault;
  buffer->expert = expert;
  buffer->used = true;
  buffer->since = taken_++;
  const auto record = record_in(*buffer);
  const Layer& layer = layers_[vault];
  if (layer.arrived[expert] == 0) {
    std::fill(record.begin(), record.end(), std::byte{0});  // padding is part of the checksum
  } else {
    SMOE_DO(layer.file.read_at(layer.info.offset_of(expert), record));
  }
  return buffer;
}

Result<VaultWriter::Buffer*> VaultWriter::free_buffer() {
  Buffer* oldest = &buffers_.front();
  for (Buffer& buffer : buffers_) {
    if (!buffer.used) {
      if (buffer.memory.size() == 0) {
        SMOE_TRY(buffer.memory, AlignedBuffer::allocate(largest_record_bytes_));
      }
      return &buffer;
    }
    if (buffer.since < oldest->since) oldest = &buffer;
  }
  SMOE_DO(write_record(*oldest));
  oldest->used = false;
  return oldest;
}

Status VaultWriter::write_record(Buffer& buffer) {
  Layer& layer = layers_[buffer.vault];
  if (!layer.file.is_open()) {
    SMOE_TRY(layer.file, PartialFile::create(folder_ / vault_file_name(layer.info.layer)));
  }
  return layer.file.write_at(layer.info.offset_of(buffer.expert), record_in(buffer));
}

Status VaultWriter::finish_record(Buffer& buffer) {
  Layer& layer = layers_[buffer.vault];
  layer.info.checksums[buffer.expert] = xxh3_64(record_in(buffer));
  SMOE_DO(write_record(buffer));
  buffer.used = false;
  ++layer.finished_experts;
  return {};
}

Status VaultWriter::finish_layer(Layer& layer) {
  SMOE_TRY(const std::string header, vault_header(layer.info));
  SMOE_CHECK(header.size() == layer.info.data_begin);
  SMOE_DO(layer.file.write_at(0, std::as_bytes(std::span(header))));
  SMOE_DO(layer.file.commit());
  layer.file = PartialFile();
  return {};
}

}  // namespace smoe
