// Attention over pages on a GPU, against the portable kernels.
#include "devices/vulkan/gpu_rig.h"

namespace smoe::test {
namespace {

struct Shape {
  uint32_t heads;
  uint32_t kv_heads;
  uint32_t head_dim;
};

// Tokens at `positions` of one sequence whose pages lie scattered, each stored and then attended
// to.
std::vector<float> attended(Device& device, const Shape& shape, uint32_t length,
                            std::span<const uint32_t> positions) {
  Rng rng(420);
  const uint32_t pages = ceil_div(length, kPagePositions);
  KvPages cache{{}, shape.kv_heads, shape.head_dim};
  const size_t bytes = cache.page_bytes() * 2 * pages;
  Buffer buffer = *device.allocate(bytes);
  // What was never stored must not matter.
  const std::vector<float> nothing(bytes / sizeof(float), kNan);
  device.write({&buffer, 0}, std::as_bytes(std::span(nothing)));
  cache.view = {&buffer, 0};
  std::vector<uint32_t> table = {99, 99, 99};
  for (uint32_t page = 0; page < pages; ++page) table.push_back(2 * pages - 1 - 2 * page);
  table[0] = table[1] = table[2] = 0;

  const uint32_t kv_width = shape.kv_heads * shape.head_dim;
  std::vector<TokenPlace> places;
  for (uint32_t i = 0; i < length; ++i) places.push_back({i, 3});
  const DeviceRows key = make_rows(device, length, kv_width, random_values(rng, length * kv_width));
  const DeviceRows value =
      make_rows(device, length, kv_width, random_values(rng, length * kv_width));
  device.store_kv({key.rows, value.rows, cache, places, table});

  const uint32_t width = shape.heads * shape.head_dim;
  const auto queries = random_values(rng, length * width);
  std::vector<float> chosen;
  std::vector<TokenPlace> at;
  for (const uint32_t position : positions) {
    at.push_back({position, 3});
    const auto query = std::span(queries).subspan(size_t{position} * width, width);
    chosen.insert(chosen.end(), query.begin(), query.end());
  }
  const auto count = static_cast<uint32_t>(positions.size());
  const DeviceRows query = make_rows(device, count, width, chosen);
  const DeviceRows out = make_rows(device, count, width);
  device.attend({query.rows, cache, shape.heads, 0.3F, at, table, out.rows});
  return values_of(device, out.rows);
}

TEST(GpuAttend, AgreesWithTheCpuAtOddShapes) {
  Rig portable(CpuKernels::kPortable);
  const std::vector<uint32_t> positions = {0, 1, 15, 16, 31, 32, 63, 64, 76};
  for (const Shape& shape : {Shape{4, 2, 16}, Shape{6, 1, 24}, Shape{2, 2, 72}, Shape{1, 1, 200}})
    EXPECT_TRUE(near(attended(gpu(), shape, 77, positions),
                     attended(*portable.device, shape, 77, positions), 2e-6F))
        << shape.heads << " heads of " << shape.head_dim;
  // More than one step of the softmax.
  const std::vector<uint32_t> far = {200, 255, 256, 257, 511, 512, 599};
  for (const Shape& shape : {Shape{4, 2, 24}, Shape{2, 1, 300}})
    EXPECT_TRUE(
        near(attended(gpu(), shape, 600, far), attended(*portable.device, shape, 600, far), 2e-6F))
        << shape.heads << " heads of " << shape.head_dim;
}

TEST(GpuAttend, GivesTheSameBitsWhateverElseIsInTheBatch) {
  const Shape shape{4, 2, 24};
  const std::vector<uint32_t> all = {3, 40, 64, 69};
  const auto together = attended(gpu(), shape, 70, all);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(same_bits(attended(gpu(), shape, 70, std::array{all[i]}),
                          std::span(together).subspan(i * 96, 96)));
}

}  // namespace
}  // namespace smoe::test
