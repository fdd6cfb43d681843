// The folder that a shatter writes to: what it holds already, and whether it may be written to.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shatter/plan.h"

namespace smoe {

inline constexpr const char* kScoutFileName = "scout.safetensors";
inline constexpr const char* kVaultFolderName = "vault";

// What a model folder keeps of its checkpoint besides tensors, those that it has.
inline constexpr std::array<std::string_view, 6> kCompanionNames = {
    "config.json",         "tokenizer.json",         "tokenizer_config.json",
    "chat_template.jinja", "generation_config.json", "special_tokens_map.json"};

// Which of a plan's files are there, whole and of this very plan.
struct FolderState {
  std::vector<bool> vaults;
  bool scout = false;
  std::vector<std::string> notes;

  uint32_t finished_files() const;
  bool complete() const;
};

// Reads headers only and changes nothing. A folder that does not exist holds nothing.
// Fails: kUsage when the folder holds another plan's files or things that are no model's;
// kUnsupported for files of another version.
Result<FolderState> examine_folder(const std::filesystem::path& folder, const ShatterPlan& plan);

// Keeps a second shatter out of a folder while it lives, in this process or another one.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

  // Fails: kUsage when another one holds it; kIo.
  static Result<FolderLock> take(const std::filesystem::path& folder);
  bool held() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// Creates the folder and its vault where missing, and makes both survive power loss.
Status create_folder(const std::filesystem::path& folder);

// Removes what an interrupted run left under temporary names.
Status remove_partial_files(const std::filesystem::path& folder);

}  // namespace smoe
