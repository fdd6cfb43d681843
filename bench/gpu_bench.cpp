// What a GPU does against what its memory allows: gpu_bench [gpu index]
//
// Products of one token with a matrix as large as an LM head and as small as an expert's, and what
// each stage of a layer takes. Weights are random blocks, written once and repeated.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.h"
#include "devices/vulkan/vulkan_device.h"
#include "formats/block_format.h"

namespace smoe {
namespace {

using Seconds = std::chrono::duration<double>;

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "gpu_bench: %s\n", result.error().message.c_str());
  std::exit(1);
}
void must(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "gpu_bench: %s\n", status.error().message.c_str());
  std::exit(1);
}

// The median time of one of `repeats` calls that are submitted together.
template <class Work>
double time_of(Device& device, uint32_t repeats, Work work) {
  work(0);
  must(device.wait(device.submit()));
  std::array<double, 5> seconds{};
  for (double& once : seconds) {
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t i = 0; i < repeats; ++i) work(i);
    must(device.wait(device.submit()));
    once = Seconds(std::chrono::steady_clock::now() - begin).count() / repeats;
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

// Weights whose size is plausible: small numbers in every format.
std::vector<std::byte> random_tiles(Format format, size_t bytes) {
  Rng rng(1);
  std::vector<std::byte> data(bytes);
  for (size_t i = 0; i + 4 <= bytes; i += 4) {
    const auto word = static_cast<uint32_t>(rng.next());
    uint32_t value = word;
    if (format == Format::kBF16) value = (word & 0x80ff80ffU) | 0x3c003c00U;
    if (format == Format::kQ8_0 && i % 1088 < 64) value = (word & 0x01ff01ffU) | 0x20002000U;
    std::memcpy(&data[i], &value, 4);
  }
  return data;
}

void fill(Device& device, const Buffer& buffer, std::span<const std::byte> pattern) {
  for (size_t at = 0; at < buffer.bytes(); at += pattern.size())
    device.write({&buffer, at}, pattern.first(std::min(pattern.size(), buffer.bytes() - at)));
  must(device.wait(device.submit()));
}

struct Size {
  uint32_t rows;
  uint32_t cols;
};

// Two copies on the device, read and written. Neither need be what its memory can do: on an H200
// both reach a fifth of what the products below read, for reasons that were not found.
void copies(vulkan::VulkanDevice& device, size_t bytes) {
  const Buffer from = must(device.allocate(bytes));
  const Buffer to = must(device.allocate(bytes));
  constexpr uint32_t kWidth = 16384;
  const auto count = static_cast<uint32_t>(bytes / sizeof(float) / kWidth);
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  const Rows in{{&from, 0}, count, kWidth, kWidth};
  const Rows out{{&to, 0}, count, kWidth, kWidth};
  const auto say = [&](const char* name, double seconds) {
    std::printf("%-18s of %zu MiB: %.1f GB/s\n", name, bytes >> 20,
                2 * static_cast<double>(bytes) / seconds / 1e9);
  };
  say("the driver's copy", time_of(device, 10, [&](uint32_t /*index*/) { device.copy(from, to); }));
  say("a copy of rows", time_of(device, 10, [&](uint32_t /*index*/) {
        device.gather({in, order, out});
      }));
}

void products(Device& device, Format format, const Size& size, uint64_t most_bytes) {
  const uint64_t bytes = matrix_bytes(format, size.rows, size.cols);
  // Enough copies that none of them is still in a cache when its turn comes again.
  const auto copies = static_cast<uint32_t>(std::clamp<uint64_t>(most_bytes / bytes, 1, 512));
  const Buffer weights = must(device.allocate(bytes * copies));
  fill(device, weights, random_tiles(format, info(format).unit_bytes * size_t{512}));
  const uint32_t widest = std::max(size.rows, size.cols);
  const Buffer rows = must(device.allocate(size_t{widest} * 2 * 8 * sizeof(float)));
  for (const uint32_t tokens : {1U, 8U}) {
    const Rows in{{&rows, 0}, tokens, size.cols, size.cols};
    const Rows out{
        {&rows, size_t{widest} * 8 * sizeof(float)}, tokens, size.rows, (size.rows + 15) / 16 * 16};
    const double seconds = time_of(device, copies * (copies < 8 ? 20 : 1), [&](uint32_t index) {
      device.project({{{&weights, index % copies * bytes},
                       format,
                       size.rows,
                       size.cols,
                       tile_bytes(format, size.cols)},
                      {},
                      in,
                      out});
    });
    const double rate = static_cast<double>(bytes) / seconds;
    std::printf("%-5s [%6u, %4u] x %u token(s): %8.2f us  %7.1f GB/s\n",
                std::string(info(format).name).c_str(), size.rows, size.cols, tokens, seconds * 1e6,
                rate / 1e9);
  }
}

// One layer of the Qwen3-30B-A3B shape for one token, stage by stage: each stage waits for itself,
// and its weights are in the cache, so what is left is what a stage costs besides memory.
class Layer {
 public:
  Layer(Device& device, Format format) : device_(device), format_(format) {
    record_bytes_ = 3 * matrix_bytes(format, 768, 2048);
    weights_ = must(device.allocate(uint64_t{kLayers} * kActive * record_bytes_));
    fill(device, weights_, random_tiles(format, info(format).unit_bytes * size_t{512}));
    rows_ = must(device.allocate(kRows * size_t{kStride} * sizeof(float)));
    pages_ = must(device.allocate(size_t{2} * kPagePositions * 4 * 128 * 128 * sizeof(float)));
    table_ = must(device.allocate(kLayers * kExperts * sizeof(uint64_t)));
    // As many records as a token reads, whichever experts it chooses.
    for (uint32_t i = 0; i < kLayers * kExperts; ++i)
      device.place_record({&table_, 0}, i,
                          {&weights_, (i / kExperts * kActive + i % kActive) * record_bytes_});
    for (uint32_t page = 0; page < 128; ++page) page_table_.push_back(page);
  }

  void time_stages() {
    const Rows hidden = row(0, 2048);
    const Rows normed = row(1, 2048);
    const Rows query = row(2, 32 * 128);
    const Rows key = row(3, 4 * 128);
    const Rows value = row(4, 4 * 128);
    const Rows attended = row(5, 32 * 128);
    const Rows logits = row(6, kExperts);
    const Rows routing = row(7, 3 * kActive);
    const Rows angles = row(8, 128);
    const Vector norm{row(9, 2048).view, 2048};
    const Vector head_norm{row(9, 2048).view, 128};
    const KvPages pages{{&pages_, 0}, 4, 128};
    stage("norm", [&](uint32_t) { device_.normalize({hidden, norm, 2048, 1e-6F, normed}); });
    stage("norm, query, key, value", [&](uint32_t layer) {
      device_.normalize({hidden, norm, 2048, 1e-6F, normed});
      device_.project({matrix(layer, 32 * 128, 2048), {}, normed, query});
      device_.project({matrix(layer, 4 * 128, 2048), {}, normed, key});
      device_.project({matrix(layer, 4 * 128, 2048), {}, normed, value});
    });
    for (const uint32_t position : {63U, 575U}) {
      const std::vector<TokenPlace> places = {{position, 0}};
      stage("heads", [&](uint32_t) {
        device_.prepare_heads({query, key, value, 32, head_norm, head_norm, 1e-6F, 128, angles,
                               pages, places, page_table_});
      });
      stage("attention over " + std::to_string(position + 1), [&](uint32_t) {
        device_.attend({query, pages, 32, 0.1F, places, page_table_, attended});
      });
    }
    stage("output", [&](uint32_t layer) {
      device_.project({matrix(layer, 2048, 32 * 128), {}, attended, normed, false, hidden});
    });
    stage("norm, router", [&](uint32_t layer) {
      device_.normalize({hidden, norm, 2048, 1e-6F, normed});
      device_.project({matrix(layer, kExperts, 2048), {}, normed, logits});
    });
    stage("choice, experts (3)", [&](uint32_t layer) {
      device_.route({logits, kActive, false, true, 1.0F, routing});
      device_.run_routed({{&table_, layer * kExperts * sizeof(uint64_t)},
                          matrix_of_record(768, 2048),
                          matrix_of_record(768, 2048),
                          matrix_of_record(2048, 768),
                          normed,
                          routing,
                          kActive,
                          {},
                          {row(10, 768).view, kActive, 768, kStride},
                          {row(20, 2048).view, kActive, 2048, kStride},
                          hidden});
    });
  }

 private:
  static constexpr uint32_t kLayers = 16;
  static constexpr uint32_t kExperts = 128;
  static constexpr uint32_t kActive = 8;
  static constexpr uint32_t kStride = 4096;
  static constexpr size_t kRows = 32;

  Rows row(uint32_t index, uint32_t width) const {
    return {{&rows_, index * size_t{kStride} * sizeof(float)}, 1, width, kStride};
  }
  Matrix matrix(uint32_t layer, uint32_t rows, uint32_t cols) const {
    return {{&weights_, layer * kActive * record_bytes_},
            format_,
            rows,
            cols,
            tile_bytes(format_, cols)};
  }
  Matrix matrix_of_record(uint32_t rows, uint32_t cols) const {
    return {{&weights_, 0}, format_, rows, cols, tile_bytes(format_, cols)};
  }
  template <class Work>
  void stage(const std::string& name, Work work) {
    const double seconds = time_of(device_, 200, [&](uint32_t index) { work(index % kLayers); });
    std::printf("%-5s %-24s %8.2f us\n", std::string(info(format_).name).c_str(), name.c_str(),
                seconds * 1e6);
  }

  Device& device_;
  Format format_;
  uint64_t record_bytes_ = 0;
  Buffer weights_, rows_, pages_, table_;
  std::vector<uint32_t> page_table_;
};

int run(uint32_t index, size_t copied_bytes, bool small) {
  const auto device = must(vulkan::VulkanDevice::open(index, {}));
  must(device->reserve({64, 4096, 4096}));
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("%s\n", device->description().c_str());
  copies(*device, copied_bytes);
  const Size head = small ? Size{4096, 512} : Size{151936, 2048};
  for (const Format format : {Format::kBF16, Format::kQ8_0}) Layer(*device, format).time_stages();
  for (const Format format : {Format::kBF16, Format::kQ8_0})
    for (const Size& size : {head, Size{4096, 2048}, Size{768, 2048}, Size{2048, 768}})
      products(*device, format, size, copied_bytes / 2);
  return 0;
}

}  // namespace
}  // namespace smoe

int main(int count, char** values) {
  const auto index = count > 1 ? static_cast<uint32_t>(std::strtoul(values[1], nullptr, 10)) : 0U;
  const bool small = count > 2;  // for a software Vulkan
  return smoe::run(index, (small ? size_t{16} : size_t{2048}) << 20, small);
}
