// smoe doctor: what this machine is good for, and what would make it better. It only reads.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/aligned.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "cli/checkup.h"
#include "cli/commands.h"
#include "devices/cpu/cpu_device.h"
#include "devices/cpu/read_bandwidth.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLeastFile = 16 * kMiB;  // a smaller one lies in the disk's own cache

void examine_disk(const fs::path& path, Examination& seen) {
  seen.file_system = file_system_of(path);
  const fs::path file = largest_file(path);
  std::error_code ignored;
  if (file.empty() || fs::file_size(file, ignored) < kLeastFile) return;
  seen.probed = file;
  auto speed = probe_disk({&file, 1}, {});
  if (speed)
    seen.disk = *speed;
  else
    seen.disk_error = speed.error().message;
  seen.uring = probe_uring(file);
}

// Pages that were never written are all the same one.
Status examine_memory(ThreadPool& pool, Examination& seen) {
  const uint64_t bytes =
      std::clamp<uint64_t>(seen.machine.memory.available_bytes / 8, kMiB, 256 * kMiB);
  SMOE_TRY(const AlignedBuffer memory, AlignedBuffer::allocate(bytes));
  std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{1});
  seen.memory_bytes_per_second = read_bandwidth(pool, memory.bytes());
  return {};
}

}  // namespace

Outcome doctor_command(Context& context) {
  const Settings& settings = context.settings;
  const Signals::AtOnce at_once(context.signals);
  const fs::path path = settings.model.empty() ? fs::path(".") : fs::path(settings.model);
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    return Error{Code::kNotFound, path.string() + ": no such file or folder"};

  Examination seen;
  seen.machine = read_machine_facts();
  ThreadPool pool(threads_of(settings));
  SMOE_TRY(const std::unique_ptr<Device> device, make_cpu_device(pool, CpuKernels::kBest));
  seen.processor = device->description();
  SMOE_DO(examine_memory(pool, seen));
  examine_disk(path, seen);
  if (auto gpus = list_gpus()) {
    seen.gpus = *std::move(gpus);
  } else {
    seen.no_gpus = gpus.error().message;
  }

  const std::vector<Finding> findings = findings_of(seen);
  SMOE_DO(context.terminal.print(settings.json ? findings_json(seen, findings)
                                               : findings_text(findings)));
  const bool well = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.verdict == Verdict::kBad;
  });
  return well ? ExitStatus::kDone : ExitStatus::kFailed;
}

}  // namespace smoe::cli
