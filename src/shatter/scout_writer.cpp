#include "shatter/scout_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/units.h"
#include "shatter/pack.h"

namespace smoe {
namespace {

constexpr uint64_t kPieceBytes = 4 * kMiB;  // a piece is at least one tile

}  // namespace

ScoutWriter::ScoutWriter(const ScoutInfo& info, std::filesystem::path path, ThreadPool& pool)
    : info_(info), path_(std::move(path)), pool_(pool), arrived_(info.tensors.size()) {}

Status ScoutWriter::write(uint64_t offset, std::span<const std::byte> data) {
  if (!file_.is_open()) {
    SMOE_TRY(file_, PartialFile::create(path_));
  }
  return file_.write_at(offset, data);
}

Status ScoutWriter::add_matrix(size_t tensor, const RowMajor& source,
                               const BetweenPieces& between) {
  ScoutTensor& target = info_.tensors[tensor];
  SMOE_CHECK(!arrived_[tensor] && source.rows == target.rows && source.cols == target.cols);
  const uint64_t stride = tile_bytes(target.format, target.cols);
  const uint32_t tiles = ceil_div(target.rows, kTileRows);
  const uint32_t step = static_cast<uint32_t>(std::clamp<uint64_t>(kPieceBytes / stride, 1, tiles));
  buffer_.resize(std::max<size_t>(buffer_.size(), step * stride));
  Checksum checksum;
  for (uint32_t first = 0; first < tiles; first += step) {
    const uint32_t count = std::min(step, tiles - first);
    const auto piece = std::span(buffer_).first(count * stride);
    SMOE_DO(pack_tiles(pool_, source, target.format, first, count, stride, piece));
    checksum.add(piece);
    SMOE_DO(write(target.offset + first * stride, piece));
    SMOE_DO(between(first + count, tiles));
  }
  SMOE_CHECK(tiles * stride == target.bytes);  // tiles are multiples of 64 bytes
  target.checksum = checksum.value();
  arrived_[tensor] = true;
  return {};
}

Status ScoutWriter::add_vector(size_t tensor, std::span<const float> values) {
  ScoutTensor& target = info_.tensors[tensor];
  SMOE_CHECK(!arrived_[tensor] && values.size() == target.cols);
  std::vector<std::byte> bytes(target.bytes);  // zeros beyond the values
  std::memcpy(bytes.data(), values.data(), values.size_bytes());
  target.checksum = xxh3_64(bytes);
  SMOE_DO(write(target.offset, bytes));
  arrived_[tensor] = true;
  return {};
}

Status ScoutWriter::finish() {
  SMOE_CHECK(std::find(arrived_.begin(), arrived_.end(), false) == arrived_.end());
  SMOE_TRY(const std::string header, scout_header(info_));
  SMOE_DO(write(0, std::as_bytes(std::span(header))));
  return file_.commit();
}

}  // namespace smoe
