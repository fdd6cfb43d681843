// What scout and vault files share: a safetensors header on a 16 KiB boundary that says what the
// file is, in which version, of which model, and carries its own checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "formats/safetensors.h"

namespace smoe {

inline constexpr size_t kChecksumDigits = 16;

using Metadata = std::map<std::string, std::string>;

// A header that was read and whose kind, version and checksum are right.
struct FolderHeader {
  SafetensorsHeader safetensors;
  uint64_t fingerprint = 0;
  uint64_t data_bytes = 0;

  // Fails: kCorrupt when there is no such key, or its text is longer than max_bytes.
  Result<std::string_view> text(std::string_view key, size_t max_bytes) const;
  Result<uint32_t> number(std::string_view key, uint32_t most) const;
};

// `kind` is "scout" or "vault". Fails: kNotFound, kIo, kCorrupt, kUnsupported, naming the file.
Result<FolderHeader> open_folder_file(const std::filesystem::path& path, std::string_view kind);

// Lays out a file of `kind` and completes its metadata: kind, version, fingerprint, checksum.
// Fails: as lay_out_safetensors.
Result<SafetensorsLayout> lay_out_folder_file(std::string_view kind, uint64_t fingerprint,
                                              std::vector<TensorInfo> tensors, Metadata metadata);

// The checksum of a header with the 16 digits of its own field blanked. Nothing when the field is
// not there.
std::optional<std::string> header_checksum(std::string_view header_bytes);

// A checksum in a list of them, 16 digits each; the list's length was checked.
Result<uint64_t> listed_checksum(std::string_view list, size_t index);

}  // namespace smoe
