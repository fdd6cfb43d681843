// The records of a vault, numbered: a flat table that turns (layer, expert) into everything about a
// record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/vault_file.h"
#include "stream/expert_key.h"
#include "stream/streamer.h"

namespace smoe {

class Catalog {
 public:
  // Fails: kUsage (no layer, a layer twice), kCorrupt (a record size that no direct read can
  // serve).
  static Result<Catalog> of(std::span<const VaultFile> layers);

  uint32_t records() const { return static_cast<uint32_t>(keys_.size()); }
  std::span<const RecordClass> classes() const { return classes_; }

  // The number of a record. A key that the vault does not have is our own mistake. Cost: O(1).
  uint32_t find(ExpertKey key) const;

  ExpertKey key(uint32_t record) const { return keys_[record]; }
  uint32_t file(uint32_t record) const {
    return layer_of_[static_cast<size_t>(keys_[record].layer)].file;
  }
  uint32_t size_class(uint32_t record) const { return files_[file(record)].size_class; }
  uint64_t offset(uint32_t record) const;
  uint64_t checksum(uint32_t record) const;
  // "vault/layer-00003.safetensors: layer 3, expert 7"
  std::string name(uint32_t record) const;
  std::vector<std::filesystem::path> paths() const;

 private:
  struct LayerFile {
    std::filesystem::path path;
    VaultInfo info;
    uint32_t size_class = 0;
  };
  struct Layer {
    uint32_t first_record = 0;
    uint32_t experts = 0;  // 0: the vault has no such layer
    uint32_t file = 0;
  };

  std::vector<LayerFile> files_;
  std::vector<Layer> layer_of_;  // by LayerId
  std::vector<ExpertKey> keys_;  // by record number
  std::vector<RecordClass> classes_;
};

}  // namespace smoe
