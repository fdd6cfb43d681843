// In a program of its own kind: with Vulkan, that of the GPU's tests.
#include <gtest/gtest.h>

#include "devices/select.h"

namespace smoe::test {
namespace {

TEST(MakeDevice, AGpuThatIsNotThereIsAnErrorAndNoCrash) {
  ThreadPool pool(1);
  const auto device = make_device({"gpu:4711", CpuKernels::kBest, {}}, pool);
  ASSERT_FALSE(device);
  EXPECT_TRUE(device.error().code == Code::kNotFound || device.error().code == Code::kUnsupported)
      << device.error().message;
}

}  // namespace
}  // namespace smoe::test
