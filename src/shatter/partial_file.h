// A file under construction: it has its final name only once every byte of it is on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/file.h"
#include "base/result.h"

namespace smoe {

inline constexpr const char* kPartialSuffix = ".partial";

class PartialFile {
 public:
  PartialFile() = default;
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&& other) noexcept;
  // Removes what was not committed.
  ~PartialFile();

  // Creates path + ".partial"; an older one is overwritten.
  static Result<PartialFile> create(const std::filesystem::path& path);

  bool is_open() const { return open_; }
  Status write_at(uint64_t offset, std::span<const std::byte> data);
  Status read_at(uint64_t offset, std::span<std::byte> out) const;
  // Syncs, closes, renames to the final name and syncs the folder.
  Status commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  File file_;
  bool open_ = false;
};

}  // namespace smoe
