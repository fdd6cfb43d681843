// Writes vault files from expert tensors in any order, with a few records in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "formats/tiles.h"
#include "formats/vault_file.h"
#include "model/inventory.h"
#include "shatter/partial_file.h"

namespace smoe {

// All vault files of a run. A record collects its three tensors in a buffer and is written once;
// where tensors arrive in such an order that more records are begun than there are buffers, the
// oldest is written as it is and read back when its next tensor arrives.
class VaultWriter {
 public:
  // Nothing is created before a layer's first tensor.
  VaultWriter(const std::vector<VaultInfo>& vaults, std::filesystem::path folder, ThreadPool& pool);

  // `role` is one of the three expert roles. A layer whose last tensor this is gets its final name.
  // Fails: kIo, kNoSpace, kNumeric.
  Status add(size_t vault, uint32_t expert, Role role, const RowMajor& source);

 private:
  struct Layer {
    VaultInfo info;
    PartialFile file;
    std::vector<uint8_t> arrived;  // by expert: one bit a role
    uint32_t finished_experts = 0;
  };
  struct Buffer {
    AlignedBuffer memory;
    size_t vault = 0;
    uint32_t expert = 0;
    bool used = false;
    uint64_t since = 0;  // order in which buffers were taken
  };

  Result<Buffer*> buffer_for(size_t vault, uint32_t expert);
  Result<Buffer*> free_buffer();
  Status write_record(Buffer& buffer);
  Status finish_record(Buffer& buffer);
  Status finish_layer(Layer& layer);
  std::span<std::byte> record_in(const Buffer& buffer) const;

  std::filesystem::path folder_;
  ThreadPool& pool_;
  std::vector<Layer> layers_;
  std::vector<Buffer> buffers_;
  uint64_t largest_record_bytes_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace smoe
