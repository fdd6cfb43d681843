// The paged KV cache: one pool of pages, shared by all sequences, all batch shapes and the prefixes
// that are kept for later (engine/prefix_tree.h).
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
    uint64_t positions = 0;  // of the pool, at least `context`; 0: context * sequences
    KvType type = KvType::kF32;
  };
  static uint64_t bytes_for(const ModelSpec& spec, Size size);

  // Fails: kNoMemory; kUnsupported, naming the device, when it does not keep such pages.
  static Result<KvCache> open(const ModelSpec& spec, Size size, Device& device);

  // Fails: kUsage when all sequences are open.
  Result<SequenceId> open_sequence();
  void close_sequence(SequenceId sequence);

  // Makes pages for positions [0, positions). There are so many free ones: always, unless the pool
  // is smaller than all sequences or pages are held otherwise. Fails: kContextFull naming both
  // numbers. Cost: no allocation.
  Status extend(SequenceId sequence, uint32_t positions);
  // Gives back the pages beyond `positions`.
  void shrink(SequenceId sequence, uint32_t positions);
  // Free pages that extend() would take.
  uint32_t missing_pages(SequenceId sequence, uint32_t positions) const;

  // Pages with more than one holder. A sequence writes only at positions that it extended itself:
  // what it shares is full, or a copy.
  uint32_t pages() const { return static_cast<uint32_t>(references_.size()); }
  uint32_t free_pages() const { return static_cast<uint32_t>(free_pages_.size()); }
  uint32_t page(SequenceId sequence, uint32_t index) const;
  uint32_t holders(uint32_t page) const { return references_[page]; }
  void hold(uint32_t page) { ++references_[page]; }
  void release(uint32_t page);
  // Makes `page` the sequence's next one. Cost: no copy.
  void share(SequenceId sequence, uint32_t page);
  // Makes a copy of `page` the sequence's next one. One page is free.
  void share_copy(SequenceId sequence, uint32_t page);

  // A page's bytes, layer by layer, as the device keeps them. Fails: as Device::read.
  size_t page_bytes() const;
  Status read_page(uint32_t page, std::span<std::byte> out);
  void write_page(uint32_t page, std::span<const std::byte> values);

  // For the batch: where a token stands, and the table that TokenPlace::page_begin indexes.
  TokenPlace place(SequenceId sequence, uint32_t position) const;
  std::span<const uint32_t> page_table() const { return table_; }
  KvPages layer(uint32_t index) const {
    KvPages pages = layers_[index];
    pages.view.buffer = &buffer_;  // set here, so that the cache can be moved
    return pages;
  }
  KvType type() const { return size_.type; }
  uint32_t context() const { return size_.context; }
  uint32_t sequences() const { return size_.sequences; }

 private:
  uint32_t take_page();
  Rows page_rows(uint32_t layer, uint32_t page) const;
  void append(SequenceId sequence, uint32_t page);

  Size size_;
  uint32_t pages_per_sequence_ = 0;
  Buffer buffer_;
  std::vector<KvPages> layers_;
  std::vector<uint32_t> table_;  // [sequence][page index] -> page
  std::vector<uint32_t> used_;   // pages of each sequence
  std::vector<bool> open_;
  std::vector<uint32_t> free_pages_;  // a stack
  std::vector<uint32_t> references_;  // of each page; 0 when it is free
  std::vector<float> copied_;         // one layer's page
  Device* device_ = nullptr;
};

}  // namespace smoe
