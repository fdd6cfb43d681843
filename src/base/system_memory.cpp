#include "base/system_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/units.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

// Files of the kernel; one that is not there says nothing.
std::string text_of(const fs::path& path) {
  auto text = read_text_file(path, kMiB);
  return text ? std::move(*text) : std::string();
}

std::optional<uint64_t> number_at(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  static_cast<void>(end);
  if (error != std::errc{}) return std::nullopt;  // "max", "-1", no number
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// What follows `name` on the line that begins with it: "MemTotal:  123 kB", "inactive_file 9".
std::string_view field(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(name) && line.size() > name.size() &&
        (name.ends_with(':') || line[name.size()] == ' '))
      return line.substr(name.size());
  return {};
}

uint64_t kib_field(std::string_view text, std::string_view name) {
  return number_at(field(text, name)).value_or(0) * kKiB;
}

// The folders of a group and of all its parents below `mount`. Inside a container the group's path
// is often the host's, while the mount shows only its tail: then the longest tail that exists is
// the group.
std::vector<fs::path> with_parents(const fs::path& mount, std::string_view group) {
  std::vector<std::string_view> names;
  for (const std::string_view name : split(group, '/'))
    if (!name.empty() && name != "." && name != "..") names.push_back(name);
  std::vector<fs::path> folders;
  for (size_t first = 0; first <= names.size() && folders.empty(); ++first) {
    fs::path folder = mount;
    for (size_t i = first; i < names.size(); ++i) folder /= names[i];
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) continue;
    for (size_t depth = names.size() - first; depth > 0; --depth) {
      folders.push_back(folder);
      folder = folder.parent_path();
    }
    folders.push_back(mount);
  }
  return folders;
}

struct Groups {
  std::vector<fs::path> v1;
  std::vector<fs::path> v2;
};

Groups groups_of(const fs::path& root, std::string_view controller) {
  const fs::path mounts = root / "sys/fs/cgroup";
  const std::string table = text_of(root / "proc/self/cgroup");
  const auto append = [](std::vector<fs::path>& to, const std::vector<fs::path>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  Groups groups;
  for (const std::string_view line : split(table, '\n')) {  // "4:memory:/user/group"
    const size_t first = line.find(':');
    const size_t second = line.find(':', std::min(first, line.size() - 1) + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers.empty()) {
      append(groups.v2, with_parents(mounts, path));
      append(groups.v2, with_parents(mounts / "unified", path));
      continue;
    }
    const auto names = split(controllers, ',');
    if (std::find(names.begin(), names.end(), controller) == names.end()) continue;
    append(groups.v1, with_parents(mounts / controller, path));
    if (names.size() > 1) append(groups.v1, with_parents(mounts / controllers, path));
  }
  return groups;
}

void tighten(MemoryLimits& limits, std::optional<uint64_t> limit, uint64_t used, uint64_t cache) {
  constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // v1 spells "none" as almost 2^63
  if (!limit || *limit >= kNoLimit) return;
  limits.cgroup_bytes = std::min(limits.cgroup_bytes.value_or(*limit), *limit);
  const uint64_t held = used - std::min(used, cache);
  limits.available_bytes = std::min(limits.available_bytes, *limit - std::min(held, *limit));
}

std::set<unsigned> processor_list(std::string_view text) {  // "0-3,8"
  constexpr uint64_t kMostProcessors = 65536;
  std::set<unsigned> processors;
  for (const std::string_view range : split(text, ',')) {
    const auto first = number_at(range);
    if (!first) continue;
    const size_t dash = range.find('-');
    const auto last = dash == std::string_view::npos ? first : number_at(range.substr(dash + 1));
    for (uint64_t id = *first; id <= std::min(last.value_or(*first), kMostProcessors); ++id)
      processors.insert(static_cast<unsigned>(id));
  }
  return processors;
}

// An empty list says nothing, so it takes nothing away.
void keep_only(std::set<unsigned>& processors, const std::set<unsigned>& allowed) {
  if (processors.empty()) processors = allowed;
  if (allowed.empty()) return;
  std::erase_if(processors, [&](unsigned id) { return !allowed.contains(id); });
}

std::set<unsigned> allowed_processors(const fs::path& root) {
  std::set<unsigned> processors = processor_list(text_of(root / "sys/devices/system/cpu/online"));
  const std::string status = text_of(root / "proc/self/status");
  keep_only(processors, processor_list(field(status, "Cpus_allowed_list:")));
  const Groups groups = groups_of(root, "cpuset");
  for (const fs::path& folder : groups.v2)
    keep_only(processors, processor_list(text_of(folder / "cpuset.cpus.effective")));
  for (const fs::path& folder : groups.v1)
    keep_only(processors, processor_list(text_of(folder / "cpuset.cpus")));
  return processors;
}

}  // namespace

MemoryLimits read_memory_limits(const fs::path& root) {
  const std::string machine = text_of(root / "proc/meminfo");
  MemoryLimits limits;
  limits.total_bytes = kib_field(machine, "MemTotal:");
  limits.available_bytes = kib_field(machine, "MemAvailable:");
  if (field(machine, "MemAvailable:").empty())  // kernels before 3.14
    limits.available_bytes = kib_field(machine, "MemFree:") + kib_field(machine, "Cached:");

  const Groups groups = groups_of(root, "memory");
  for (const fs::path& folder : groups.v2) {
    const uint64_t used = number_at(text_of(folder / "memory.current")).value_or(0);
    const std::string stat = text_of(folder / "memory.stat");
    const uint64_t cache = number_at(field(stat, "inactive_file")).value_or(0);
    tighten(limits, number_at(text_of(folder / "memory.max")), used, cache);
    // Beyond "high" the kernel throttles the group to a crawl: no room either.
    tighten(limits, number_at(text_of(folder / "memory.high")), used, cache);
  }
  for (const fs::path& folder : groups.v1) {
    const uint64_t used = number_at(text_of(folder / "memory.usage_in_bytes")).value_or(0);
    const std::string stat = text_of(folder / "memory.stat");
    const uint64_t cache = number_at(field(stat, "total_inactive_file")).value_or(0);
    tighten(limits, number_at(text_of(folder / "memory.limit_in_bytes")), used, cache);
    // Set by parents that this mount may not show.
    tighten(limits, number_at(field(stat, "hierarchical_memory_limit")), used, cache);
  }
  return limits;
}

// "some avg10=1.25 avg60=0.40 avg300=0.10 total=12345", in percent.
std::optional<double> read_memory_pressure(const fs::path& root) {
  std::vector<fs::path> files;
  for (const fs::path& folder : groups_of(root, "memory").v2)
    files.push_back(folder / "memory.pressure");
  files.push_back(root / "proc/pressure/memory");
  constexpr std::string_view kShare = "avg10=";
  for (const fs::path& file : files) {
    const std::string text = text_of(file);
    const std::string_view some = field(text, "some");
    const size_t at = some.find(kShare);
    if (at == std::string_view::npos) continue;
    const std::string number(some.substr(at + kShare.size(), some.find(' ', at) - at));
    return std::strtod(number.c_str(), nullptr) / 100;
  }
  return {};
}

unsigned usable_processors(const fs::path& root) {
  uint64_t usable = allowed_processors(root).size();
  if (usable == 0) usable = std::max(1U, std::thread::hardware_concurrency());

  const auto tighten_by = [&](std::optional<uint64_t> quota, std::optional<uint64_t> period) {
    if (quota && period && *quota > 0 && *period > 0) usable = std::min(usable, *quota / *period);
  };
  const Groups groups = groups_of(root, "cpu");
  for (const fs::path& folder : groups.v2) {
    const std::string text = text_of(folder / "cpu.max");  // "200000 100000" or "max 100000"
    const size_t space = text.find(' ');
    if (space != std::string::npos)
      tighten_by(number_at(text), number_at(std::string_view(text).substr(space)));
  }
  for (const fs::path& folder : groups.v1)
    tighten_by(number_at(text_of(folder / "cpu.cfs_quota_us")),
               number_at(text_of(folder / "cpu.cfs_period_us")));
  return static_cast<unsigned>(std::max<uint64_t>(usable, 1));
}

std::string address_space_hint() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return "; ulimit -v allows " + format_bytes(limit.rlim_cur);
}

std::optional<HugePages> read_huge_pages(const std::filesystem::path& root) {
  const std::string text = text_of(root / "proc/self/smaps_rollup");
  if (text.find("AnonHugePages:") == std::string::npos) return {};
  return HugePages{kib_field(text, "Anonymous:"), kib_field(text, "AnonHugePages:")};
}

uint64_t peak_resident_bytes() { return kib_field(text_of("/proc/self/status"), "VmHWM:"); }

}  // namespace smoe
