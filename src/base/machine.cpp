#include "base/machine.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/units.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

std::string machine_text(const fs::path& path) {
  auto text = read_text_file(path, 4 * kMiB);
  return text ? std::move(*text) : std::string();
}

// The line that begins with `name`, without it.
std::string line_after(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name)) return line.substr(name.size());
  return {};
}

uint64_t meminfo_bytes(const std::string& meminfo, std::string_view name) {
  uint64_t kib = 0;
  std::istringstream(line_after(meminfo, name)) >> kib;
  return kib * kKiB;
}

// "always [madvise] never": the word in brackets.
std::string chosen_word(const std::string& words) {
  const size_t open = words.find('[');
  const size_t close = words.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return words.substr(open + 1, close - open - 1);
}

// CAP_IPC_LOCK lifts the limit.
bool may_lock_all(const std::string& status) {
  constexpr unsigned kIpcLock = 14;
  uint64_t capabilities = 0;
  std::istringstream(line_after(status, "CapEff:")) >> std::hex >> capabilities;
  return (capabilities >> kIpcLock & 1U) != 0;
}

// "Max locked memory         8388608              8388608              bytes"
std::optional<uint64_t> locked_limit(const fs::path& root) {
  if (may_lock_all(machine_text(root / "proc/self/status"))) return {};
  std::istringstream limits(
      line_after(machine_text(root / "proc/self/limits"), "Max locked memory"));
  uint64_t bytes = 0;
  if (limits >> bytes) return bytes;
  return {};  // "unlimited"
}

struct Mount {
  std::string device;  // "8:1"
  std::string point;
  std::string type;
  std::string source;
};

// Mount points have spaces as \040.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      plain += text[i];
      continue;
    }
    const auto digit = [&](size_t at) { return (text[at] - '0') & 7; };
    plain += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
    i += 3;
  }
  return plain;
}

// "36 35 98:0 /root /point options ... - type source options"
std::vector<Mount> mounts_of(const fs::path& root) {
  std::vector<Mount> mounts;
  std::istringstream lines(machine_text(root / "proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    const size_t rest = line.find(" - ");
    if (rest == std::string::npos) continue;
    Mount mount;
    std::string ignored;
    std::istringstream(line) >> ignored >> ignored >> mount.device >> ignored >> mount.point;
    std::istringstream(line.substr(rest + 3)) >> mount.type >> mount.source;
    mount.point = without_escapes(mount.point);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

bool lies_below(const std::string& path, const std::string& point) {
  if (point == "/") return true;
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

// A partition has no queue of its own: its disk's is one folder up.
std::optional<bool> turns(const fs::path& root, const std::string& device) {
  const fs::path folder = root / "sys/dev/block" / device;
  for (const fs::path& queue : {folder / "queue", folder / "../queue"}) {
    const std::string text = machine_text(queue / "rotational");
    if (!text.empty()) return text.front() == '1';
  }
  return {};
}

bool is_one_of(std::string_view type, std::span<const std::string_view> types) {
  return std::any_of(types.begin(), types.end(),
                     [&](std::string_view known) { return type == known; });
}

}  // namespace

MachineFacts read_machine_facts(const fs::path& root) {
  MachineFacts facts;
  facts.memory = read_memory_limits(root);
  facts.processors = usable_processors(root);
  facts.memory_pressure = read_memory_pressure(root);
  const std::string meminfo = machine_text(root / "proc/meminfo");
  facts.swap_bytes = meminfo_bytes(meminfo, "SwapTotal:");
  facts.swap_used_bytes =
      facts.swap_bytes - std::min(facts.swap_bytes, meminfo_bytes(meminfo, "SwapFree:"));
  facts.huge_pages = chosen_word(machine_text(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  facts.locked_limit_bytes = locked_limit(root);
  return facts;
}

FileSystemFacts file_system_of(const fs::path& path, const fs::path& root) {
  constexpr std::array<std::string_view, 8> kRemote{"nfs",        "nfs4", "cifs", "smb3",
                                                    "fuse.sshfs", "ceph", "9p",   "virtiofs"};
  constexpr std::array<std::string_view, 2> kInMemory{"tmpfs", "ramfs"};
  std::error_code ignored;
  const std::string place = fs::weakly_canonical(fs::absolute(path, ignored), ignored).string();
  FileSystemFacts facts;
  std::string device;
  for (const Mount& mount : mounts_of(root)) {
    // Of two mounts at one point the later one is seen.
    if (!lies_below(place, mount.point) || mount.point.size() < facts.mount_point.size()) continue;
    facts.type = mount.type;
    facts.source = mount.source;
    facts.mount_point = mount.point;
    device = mount.device;
  }
  facts.remote = is_one_of(facts.type, kRemote);
  facts.in_memory = is_one_of(facts.type, kInMemory);
  if (!device.empty()) facts.rotational = turns(root, device);
  return facts;
}

}  // namespace smoe
