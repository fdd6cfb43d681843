#include "cli/checkup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/units.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

// Below these a model of a few GB of active weights answers more slowly than people read.
constexpr double kGoodDisk = 1.5e9;  // bytes a second
constexpr double kFairDisk = 0.4e9;
constexpr double kGoodMemory = 15e9;
constexpr uint64_t kSmallMemory = 2 * kGiB;
constexpr double kPressed = 0.1;  // of the time

std::string speed_text(double bytes_per_second) {
  return fmt::format("{:.2f} GB/s", bytes_per_second * 1e-9);
}

Finding disk_finding(const Examination& seen) {
  Finding finding{"disk", Verdict::kFair, "", ""};
  if (!seen.disk) {
    finding.fact = seen.disk_error.empty() ? "not measured: there is no file of 16 MiB or more here"
                                           : "not measured: " + seen.disk_error;
    finding.remedy = "name a model, or a folder with a large file: smoe doctor PATH";
    return finding;
  }
  const DiskSpeed& disk = *seen.disk;
  finding.fact = fmt::format(
      "{} in random reads of {}, {} in sequence, {:.2f} ms a read",
      speed_text(disk.random_bytes_per_second), format_bytes(disk.block_bytes),
      speed_text(disk.sequential_bytes_per_second), static_cast<double>(disk.latency_ns) * 1e-6);
  finding.verdict = disk.random_bytes_per_second >= kGoodDisk   ? Verdict::kGood
                    : disk.random_bytes_per_second >= kFairDisk ? Verdict::kFair
                                                                : Verdict::kBad;
  if (seen.file_system.rotational.value_or(false) && finding.verdict != Verdict::kGood)
    finding.remedy = "the disk says that it turns: put the vault on an SSD";
  else if (finding.verdict != Verdict::kGood)
    finding.remedy =
        "experts arrive at this speed: a faster SSD, or more memory for the ring, makes up for it";
  return finding;
}

Finding file_system_finding(const Examination& seen) {
  const FileSystemFacts& facts = seen.file_system;
  Finding finding{"file system", Verdict::kGood, "", ""};
  finding.fact = facts.type.empty()
                     ? "unknown"
                     : fmt::format("{} on {}, at {}", facts.type, facts.source, facts.mount_point);
  if (facts.in_memory) {
    finding.verdict = Verdict::kBad;
    finding.fact += "; what lies there is in memory already, and counts twice with a ring";
    finding.remedy = "put the model on a disk";
  } else if (facts.remote) {
    finding.verdict = Verdict::kBad;
    finding.fact += ", over a network";
    finding.remedy = "copy the model to a disk of this machine";
  } else if (seen.disk && !seen.disk->direct) {
    finding.verdict = Verdict::kFair;
    finding.fact += "; direct reads are refused, or give other bytes than ordinary ones";
    finding.remedy =
        "reads go through the page cache, which takes memory and processor time; ext4, xfs and "
        "btrfs have direct I/O";
  } else if (seen.disk) {
    finding.fact += "; direct reads work";
  }
  return finding;
}

Finding uring_finding(const Examination& seen) {
  if (seen.probed.empty())
    return {"io_uring", Verdict::kFair, "not tried: there is no file to read here",
            "name a model, or a folder with a large file: smoe doctor PATH"};
  if (seen.uring) return {"io_uring", Verdict::kGood, "a read through it gave the right bytes", ""};
  return {"io_uring", Verdict::kFair, seen.uring.error().message,
          "threads read instead and take more processor time; sysctl kernel.io_uring_disabled=0, "
          "or a container profile that allows it, turns it on"};
}

Finding locked_memory_finding(const Examination& seen) {
  constexpr uint64_t kEnough = kGiB;
  const auto& limit = seen.machine.locked_limit_bytes;
  if (!limit) return {"locked memory", Verdict::kGood, "no limit", ""};
  Finding finding{"locked memory", Verdict::kGood, format_bytes(*limit) + " at most", ""};
  if (*limit < kEnough) {
    finding.verdict = Verdict::kFair;
    finding.remedy =
        "io_uring registers the ring's memory up to this limit, reads beyond it cost a little "
        "more; ulimit -l unlimited lifts it";
  }
  return finding;
}

Finding memory_finding(const Examination& seen) {
  const MemoryLimits& memory = seen.machine.memory;
  Finding finding{"memory", Verdict::kGood,
                  fmt::format("{} of {} available", format_bytes(memory.available_bytes),
                              format_bytes(memory.total_bytes)),
                  ""};
  if (memory.cgroup_bytes)
    finding.fact +=
        fmt::format(", within a cgroup's limit of {}", format_bytes(*memory.cgroup_bytes));
  if (seen.machine.memory_pressure)
    finding.fact += fmt::format("; {:.0f} % of the time something waits for memory",
                                100 * *seen.machine.memory_pressure);
  if (seen.machine.memory_pressure.value_or(0) > kPressed) {
    finding.verdict = Verdict::kBad;
    finding.remedy = "other programs fight for it: end some, or give less with --memory";
  } else if (memory.available_bytes < kSmallMemory) {
    finding.verdict = Verdict::kFair;
    finding.remedy = "a larger ring means fewer reads: end other programs, or raise the limit";
  }
  return finding;
}

Finding memory_speed_finding(const Examination& seen) {
  const bool good = seen.memory_bytes_per_second >= kGoodMemory;
  return {"memory speed", good ? Verdict::kGood : Verdict::kFair,
          fmt::format("{} read by {} threads", speed_text(seen.memory_bytes_per_second),
                      seen.machine.processors),
          good ? ""
               : "weights in memory are read at this speed: fewer bits a weight help "
                 "(smoe shatter --quant balanced)"};
}

Finding huge_pages_finding(const Examination& seen) {
  const std::string& chosen = seen.machine.huge_pages;
  if (chosen == "always" || chosen == "madvise")
    return {"huge pages", Verdict::kGood, chosen + ": granted to those who ask", ""};
  return {"huge pages", Verdict::kFair, chosen.empty() ? "not known here" : chosen,
          "large matrices are read a little faster with them: echo madvise > "
          "/sys/kernel/mm/transparent_hugepage/enabled"};
}

Finding swap_finding(const Examination& seen) {
  const MachineFacts& machine = seen.machine;
  if (machine.swap_bytes == 0) return {"swap", Verdict::kGood, "none", ""};
  Finding finding{"swap", Verdict::kGood,
                  fmt::format("{} of {} used", format_bytes(machine.swap_used_bytes),
                              format_bytes(machine.swap_bytes)),
                  ""};
  // An expert that was swapped out costs a write and a read; a miss costs a read.
  if (machine.swap_used_bytes > machine.swap_bytes / 8) {
    finding.verdict = Verdict::kFair;
    finding.remedy =
        "a swapped ring is slower than a small one: give less with --memory, or end programs";
  }
  return finding;
}

// A machine without one is as good as any: everything runs on the processor.
Finding gpu_finding(const Examination& seen) {
  Finding finding{"GPU", Verdict::kGood, "", ""};
  for (const GpuFacts& gpu : seen.gpus) {
    if (gpu.kind == "processor") continue;  // a software Vulkan
    finding.fact +=
        fmt::format("{}gpu:{}, {}, {}{}", finding.fact.empty() ? "" : "; ", gpu.index, gpu.name,
                    format_bytes(gpu.memory_bytes), gpu.shared_memory ? " shared" : " of its own");
    if (gpu.missing.empty()) continue;
    finding.verdict = Verdict::kFair;
    finding.remedy =
        fmt::format("gpu:{} lacks {}: a newer driver may have it", gpu.index, gpu.missing);
  }
  if (!finding.fact.empty()) return finding;
  finding.fact = "none: the processor computes";
  if (!seen.no_gpus.empty()) finding.fact += fmt::format(" ({})", seen.no_gpus);
  return finding;
}

bool is_regular(const fs::directory_entry& entry) {
  std::error_code ignored;
  return !entry.is_symlink(ignored) && entry.is_regular_file(ignored);
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kFair:
      return "fair";
    case Verdict::kBad:
      return "bad";
  }
  return "";
}

std::vector<Finding> findings_of(const Examination& seen) {
  std::vector<Finding> findings{disk_finding(seen),       file_system_finding(seen),
                                uring_finding(seen),      locked_memory_finding(seen),
                                memory_finding(seen),     memory_speed_finding(seen),
                                huge_pages_finding(seen), swap_finding(seen)};
  findings.push_back({"processor", Verdict::kGood, seen.processor, ""});
  findings.push_back(gpu_finding(seen));
  return findings;
}

fs::path largest_file(const fs::path& path) {
  constexpr int kMostDepth = 6;
  constexpr int kMostEntries = 20'000;
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path;
  fs::path largest;
  uint64_t largest_bytes = 0;
  int entries = 0;
  std::error_code error;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator() && entries < kMostEntries;
       at.increment(error), ++entries) {
    if (at.depth() >= kMostDepth) at.disable_recursion_pending();
    if (!is_regular(*at)) continue;
    const uint64_t bytes = at->file_size(ignored);
    if (ignored || bytes <= largest_bytes) continue;
    largest = at->path();
    largest_bytes = bytes;
  }
  return largest;
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<14} {:<5} {}\n", finding.name, name_of(finding.verdict), finding.fact);
    if (!finding.remedy.empty()) text += fmt::format("{:<20} -> {}\n", "", finding.remedy);
  }
  const auto count = [&](Verdict verdict) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& one) { return one.verdict == verdict; });
  };
  const auto fair = count(Verdict::kFair);
  const auto bad = count(Verdict::kBad);
  if (bad > 0) return text + fmt::format("\n{} bad, {} fair: see the arrows\n", bad, fair);
  return text + (fair > 0 ? fmt::format("\nnothing stands in the way; {} could be better\n", fair)
                          : "\nall is well\n");
}

std::string findings_json(const Examination& seen, const std::vector<Finding>& findings) {
  JsonWriter json;
  json.begin_object();
  const bool well = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.verdict == Verdict::kBad;
  });
  json.member("well", well);
  json.key("findings").begin_array();
  for (const Finding& finding : findings) {
    json.begin_object().member("name", finding.name).member("verdict", name_of(finding.verdict));
    json.member("fact", finding.fact);
    if (!finding.remedy.empty()) json.member("remedy", finding.remedy);
    json.end_object();
  }
  json.end_array();
  json.member("memory_total_bytes", seen.machine.memory.total_bytes);
  json.member("memory_available_bytes", seen.machine.memory.available_bytes);
  json.member("memory_bytes_per_second", seen.memory_bytes_per_second);
  json.member("processors", uint64_t{seen.machine.processors});
  if (seen.disk) {
    json.key("disk").begin_object().member("probed", seen.probed.string());
    json.member("direct", seen.disk->direct);
    json.member("random_bytes_per_second", seen.disk->random_bytes_per_second);
    json.member("sequential_bytes_per_second", seen.disk->sequential_bytes_per_second);
    json.member("random_read_bytes", seen.disk->block_bytes);
    json.member("latency_ms", static_cast<double>(seen.disk->latency_ns) * 1e-6).end_object();
  }
  json.end_object();
  return json.take() + "\n";
}

}  // namespace smoe::cli
