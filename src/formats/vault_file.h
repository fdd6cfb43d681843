// One layer of the vault: vault/layer-NNNNN.safetensors, one U8 tensor "expert.N" a record. Or a
// layer that was never written: then its records are made of another file's rows as they are read.
// docs/model-folder.md has the metadata keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "formats/record.h"
#include "formats/row_pieces.h"

namespace smoe {

inline constexpr uint32_t kFolderVersion = 1;  // of scout and vault files alike

// "layer-00003.safetensors"
std::string vault_file_name(uint32_t layer);

struct VaultInfo {
  uint32_t layer = 0;
  uint32_t experts = 0;
  RecordLayout record;
  uint64_t data_begin = 0;          // record e starts at data_begin + e * record.record_bytes
  std::vector<uint64_t> checksums;  // XXH3-64 of each record, padding included
  uint64_t fingerprint = 0;         // of the plan; equal in the scout and every vault file

  uint64_t offset_of(uint32_t expert) const { return data_begin + expert * record.record_bytes; }
};

class VaultFile {
 public:
  // Reads and checks header, its checksum, sizes and version; no record.
  // Fails: kNotFound, kIo, kCorrupt, kUnsupported, naming the file and the fact.
  static Result<VaultFile> open(const std::filesystem::path& path);
  // A layer whose records lie elsewhere: three slices for each expert. There are no checksums.
  static VaultFile over(VaultInfo info, RowStore rows);

  // Where the records lie, unless they lie in this file as they are used.
  const RowStore& rows() const { return rows_; }
  const VaultInfo& info() const { return info_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  VaultInfo info_;
  std::filesystem::path path_;
  RowStore rows_;
};

// The bytes that open a vault file (length prefix, header, padding), made once all checksums are
// known. Their length does not depend on the checksums' values, so records can be written first.
Result<std::string> vault_header(const VaultInfo& info);

}  // namespace smoe
