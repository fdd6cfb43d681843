// smoe devices: what can compute here, and what is missing where something cannot.
#include <string>
#include <vector>

#include "base/json.h"
#include "base/system_memory.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "devices/cpu/cpu_device.h"
#include "devices/vulkan/gpu.h"

namespace smoe::cli {
namespace {

struct Found {
  std::string cpu;
  uint64_t memory_bytes = 0;
  std::vector<GpuFacts> gpus;
  std::string no_gpus;  // why none could be looked for
};

std::string name_of(const GpuFacts& gpu) { return "gpu:" + std::to_string(gpu.index); }

std::string json_report(const Found& found) {
  JsonWriter json;
  json.begin_object().key("devices").begin_array();
  json.begin_object().member("name", "cpu").member("description", found.cpu);
  json.member("memory_bytes", found.memory_bytes).member("usable", true).end_object();
  for (const GpuFacts& gpu : found.gpus) {
    json.begin_object().member("name", name_of(gpu)).member("description", gpu.name);
    json.member("kind", gpu.kind).member("memory_bytes", gpu.memory_bytes);
    json.member("shared_memory", gpu.shared_memory).member("vulkan", gpu.version);
    json.member("usable", gpu.missing.empty()).member("missing", gpu.missing).end_object();
  }
  json.end_array().member("no_gpus", found.no_gpus).end_object();
  return json.take() + "\n";
}

std::string text_report(const Found& found) {
  std::vector<std::vector<std::string>> rows = {
      {"cpu", found.cpu, format_bytes(found.memory_bytes), "yes"}};
  for (const GpuFacts& gpu : found.gpus)
    rows.push_back({name_of(gpu), gpu.name + ", " + gpu.kind + ", Vulkan " + gpu.version,
                    format_bytes(gpu.memory_bytes) + (gpu.shared_memory ? ", shared" : ""),
                    gpu.missing.empty() ? "yes" : "no, lacks " + gpu.missing});
  std::string text = render_table(
      {{"device", false}, {"what it is", false}, {"memory", true}, {"usable", false}}, rows);
  if (!found.no_gpus.empty()) text += "GPUs: " + found.no_gpus + "\n";
  return text;
}

}  // namespace

Outcome devices_command(Context& context) {
  Found found;
  ThreadPool pool(threads_of(context.settings));
  SMOE_TRY(const std::unique_ptr<Device> cpu, make_cpu_device(pool, CpuKernels::kBest));
  found.cpu = cpu->description();
  found.memory_bytes = read_memory_limits().available_bytes;
  if (auto gpus = list_gpus()) {
    found.gpus = *std::move(gpus);
  } else {
    found.no_gpus = gpus.error().message;
  }
  SMOE_DO(context.terminal.print(context.settings.json ? json_report(found) : text_report(found)));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
