// The compiled shaders of kernels/*.comp, as pipelines.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "devices/vulkan/context.h"

namespace smoe::vulkan {

enum class Kernel : uint8_t {
  kAccumulate,
  kAttend,
  kCombine,
  kEmbed,
  kHeads,
  kNormalize,
  kProduct,
  kProductLooped,  // the same for a software Vulkan
  kProductRouted,  // of the experts that kRoute chose
  kProductRoutedLooped,
  kRotate,
  kRoute,
  kStoreKv,
};
inline constexpr size_t kKernels = 13;

// A kernel's SPIR-V, as it was built in.
struct Module {
  std::string_view name;  // of the source, without .comp
  std::span<const uint32_t> code;
};
std::span<const Module, kKernels> modules();

// Values of a kernel's specialisation constants 0, 1, …
inline constexpr size_t kMostConstants = 10;
using Constants = std::array<uint32_t, kMostConstants>;

class Kernels {
 public:
  // `cache_folder` keeps what the driver compiled for the next run; empty: nothing is kept, and a
  // cache that cannot be read or written is no error. Fails: kNoMemory, kIo.
  static Result<std::unique_ptr<Kernels>> open(const Context& context,
                                               const std::filesystem::path& cache_folder);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  VkPipelineLayout layout() const { return layout_; }
  // Compiled on first use. Fails: kNoMemory, kIo. Cost: the first use of a kind takes milliseconds
  // to seconds.
  Result<VkPipeline> pipeline(Kernel kernel, const Constants& constants);

 private:
  struct Made {
    Kernel kernel;
    Constants constants;
    VkPipeline pipeline;
  };

  explicit Kernels(const Context& context) : context_(context) {}
  Status create(const std::filesystem::path& cache_folder);
  void save() const;

  const Context& context_;
  std::filesystem::path cache_file_;
  size_t cached_bytes_ = 0;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::array<VkShaderModule, kKernels> modules_{};
  std::vector<Made> made_;
};

}  // namespace smoe::vulkan
