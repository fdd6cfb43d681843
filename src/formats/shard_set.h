// Which safetensors files make up a Hugging Face folder, checked against its index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "formats/safetensors.h"

namespace smoe {

struct Shard {
  std::filesystem::path path;
  SafetensorsHeader header;
  uint64_t file_bytes = 0;
  uint64_t header_checksum = 0;
};

// In the order of their names. Fails: as open_checkpoint.
Result<std::vector<Shard>> find_shards(const std::filesystem::path& folder);

// Fails with kCorrupt when the open file is no longer as long as when it was examined.
Status check_unchanged(const Shard& shard, const File& file);

}  // namespace smoe
