// Views on device memory: buffers, rows of activations, weight matrices, the KV cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "formats/block_format.h"

namespace smoe {

class Device;

// Device memory. Owned memory is given back on destruction; adopted memory is only unmapped from
// the device. `host()` is the same bytes where host and device share memory, empty where they do
// not.
class Buffer {
 public:
  // Implemented by the device that made the buffer.
  struct Owner {
    virtual ~Owner() = default;
    virtual void release(uint64_t handle) = 0;
  };

  Buffer() = default;
  Buffer(Owner* owner, uint64_t handle, std::span<std::byte> host, size_t bytes)
      : owner_(owner), handle_(handle), host_(host), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(handle_, other.handle_);
    std::swap(host_, other.host_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (owner_ != nullptr) owner_->release(handle_);
  }

  uint64_t handle() const { return handle_; }
  std::span<std::byte> host() const { return host_; }
  size_t bytes() const { return bytes_; }
  explicit operator bool() const { return bytes_ > 0; }

 private:
  Owner* owner_ = nullptr;
  uint64_t handle_ = 0;
  std::span<std::byte> host_;
  size_t bytes_ = 0;
};

// Part of a buffer. Lifetime: the buffer outlives every view.
struct View {
  const Buffer* buffer = nullptr;
  size_t offset = 0;  // bytes
  explicit operator bool() const { return buffer != nullptr; }
};

// Activations: f32, row-major [count, width]; a row starts every `stride` floats. stride is a
// multiple of 16 and the floats between width and stride may be read (they are zero or were written
// by an operation) but carry no meaning.
struct Rows {
  View view;
  uint32_t count = 0;
  uint32_t width = 0;
  uint32_t stride = 0;

  Rows first(uint32_t rows) const { return {view, rows, width, stride}; }
  Rows row(uint32_t index) const { return slice(index, 1); }
  Rows slice(uint32_t begin, uint32_t rows) const {
    return {
        {view.buffer, view.offset + size_t{begin} * stride * sizeof(float)}, rows, width, stride};
  }
};

// A weight matrix [rows, cols] in 16-row tiles (formats/block_format.h), tile t at t * tile_stride.
struct Matrix {
  View view;
  Format format = Format::kF32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint64_t tile_stride = 0;
  explicit operator bool() const { return static_cast<bool>(view); }
};

// A vector of f32 (norm weight, bias).
struct Vector {
  View view;
  uint32_t width = 0;
  explicit operator bool() const { return static_cast<bool>(view); }
};

// Positions of one page of the KV cache; a page belongs to one sequence and one layer's region.
inline constexpr uint32_t kPagePositions = 32;

// How the numbers of the KV cache are kept.
enum class KvType : uint8_t {
  kF32,
  kF16,
  kQ8_0,  // NOLINT(readability-identifier-naming): ggml's name
};
inline constexpr size_t kKvTypes = 3;
inline constexpr std::string_view kKvTypeNames[kKvTypes] = {"f32", "f16", "q8_0"};
constexpr std::string_view name_of(KvType type) { return kKvTypeNames[static_cast<size_t>(type)]; }

// Consecutive numbers of one position and head that share a scale in Q8_0; a head's last block may
// be shorter.
inline constexpr uint32_t kKvBlock = 32;

// One layer's KV pages. Page p starts at p * page_bytes(); in it, for each KV head, first the keys
// in two 16-position tiles, [tile][head_dim][16 positions], then the values, [32
// positions][head_dim]. So scores of 16 positions are one vector and a head's keys and values are
// one stream. With Q8_0 these are int8; the fp16 scales follow, of the keys
// [tile][block][16 positions] behind the keys, of the values [32 positions][block] behind them.
struct KvPages {
  View view;
  uint32_t kv_heads = 0;
  uint32_t head_dim = 0;  // multiple of 8 is not required; the layout above has no padding
  KvType type = KvType::kF32;

  // Bytes of one head's keys in a page, or of its values.
  size_t side_bytes() const {
    const size_t numbers = size_t{kPagePositions} * head_dim;
    if (type == KvType::kF32) return numbers * 4;
    if (type == KvType::kF16) return numbers * 2;
    return numbers + size_t{kPagePositions} * 2 * ((head_dim + kKvBlock - 1) / kKvBlock);
  }
  size_t page_bytes() const { return 2 * kv_heads * side_bytes(); }
};

// Where one token of a batch stands: its position and the pages of its sequence.
struct TokenPlace {
  uint32_t position = 0;
  uint32_t page_begin = 0;  // index into the batch's page table of its sequence's first page
};

}  // namespace smoe
