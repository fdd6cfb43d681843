// The GPU that the tests run on, opened once a program: kernels are compiled on first use.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "devices/rig.h"
#include "devices/vulkan/gpu.h"

namespace smoe::test {

// The one that SMOE_TEST_GPU numbers, else a software Vulkan.
inline uint32_t test_gpu_index() {
  if (const char* chosen = std::getenv("SMOE_TEST_GPU"))
    return static_cast<uint32_t>(std::strtoul(chosen, nullptr, 10));
  const auto gpus = list_gpus();
  EXPECT_TRUE(gpus) << gpus.error().message;
  for (const GpuFacts& gpu : *gpus)
    if (gpu.kind == "processor") return gpu.index;
  ADD_FAILURE() << "no software Vulkan (Debian: mesa-vulkan-drivers), and SMOE_TEST_GPU is not set";
  return 0;
}

inline std::unique_ptr<Device> open_gpu(bool separate_memory) {
  GpuOptions options;
  options.separate_memory = separate_memory;
  auto made = make_vulkan_device(test_gpu_index(), options);
  EXPECT_TRUE(made) << made.error().message;
  EXPECT_TRUE((*made)->reserve({600, 2048, 4096}));
  return *std::move(made);
}

// With the memory that it has, and as if that were its own.
inline Device& gpu() {
  static const std::unique_ptr<Device> opened = open_gpu(false);
  return *opened;
}
inline Device& separate_gpu() {
  static const std::unique_ptr<Device> opened = open_gpu(true);
  return *opened;
}

inline testing::AssertionResult near(std::span<const float> found, std::span<const float> expected,
                                     float tolerance) {
  if (found.size() != expected.size()) return testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < found.size(); ++i) {
    const float error = std::fabs(found[i] - expected[i]);
    if (error <= tolerance * (1 + std::fabs(expected[i]))) continue;
    if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
    return testing::AssertionFailure()
           << "element " << i << " is " << found[i] << ", not " << expected[i];
  }
  return testing::AssertionSuccess();
}

}  // namespace smoe::test
