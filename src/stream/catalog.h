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
  // `mirror`: the same files again, elsewhere; or none. Then also kUsage for layers that it lacks
  // or that are read as rows, kCorrupt for files that are not the same.
  static Result<Catalog> of(std::span<const VaultFile> layers,
                            std::span<const VaultFile> mirror = {});

  uint32_t records() const { return static_cast<uint32_t>(keys_.size()); }
  std::span<const RecordClass> classes() const { return classes_; }

  // The number of a record. A key that the vault does not have is our own mistake. Cost: O(1).
  uint32_t find(ExpertKey key) const;

  ExpertKey key(uint32_t record) const { return keys_[record]; }
  uint32_t size_class(uint32_t record) const { return layer_file(record).size_class; }

  // Whether a record lies in one piece as it is used; then where. Files are numbers in paths().
  bool is_stored(uint32_t record) const { return layer_file(record).rows.empty(); }
  uint32_t file(uint32_t record) const { return layer_file(record).file; }
  uint64_t offset(uint32_t record) const;
  uint64_t checksum(uint32_t record) const;
  // The other copy of a file that file() names, and whether there is one.
  bool has_mirror() const { return mirrored_files_ > 0; }
  uint32_t mirror_of(uint32_t file) const { return file + mirrored_files_; }
  // Half of the records, where the mirror is on another drive: both are read at once.
  bool prefers_mirror(uint32_t record) const { return mirror_apart_ && record % 2 != 0; }
  // Drives that the records lie on.
  unsigned drives() const;
  // Otherwise what it is made of.
  const RecordLayout& layout(uint32_t record) const { return layer_file(record).info.record; }
  std::span<const RowSlice> slices(uint32_t record) const;
  // No read of a piece needs more room than this; 0 when all records are stored.
  uint64_t largest_read_bytes() const { return largest_read_bytes_; }

  // "vault/layer-00003.safetensors: layer 3, expert 7", for a read of that file.
  std::string name(uint32_t record, uint32_t file) const;
  std::string name(uint32_t record) const { return name(record, first_file(record)); }
  std::span<const std::filesystem::path> paths() const { return paths_; }

 private:
  struct LayerFile {
    VaultInfo info;
    RowStore rows;  // its files are numbers in paths_
    uint32_t file = 0;
    uint32_t size_class = 0;
  };
  struct Layer {
    uint32_t first_record = 0;
    uint32_t experts = 0;  // 0: the vault has no such layer
    uint32_t file = 0;
  };

  const LayerFile& layer_file(uint32_t record) const {
    return files_[layer_of_[static_cast<size_t>(keys_[record].layer)].file];
  }
  uint32_t first_file(uint32_t record) const;
  uint32_t number_of(const std::filesystem::path& path);

  Status add_mirror(std::span<const VaultFile> mirror);

  std::vector<std::filesystem::path> paths_;  // those of the mirror last
  uint32_t mirrored_files_ = 0;               // 0: no mirror
  bool mirror_apart_ = false;
  std::vector<LayerFile> files_;
  std::vector<Layer> layer_of_;  // by LayerId
  std::vector<ExpertKey> keys_;  // by record number
  std::vector<RecordClass> classes_;
  uint64_t largest_read_bytes_ = 0;
};

}  // namespace smoe
