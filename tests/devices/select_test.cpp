#include "devices/select.h"

#include "devices/cpu/kernel_sets.h"
#include "devices/rig.h"

namespace smoe::test {
namespace {

using testing::Test;

TEST(MakeDevice, KnowsTheCpuByNameAndTakesItByItself) {
  ThreadPool pool(2);
  for (const char* name : {"cpu", "auto"}) {
    const auto device = make_device({name, CpuKernels::kPortable, {}}, pool);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ((*device)->name(), "cpu");
    EXPECT_EQ((*device)->description(), "CPU, portable, 2 threads");
  }
}

TEST(MakeDevice, NamesWhatItKnowsWhenAskedForSomethingElse) {
  ThreadPool pool(1);
  for (const std::string name : {"abacus", "gpu:", "gpu:x", "gpu:1x", "gpu:-1", ""}) {
    const auto device = make_device({name, CpuKernels::kBest, {}}, pool);
    ASSERT_FALSE(device) << name;
    EXPECT_EQ(device.error().code, Code::kUsage);
    EXPECT_EQ(device.error().message,
              "unknown device \"" + name + "\": it is cpu, gpu, gpu:N or auto");
  }
}

TEST(ChooseKernels, TakesThePortableSetOnAPlainProcessor) {
  const auto best = cpu::choose_kernels(CpuKernels::kBest, CpuFeatures{});
  ASSERT_TRUE(best);
  EXPECT_EQ((*best)->name, "portable");
}

TEST(ChooseKernels, RefusesASetThatTheProcessorCannotRun) {
  for (const cpu::KernelSet& set : cpu::kernel_sets()) {
    if (set.id == CpuKernels::kPortable) continue;
    const auto chosen = cpu::choose_kernels(set.id, CpuFeatures{});
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code, Code::kUnsupported);
    EXPECT_NE(chosen.error().message.find(set.needs), std::string::npos) << chosen.error().message;
  }
}

TEST(ChooseKernels, OfABuildWithoutTheSetSaysSo) {
  bool built = false;
  for (const cpu::KernelSet& set : cpu::kernel_sets()) built |= set.id == CpuKernels::kAvx2;
  const auto chosen = cpu::choose_kernels(CpuKernels::kAvx2, CpuFeatures{true, true, true});
  EXPECT_EQ(chosen.has_value(), built);
}

TEST(ChooseKernels, TakesAvx512OnlyWhereAvx2IsToo) {
  bool built = false;
  for (const cpu::KernelSet& set : cpu::kernel_sets()) built |= set.id == CpuKernels::kAvx512;
  const CpuFeatures all{.avx2 = true, .fma = true, .f16c = true, .avx512 = true};
  EXPECT_EQ(cpu::choose_kernels(CpuKernels::kAvx512, all).has_value(), built);
  EXPECT_EQ((*cpu::choose_kernels(CpuKernels::kBest, all))->name,
            built ? "AVX-512 VNNI" : "portable");
  for (bool CpuFeatures::*missing :
       {&CpuFeatures::avx2, &CpuFeatures::fma, &CpuFeatures::f16c, &CpuFeatures::avx512}) {
    CpuFeatures features = all;
    features.*missing = false;
    EXPECT_FALSE(cpu::choose_kernels(CpuKernels::kAvx512, features));
  }
}

// A build has the sets of its own architecture alone.
TEST(ChooseKernels, OfArmAreNeonWithDotProducts) {
  CpuFeatures features;
  features.dot_product = true;
  bool built = false;
  for (const cpu::KernelSet& set : cpu::kernel_sets()) built |= set.id == CpuKernels::kNeon;
  EXPECT_EQ(cpu::choose_kernels(CpuKernels::kNeon, features).has_value(), built);
  EXPECT_EQ((*cpu::choose_kernels(CpuKernels::kBest, features))->name, built ? "NEON" : "portable");
}

TEST(ChooseKernels, NeedsEveryFeatureOfASet) {
  for (const CpuFeatures& features :
       {CpuFeatures{false, true, true}, CpuFeatures{true, false, true},
        CpuFeatures{true, true, false}}) {
    EXPECT_FALSE(cpu::choose_kernels(CpuKernels::kAvx2, features));
    EXPECT_EQ((*cpu::choose_kernels(CpuKernels::kBest, features))->name, "portable");
  }
}

}  // namespace
}  // namespace smoe::test
