// What a GPU does against what its memory allows: gpu_bench [gpu index]
//
// Products of one token with a matrix as large as an LM head and as small as an expert's, against
// the bandwidth of a copy on the device. Weights are random blocks, written once and repeated.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
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

double copy_bandwidth(vulkan::VulkanDevice& device, size_t bytes) {
  const Buffer from = must(device.allocate(bytes));
  const Buffer to = must(device.allocate(bytes));
  const double driver = time_of(device, 10, [&](uint32_t /*index*/) { device.copy(from, to); });
  // The driver's own copy may be far below what a kernel reaches (a fifth on an H200).
  constexpr uint32_t kWidth = 16384;
  const auto count = static_cast<uint32_t>(bytes / sizeof(float) / kWidth);
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  const Rows in{{&from, 0}, count, kWidth, kWidth};
  const Rows out{{&to, 0}, count, kWidth, kWidth};
  const double kernel = time_of(device, 10, [&](uint32_t /*index*/) {
    device.gather({in, order, out});
  });
  return 2 * static_cast<double>(bytes) / std::min(driver, kernel);
}

void products(Device& device, Format format, const Size& size, uint64_t most_bytes, double limit) {
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
    std::printf("%-5s [%6u, %4u] x %u token(s): %8.2f us  %7.1f GB/s  %5.1f %% of a copy\n",
                std::string(info(format).name).c_str(), size.rows, size.cols, tokens, seconds * 1e6,
                rate / 1e9, 100 * rate / limit);
  }
}

int run(uint32_t index, size_t copied_bytes, bool small) {
  const auto device = must(vulkan::VulkanDevice::open(index, {}));
  must(device->reserve({64, 4096, 4096}));
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("%s\n", device->description().c_str());
  const double limit = copy_bandwidth(*device, copied_bytes);
  std::printf("copy of %zu MiB: %.1f GB/s, read and written\n", copied_bytes >> 20, limit / 1e9);
  const Size head = small ? Size{4096, 512} : Size{151936, 2048};
  for (const Format format : {Format::kBF16, Format::kQ8_0})
    for (const Size& size : {head, Size{4096, 2048}, Size{768, 2048}, Size{2048, 768}})
      products(*device, format, size, copied_bytes / 2, limit);
  return 0;
}

}  // namespace
}  // namespace smoe

int main(int count, char** values) {
  const auto index = count > 1 ? static_cast<uint32_t>(std::strtoul(values[1], nullptr, 10)) : 0U;
  const bool small = count > 2;  // for a software Vulkan
  return smoe::run(index, (small ? size_t{16} : size_t{2048}) << 20, small);
}
