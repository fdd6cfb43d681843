#include "devices/cpu/kv_page.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/floats.h"
#include "devices/cpu/host_views.h"
#include "devices/cpu/scratch.h"

namespace smoe::cpu {
namespace {

static_assert(size_t{2} * kPagePositions * HostPages::kWidestHead <=
                  size_t{kGroupTiles} * kBlockCols * kTileRows,
              "a widened page lies in a worker's tiles");

// Where the numbers of one position lie: element d of a key is one of 16 lanes, of a value the
// next.
struct Place {
  size_t first;
  size_t step;
  size_t first_scale;  // Q8_0
  size_t scale_step;
};

Place key_place(uint32_t position, uint32_t dim) {
  const size_t tile = position / kTileRows;
  const size_t lane = position % kTileRows;
  const size_t blocks = ceil_div(dim, kKvBlock);
  return {tile * dim * kTileRows + lane, kTileRows, tile * blocks * kTileRows + lane, kTileRows};
}

Place value_place(uint32_t position, uint32_t dim) {
  return {size_t{position} * dim, 1, size_t{position} * ceil_div(dim, kKvBlock), 1};
}

void store_f32(const float* in, uint32_t dim, const Place& place, std::byte* side) {
  float* out = reinterpret_cast<float*>(side) + place.first;
  for (uint32_t d = 0; d < dim; ++d) out[d * place.step] = in[d];
}

void store_f16(const float* in, uint32_t dim, const Place& place, std::byte* side) {
  uint16_t* out = reinterpret_cast<uint16_t*>(side) + place.first;
  for (uint32_t d = 0; d < dim; ++d) out[d * place.step] = float_to_f16(in[d]);
}

// The fp16 nearest to a 127th of the largest magnitude, as ggml's; NaN when a number is not finite,
// which rounding to whole numbers would hide.
uint16_t scale_of(const float* in, uint32_t count) {
  uint32_t largest = 0;
  for (uint32_t i = 0; i < count; ++i)  // as whole numbers NaN and infinity are the largest
    largest = std::max(largest, std::bit_cast<uint32_t>(in[i]) & 0x7fffffffU);
  if (largest >= 0x7f800000U) return 0x7e00;
  return float_to_f16(std::bit_cast<float>(largest) / 127.0F);
}

// Half to even, by adding a number whose last bit is worth one.
int8_t code_of(float value, float inverse) {
  constexpr float kRound = 0x1.8p+23F;
  const float scaled = std::clamp(value * inverse, -127.0F, 127.0F);
  return static_cast<int8_t>(std::bit_cast<int32_t>(scaled + kRound) -
                             std::bit_cast<int32_t>(kRound));
}

void store_q8_0(const float* in, uint32_t dim, const Place& place, std::byte* side) {
  int8_t* out = reinterpret_cast<int8_t*>(side) + place.first;
  uint16_t* scales =
      reinterpret_cast<uint16_t*>(side + size_t{kPagePositions} * dim) + place.first_scale;
  for (uint32_t begin = 0; begin < dim; begin += kKvBlock, scales += place.scale_step) {
    const uint32_t count = std::min(kKvBlock, dim - begin);
    *scales = scale_of(in + begin, count);
    const float scale = f16_to_float(*scales);
    // Neither a scale that vanished nor one that is no number has codes.
    const float inverse = scale > 0 && std::isfinite(scale) ? 1.0F / scale : 0.0F;
    for (uint32_t d = begin; d < begin + count; ++d)
      out[d * place.step] = inverse > 0 ? code_of(in[d], inverse) : int8_t{0};
  }
}

using Store = void (*)(const float* in, uint32_t dim, const Place& place, std::byte* side);
constexpr Store kStores[kKvTypes] = {store_f32, store_f16, store_q8_0};

}  // namespace

HostPages::HostPages(const KvPages& pages) : pages_(pages) {
  SMOE_CHECK(pages.page_bytes() > 0 && pages.view.buffer != nullptr);
  SMOE_CHECK(pages.type == KvType::kF32 || pages.head_dim <= kWidestHead);
  const size_t bytes = pages.view.buffer->host().size();
  SMOE_CHECK(pages.view.offset <= bytes && pages.view.offset % sizeof(float) == 0);
  capacity_ = (bytes - pages.view.offset) / pages.page_bytes();
  data_ = host_bytes(pages.view, capacity_ * pages.page_bytes());
}

std::byte* HostPages::keys(uint32_t page, uint32_t head) const {
  SMOE_CHECK(page < capacity_);
  return data_ + page * pages_.page_bytes() + size_t{head} * 2 * pages_.side_bytes();
}

void HostPages::store(uint32_t page, uint32_t head, uint32_t position, const float* key,
                      const float* value) const {
  const uint32_t dim = pages_.head_dim;
  const Store put = kStores[static_cast<size_t>(pages_.type)];
  std::byte* side = keys(page, head);
  put(key, dim, key_place(position, dim), side);
  put(value, dim, value_place(position, dim), side + pages_.side_bytes());
}

PageView HostPages::view(const KernelTable& kernels, uint32_t page, uint32_t head,
                         float* room) const {
  const std::byte* side = keys(page, head);
  const size_t numbers = size_t{kPagePositions} * pages_.head_dim;
  switch (pages_.type) {
    case KvType::kF32:
      return {reinterpret_cast<const float*>(side), reinterpret_cast<const float*>(side) + numbers};
    case KvType::kF16:
      kernels.widen_f16(side, 2 * numbers, room);
      break;
    case KvType::kQ8_0:
      kernels.widen_keys(side, pages_.head_dim, room);
      kernels.widen_values(side + pages_.side_bytes(), pages_.head_dim, room + numbers);
      break;
  }
  return {room, room + numbers};
}

}  // namespace smoe::cpu
