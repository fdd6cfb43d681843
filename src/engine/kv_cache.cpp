#include "engine/kv_cache.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/units.h"

namespace smoe {
namespace {

uint32_t pages_for(uint32_t positions) { return ceil_div(positions, kPagePositions); }

KvPages shape_of(const LayerSpec& layer) {
  return {{}, layer.attention.kv_heads, layer.attention.head_dim};
}

// A layer's region starts on a page of memory, so that a device may bind it by itself.
uint64_t region_bytes(const LayerSpec& layer, uint64_t pages) {
  return align_up(pages * shape_of(layer).page_floats() * sizeof(float), uint64_t{kPageBytes});
}

}  // namespace

uint64_t KvCache::bytes_for(const ModelSpec& spec, Size size) {
  const uint64_t pages = uint64_t{pages_for(size.context)} * size.sequences;
  uint64_t bytes = 0;
  for (const LayerSpec& layer : spec.layers) bytes += region_bytes(layer, pages);
  return bytes;
}

Result<KvCache> KvCache::open(const ModelSpec& spec, Size size, Device& device) {
  KvCache cache;
  cache.size_ = size;
  cache.pages_per_sequence_ = pages_for(size.context);
  const uint32_t pages = cache.pages_per_sequence_ * size.sequences;
  SMOE_TRY(cache.buffer_, device.allocate(bytes_for(spec, size)));

  size_t offset = 0;
  for (const LayerSpec& layer : spec.layers) {
    cache.layers_.push_back(shape_of(layer));
    cache.layers_.back().view.offset = offset;
    offset += region_bytes(layer, pages);
  }
  cache.table_.assign(pages, 0);
  cache.used_.assign(size.sequences, 0);
  cache.open_.assign(size.sequences, false);
  for (uint32_t page = pages; page > 0; --page) cache.free_pages_.push_back(page - 1);
  return cache;
}

Result<SequenceId> KvCache::open_sequence() {
  for (uint32_t i = 0; i < size_.sequences; ++i) {
    if (open_[i]) continue;
    open_[i] = true;
    return SequenceId{i};
  }
  return Error{Code::kUsage,
               fmt::format("all {} sequences of the KV cache are open", size_.sequences)};
}

void KvCache::close_sequence(SequenceId sequence) {
  shrink(sequence, 0);
  open_[static_cast<size_t>(sequence)] = false;
}

Status KvCache::extend(SequenceId sequence, uint32_t positions) {
  if (positions > size_.context)
    return Error{
        Code::kContextFull,
        fmt::format("{} tokens do not fit into the context of {}; a larger --ctx makes room",
                    positions, size_.context)};
  const auto index = static_cast<size_t>(sequence);
  for (uint32_t& used = used_[index]; used < pages_for(positions); ++used) {
    SMOE_CHECK(!free_pages_.empty());  // every sequence's full share was allocated
    table_[index * pages_per_sequence_ + used] = free_pages_.back();
    free_pages_.pop_back();
  }
  return {};
}

void KvCache::shrink(SequenceId sequence, uint32_t positions) {
  const auto index = static_cast<size_t>(sequence);
  for (uint32_t& used = used_[index]; used > pages_for(positions); --used)
    free_pages_.push_back(table_[index * pages_per_sequence_ + used - 1]);
}

TokenPlace KvCache::place(SequenceId sequence, uint32_t position) const {
  return {position, static_cast<uint32_t>(sequence) * pages_per_sequence_};
}

}  // namespace smoe
