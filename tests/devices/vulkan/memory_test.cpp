// Memory of a GPU: shared with the host and not, and what is said where there is none.
#include "base/aligned.h"
#include "devices/vulkan/gpu_rig.h"
#include "devices/vulkan/recorder.h"

namespace smoe::test {
namespace {

TEST(GpuList, NamesTheGpuThatTheTestsUse) {
  const auto gpus = list_gpus();
  ASSERT_TRUE(gpus) << gpus.error().message;
  ASSERT_GT(gpus->size(), test_gpu_index());
  const GpuFacts& facts = (*gpus)[test_gpu_index()];
  EXPECT_FALSE(facts.name.empty());
  EXPECT_GT(facts.memory_bytes, 0U);
  EXPECT_EQ(facts.missing, "");
  EXPECT_EQ(gpu().name(), "gpu");
  EXPECT_NE(gpu().description().find(facts.name), std::string::npos);
}

TEST(GpuList, AnUnknownNumberIsAnErrorThatSaysHowManyThereAre) {
  const auto made = make_vulkan_device(4711, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kNotFound);
  EXPECT_NE(made.error().message.find("there is no gpu:4711"), std::string::npos);
}

TEST(GpuMemory, IsZeroedAndFallsBackToAnErrorWhenThereIsTooLittle) {
  for (Device* device : {&gpu(), &separate_gpu()}) {
    const Buffer buffer = *device->allocate(4096);
    const Rows rows{{&buffer, 0}, 4, 256, 256};
    EXPECT_EQ(values_of(*device, rows), std::vector<float>(1024, 0.0F));
    const auto too_much = device->allocate(size_t{1} << 50);
    ASSERT_FALSE(too_much);
    EXPECT_TRUE(too_much.error().code == Code::kNoMemory || too_much.error().code == Code::kIo);
    EXPECT_NE(too_much.error().message.find("gpu:"), std::string::npos);
    EXPECT_EQ(values_of(*device, rows), std::vector<float>(1024, 0.0F));  // it still works
  }
}

TEST(GpuMemory, AdoptedBytesAreSeenAfterRefresh) {
  for (Device* device : {&gpu(), &separate_gpu()}) {
    AlignedBuffer host = *AlignedBuffer::allocate(2 * kPageBytes);
    const std::span<float> values(reinterpret_cast<float*>(host.data()), 8192);
    const Buffer buffer = *device->adopt(host.bytes());
    const DeviceRows out = make_rows(*device, 1, 64);
    for (const float mark : {1.0F, 2.0F}) {
      std::fill(values.begin(), values.end(), mark);
      device->refresh({&buffer, kPageBytes}, kPageBytes);
      const Rows from{{&buffer, kPageBytes + 256}, 1, 64, 64};
      device->gather({from, std::vector<uint32_t>{0}, out.rows});
      EXPECT_EQ(values_of(*device, out.rows), std::vector<float>(64, mark));
    }
  }
}

TEST(GpuMemory, HostMemoryThatCannotBeUsedInPlaceIsCopied) {
  Device& device = separate_gpu();
  std::vector<float> values(100, 3.0F);
  const std::span<std::byte> odd = std::as_writable_bytes(std::span(values)).subspan(4, 256);
  const Buffer buffer = *device.adopt(odd);
  device.refresh({&buffer, 0}, 256);
  EXPECT_EQ(values_of(device, Rows{{&buffer, 0}, 1, 64, 64}), std::vector<float>(64, 3.0F));
}

TEST(GpuMemory, ManyRowsAreReadInPieces) {
  Device& device = separate_gpu();
  Rng rng(430);
  const auto values = random_values(rng, size_t{3000} * 1000);  // three pieces
  const DeviceRows rows = make_rows(device, 3000, 1000, values);
  EXPECT_TRUE(same_bits(values_of(device, rows.rows), values));
}

TEST(GpuMemory, ManySubmissionsKeepTheirArgumentsApart) {
  Device& device = gpu();
  const DeviceRows sum = make_rows(device, 1, 16, std::vector<float>(16, 0.0F));
  const DeviceRows one = make_rows(device, 1, 16, std::vector<float>(16, 1.0F));
  float expected = 0;
  for (int i = 0; i < 100; ++i) {
    const std::vector<float> weight = {static_cast<float>(i)};
    device.accumulate({one.rows, std::vector<uint32_t>{0}, weight, sum.rows});
    if (i % 3 == 0) device.submit();
    expected += static_cast<float>(i);
  }
  EXPECT_EQ(values_of(device, sum.rows), std::vector<float>(16, expected));
}

// A kernel that was not said to read what a copy still writes ran beside that copy on a GPU that
// was fast enough: whole models came out wrong. So whoever forgets a range is stopped.
TEST(GpuRecorderDeathTest, AnAddressOutsideTheRangesOfADispatchIsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto dispatch = [](bool all_ranges) {
    const auto context = *vulkan::Context::open(test_gpu_index(), {});
    const auto kernels = *vulkan::Kernels::open(*context, {});
    const auto recorder = *vulkan::Recorder::open(*context, *kernels);
    const auto memory = *vulkan::Memory::allocate(*context, 8192, vulkan::MemoryKind::kDevice);
    struct {
      VkDeviceAddress in, weight, out;
      uint32_t in_stride = 64, out_stride = 64, group = 64;
      float epsilon = 1e-6F;
    } push{memory.address(), memory.address() + 4096, memory.address() + 2048};
    const std::array<vulkan::Range, 2> reads = {
        {{memory.address(), 256}, {memory.address() + 4096, 256}}};
    recorder->dispatch({vulkan::Kernel::kNormalize,
                        {},
                        {std::as_bytes(std::span(&push, 1)), 3},
                        1,
                        1,
                        std::span(reads).first(all_ranges ? 2 : 1),
                        {memory.address() + 2048, 256}});
    return static_cast<bool>(recorder->wait(recorder->submit()));
  };
  EXPECT_TRUE(dispatch(true));
  EXPECT_DEATH(dispatch(false), "declared does not hold");
}

}  // namespace
}  // namespace smoe::test
