// The paged KV cache: one pool of pages, shared by all sequences and all batch shapes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "compute/tensor.h"
#include "model/spec.h"

namespace smoe {

enum class SequenceId : uint32_t {};

class KvCache {
 public:
  struct Size {
    uint32_t context = 0;    // positions of one sequence
    uint32_t sequences = 1;  // that may be open at once
  };
  static uint64_t bytes_for(const ModelSpec& spec, Size size);

  // Fails: kNoMemory.
  static Result<KvCache> open(const ModelSpec& spec, Size size, Device& device);

  // Fails: kUsage when all sequences are open.
  Result<SequenceId> open_sequence();
  void close_sequence(SequenceId sequence);

  // Makes pages for positions [0, positions). Fails: kContextFull naming both numbers.
  // Cost: no allocation.
  Status extend(SequenceId sequence, uint32_t positions);
  // Gives back the pages beyond `positions`.
  void shrink(SequenceId sequence, uint32_t positions);

  // For the batch: where a token stands, and the table that TokenPlace::page_begin indexes.
  TokenPlace place(SequenceId sequence, uint32_t position) const;
  std::span<const uint32_t> page_table() const { return table_; }
  KvPages layer(uint32_t index) const {
    KvPages pages = layers_[index];
    pages.view.buffer = &buffer_;  // set here, so that the cache can be moved
    return pages;
  }
  uint32_t context() const { return size_.context; }

 private:
  Size size_;
  uint32_t pages_per_sequence_ = 0;
  Buffer buffer_;
  std::vector<KvPages> layers_;
  std::vector<uint32_t> table_;  // [sequence][page index] -> page
  std::vector<uint32_t> used_;   // pages of each sequence
  std::vector<bool> open_;
  std::vector<uint32_t> free_pages_;  // a stack
};

}  // namespace smoe
