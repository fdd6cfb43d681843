#include "shatter/pack.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/floats.h"
#include "model/naming.h"

namespace smoe {
namespace {

float scale_from(DType dtype, const std::byte* data) {
  uint16_t half = 0;
  float value = 0;
  switch (dtype) {
    case DType::kF32:
      std::memcpy(&value, data, sizeof value);
      return value;
    case DType::kBF16:
      std::memcpy(&half, data, sizeof half);
      return bf16_to_float(half);
    default:
      SMOE_CHECK(dtype == DType::kF8E8M0);  // check_tensors lets no other type pass
      return e8m0_to_float(static_cast<uint8_t>(*data));
  }
}

}  // namespace

Status pack_tiles(ThreadPool& pool, const RowMajor& source, Format target, uint32_t first,
                  uint32_t tiles, uint64_t stride, std::span<std::byte> out) {
  const uint64_t bytes = tile_bytes(target, source.cols);
  std::mutex mutex;
  std::optional<Error> error;
  size_t failed_tile = tiles;
  pool.run(tiles, [&](size_t tile, unsigned) {
    Status status = pack_tile(source, target, first + static_cast<uint32_t>(tile),
                              out.subspan(tile * stride, bytes));
    if (status) return;
    const std::lock_guard lock(mutex);
    if (tile >= failed_tile) return;
    failed_tile = tile;
    error = std::move(status).error();
  });
  if (error) return *std::move(error);
  return {};
}

Result<std::vector<float>> vector_of(DType dtype, std::span<const std::byte> data) {
  const auto length = static_cast<uint32_t>(data.size() / bytes_of(dtype));
  std::vector<float> values(length);
  read_row({.dtype = dtype, .rows = 1, .cols = length, .data = data, .scales = {}}, 0, values);
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return Error{Code::kNumeric, "element " + std::to_string(i) + " is " +
                                       (std::isnan(values[i]) ? "NaN" : "infinite")};
  return values;
}

Result<std::vector<float>> scales_of(TensorSource& source, const TensorSource::Tensor& weight) {
  std::vector<float> scales;
  if (weight.dtype != DType::kF8E4M3) return scales;
  const std::string name = weight.name + std::string(kScaleSuffix);
  const TensorSource::Tensor* tensor = source.find(name);
  SMOE_CHECK(tensor != nullptr);  // check_tensors has seen it
  SMOE_TRY(const std::vector<std::byte> data, source.read(name));
  const size_t step = bytes_of(tensor->dtype);
  for (size_t at = 0; at + step <= data.size(); at += step)
    scales.push_back(scale_from(tensor->dtype, data.data() + at));
  return scales;
}

}  // namespace smoe
