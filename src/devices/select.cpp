#include "devices/select.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "devices/vulkan/gpu.h"

namespace smoe {
namespace {

using Made = Result<std::unique_ptr<Device>>;

constexpr std::string_view kNumbered = "gpu:";

std::optional<uint32_t> gpu_number(std::string_view name) {
  if (!name.starts_with(kNumbered)) return std::nullopt;
  name.remove_prefix(kNumbered.size());
  uint32_t number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

Made make_cpu(const DeviceWish& wish, ThreadPool& pool) {
  return make_cpu_device(pool, wish.kernels, wish.activations);
}

Made make_gpu(uint32_t index, const DeviceWish& wish) {
  if (wish.activations != Activations::kF32)
    return Error{Code::kUnsupported,
                 "--activations bf16: GPUs do not round activations; --device cpu does"};
  return make_vulkan_device(index, {wish.cache_folder, false});
}

// A software Vulkan is a processor that computes slowly: it is taken by its number only.
Made make_first_gpu(const DeviceWish& wish, ThreadPool& /*pool*/) {
  SMOE_TRY(const std::vector<GpuFacts> gpus, list_gpus());
  for (const GpuFacts& gpu : gpus)
    if (gpu.missing.empty() && gpu.kind != "processor") return make_gpu(gpu.index, wish);
  return Error{Code::kNotFound,
               "no GPU here can be used; smoe devices tells what there is, --device cpu works"};
}

struct NamedDevice {
  std::string_view name;
  Made (*make)(const DeviceWish& wish, ThreadPool& pool);
};
constexpr std::array kDevices = {NamedDevice{"cpu", make_cpu}, NamedDevice{"gpu", make_first_gpu},
                                 NamedDevice{"auto", make_cpu}};

}  // namespace

Made make_device(const DeviceWish& wish, ThreadPool& pool) {
  if (const auto number = gpu_number(wish.name)) return make_gpu(*number, wish);
  for (const NamedDevice& named : kDevices)
    if (named.name == wish.name) return named.make(wish, pool);
  return Error{Code::kUsage, "unknown device \"" + wish.name + "\": it is cpu, gpu, gpu:N or auto"};
}

}  // namespace smoe
