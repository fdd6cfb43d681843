#include "shatter/model_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "shatter/partial_file.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

Error io_error(const fs::path& path, std::string_view action, const std::string& reason) {
  return {Code::kIo, path.string() + ": cannot " + std::string(action) + ": " + reason};
}

Error other_plan(const fs::path& file) {
  return {Code::kUsage, file.string() +
                            ": belongs to a model of another checkpoint or of other options; "
                            "choose a new folder, or remove this one first"};
}

// Whether the file at `path` is there, whole, and of this plan. `File` is ScoutFile or VaultFile.
template <class File>
Result<bool> is_finished(const fs::path& path, uint64_t fingerprint, FolderState& state) {
  const auto file = File::open(path);
  if (file) {
    if (file->info().fingerprint != fingerprint) return other_plan(path);
    return true;
  }
  if (file.error().code == Code::kNotFound) return false;
  if (file.error().code == Code::kUnsupported)
    return Error{Code::kUnsupported,
                 file.error().message + "; choose a new folder, or remove this one first"};
  if (file.error().code != Code::kCorrupt) return file.error();
  state.notes.push_back(file.error().message + "; written again");
  return false;
}

Result<std::vector<std::string>> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed))
    names.push_back(entry->path().filename().string());
  if (failed && failed != std::errc::no_such_file_or_directory)
    return io_error(folder, "list", failed.message());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_or_is_partial(std::string_view name, std::string_view file) {
  const std::string_view suffix = kPartialSuffix;
  return name == file ||
         (name.ends_with(suffix) && name.substr(0, name.size() - suffix.size()) == file);
}

// A name that no shatter of this plan would have left; empty when there is none. A shatter makes
// the vault first, so that companions without one are somebody else's.
Result<std::string> foreign_name(const fs::path& folder, const ShatterPlan& plan) {
  SMOE_TRY(const std::vector<std::string> names, names_in(folder));
  const bool has_vault = std::find(names.begin(), names.end(), kVaultFolderName) != names.end();
  for (const std::string& name : names) {
    const bool companion =
        std::any_of(kCompanionNames.begin(), kCompanionNames.end(),
                    [&](std::string_view known) { return is_or_is_partial(name, known); });
    const bool harmless = name.starts_with('.') || name == "lost+found";
    if (!harmless && name != kVaultFolderName && !is_or_is_partial(name, kScoutFileName) &&
        !(companion && has_vault))
      return name;
  }
  SMOE_TRY(const std::vector<std::string> vault_names, names_in(folder / kVaultFolderName));
  for (const std::string& name : vault_names) {
    const auto ours = [&](const VaultInfo& vault) {
      return is_or_is_partial(name, vault_file_name(vault.layer));
    };
    if (std::none_of(plan.vaults.begin(), plan.vaults.end(), ours))
      return std::string(kVaultFolderName) + "/" + name;
  }
  return std::string();
}

}  // namespace

uint32_t FolderState::finished_files() const {
  return static_cast<uint32_t>(std::count(vaults.begin(), vaults.end(), true)) + (scout ? 1 : 0);
}

bool FolderState::complete() const {
  return scout && std::find(vaults.begin(), vaults.end(), false) == vaults.end();
}

Result<FolderState> examine_folder(const fs::path& folder, const ShatterPlan& plan) {
  FolderState state;
  state.vaults.resize(plan.vaults.size());
  std::error_code ignored;
  const fs::file_status status = fs::status(folder, ignored);
  if (!fs::exists(status)) return state;
  if (!fs::is_directory(status))
    return Error{Code::kUsage, folder.string() + ": is no folder; choose another name"};
  SMOE_TRY(state.scout, is_finished<ScoutFile>(folder / kScoutFileName, plan.fingerprint, state));
  for (size_t i = 0; i < plan.vaults.size(); ++i) {
    const fs::path path = folder / kVaultFolderName / vault_file_name(plan.vaults[i].layer);
    SMOE_TRY(state.vaults[i], is_finished<VaultFile>(path, plan.fingerprint, state));
  }
  if (state.finished_files() > 0) return state;
  SMOE_TRY(const std::string foreign, foreign_name(folder, plan));
  if (foreign.empty()) return state;
  return Error{Code::kUsage, folder.string() +
                                 ": is not empty and no model of this checkpoint (it holds " +
                                 foreign + "); choose a new folder"};
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<FolderLock> FolderLock::take(const fs::path& folder) {
  FolderLock lock;
  lock.descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock.descriptor_ < 0) return io_error(folder, "open", std::strerror(errno));
  // A file system without locks is no reason to stop.
  if (::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Error{Code::kUsage, folder.string() + ": another shatter is writing to this folder"};
  return lock;
}

Status create_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder / kVaultFolderName, failed);
  if (failed) return io_error(folder, "create", failed.message());
  SMOE_DO(sync_directory(folder));
  const fs::path parent = fs::absolute(folder, failed).lexically_normal().parent_path();
  // A folder given as "name/" is its own parent to the library.
  return sync_directory(folder.filename().empty() ? parent.parent_path() : parent);
}

Status remove_partial_files(const fs::path& folder) {
  for (const fs::path& part : {folder, folder / kVaultFolderName}) {
    SMOE_TRY(const std::vector<std::string> names, names_in(part));
    for (const std::string& name : names) {
      if (!name.ends_with(kPartialSuffix)) continue;
      std::error_code failed;
      fs::remove(part / name, failed);
      if (failed) return io_error(part / name, "remove", failed.message());
    }
  }
  return {};
}

}  // namespace smoe
