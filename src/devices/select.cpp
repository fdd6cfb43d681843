#include "devices/select.h"

#include <array>
#include <string>

#include "devices/cpu/cpu_device.h"

namespace smoe {
namespace {

struct NamedKernels {
  std::string_view name;
  CpuKernels kernels;
};
constexpr std::array kCpuKernels = {NamedKernels{"best", CpuKernels::kBest},
                                    NamedKernels{"portable", CpuKernels::kPortable},
                                    NamedKernels{"avx2", CpuKernels::kAvx2}};

Result<std::unique_ptr<Device>> make_cpu(std::string_view kernels, ThreadPool& pool) {
  std::string known;
  for (const NamedKernels& named : kCpuKernels) {
    if (named.name == kernels) return make_cpu_device(pool, named.kernels);
    known += (known.empty() ? "" : ", ") + std::string(named.name);
  }
  return Error{Code::kUsage,
               "unknown kernels \"" + std::string(kernels) + "\"; the cpu device knows " + known};
}

struct NamedDevice {
  std::string_view name;
  Result<std::unique_ptr<Device>> (*make)(std::string_view kernels, ThreadPool& pool);
};
constexpr std::array kDevices = {NamedDevice{"cpu", make_cpu}};

}  // namespace

Result<std::unique_ptr<Device>> make_device(std::string_view device, std::string_view kernels,
                                            ThreadPool& pool) {
  std::string known;
  for (const NamedDevice& named : kDevices) {
    if (named.name == device) return named.make(kernels, pool);
    known += (known.empty() ? "" : ", ") + std::string(named.name);
  }
  return Error{Code::kUsage,
               "unknown device \"" + std::string(device) + "\"; this build knows " + known};
}

}  // namespace smoe
