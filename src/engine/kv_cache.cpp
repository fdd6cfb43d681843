#include "engine/kv_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/units.h"

namespace smoe {
namespace {

uint32_t pages_for(uint32_t positions) { return ceil_div(positions, kPagePositions); }

uint32_t pool_pages(const KvCache::Size& size) {
  const uint32_t all = pages_for(size.context) * size.sequences;
  if (size.positions == 0) return all;
  const uint64_t asked = ceil_div(size.positions, uint64_t{kPagePositions});
  return std::max(pages_for(size.context), static_cast<uint32_t>(asked));
}

KvPages shape_of(const LayerSpec& layer, KvType type) {
  return {{}, layer.attention.kv_heads, layer.attention.head_dim, type};
}

// A layer's region starts on a page of memory, so that a device may bind it by itself.
uint64_t region_bytes(const KvPages& layer, uint64_t pages) {
  return align_up(pages * layer.page_bytes(), uint64_t{kPageBytes});
}

// A page moves as rows of f32 do: every type's has whole vectors of them.
uint32_t row_floats(const KvPages& layer) {
  return static_cast<uint32_t>(layer.page_bytes() / sizeof(float));
}

}  // namespace

uint64_t KvCache::bytes_for(const ModelSpec& spec, Size size) {
  const uint64_t pages = pool_pages(size);
  uint64_t bytes = 0;
  for (const LayerSpec& layer : spec.layers)
    bytes += region_bytes(shape_of(layer, size.type), pages);
  return bytes;
}

Result<KvCache> KvCache::open(const ModelSpec& spec, Size size, Device& device) {
  for (const LayerSpec& layer : spec.layers) {
    if (!device.keeps(size.type, layer.attention.head_dim))
      return Error{Code::kUnsupported,
                   fmt::format("a KV cache of {} with heads of {} numbers: {} does not keep it; "
                               "--kv f32 works",
                               name_of(size.type), layer.attention.head_dim, device.name())};
  }
  KvCache cache;
  cache.size_ = size;
  cache.pages_per_sequence_ = pages_for(size.context);
  const uint32_t pages = pool_pages(size);
  cache.device_ = &device;
  SMOE_TRY(cache.buffer_, device.allocate(bytes_for(spec, size)));

  size_t offset = 0;
  for (const LayerSpec& layer : spec.layers) {
    cache.layers_.push_back(shape_of(layer, size.type));
    cache.layers_.back().view.offset = offset;
    offset += region_bytes(cache.layers_.back(), pages);
    cache.copied_.resize(std::max(cache.copied_.size(), size_t{row_floats(cache.layers_.back())}));
  }
  cache.table_.assign(size_t{cache.pages_per_sequence_} * size.sequences, 0);
  cache.references_.assign(pages, 0);
  cache.free_pages_.reserve(pages);
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
  while (used_[static_cast<size_t>(sequence)] < pages_for(positions)) append(sequence, take_page());
  return {};
}

void KvCache::shrink(SequenceId sequence, uint32_t positions) {
  const auto index = static_cast<size_t>(sequence);
  for (uint32_t& used = used_[index]; used > pages_for(positions); --used)
    release(table_[index * pages_per_sequence_ + used - 1]);
}

uint32_t KvCache::missing_pages(SequenceId sequence, uint32_t positions) const {
  const uint32_t used = used_[static_cast<size_t>(sequence)];
  return std::max(pages_for(positions), used) - used;
}

uint32_t KvCache::page(SequenceId sequence, uint32_t index) const {
  SMOE_CHECK(index < used_[static_cast<size_t>(sequence)]);
  return table_[static_cast<size_t>(sequence) * pages_per_sequence_ + index];
}

void KvCache::release(uint32_t page) {
  SMOE_CHECK(references_[page] > 0);
  if (--references_[page] == 0) free_pages_.push_back(page);
}

void KvCache::share(SequenceId sequence, uint32_t page) {
  hold(page);
  append(sequence, page);
}

// Through host memory: a page is small, and only the last one of a prefix is ever copied. A device
// that fails here fails the step that follows as well, which reports it.
void KvCache::share_copy(SequenceId sequence, uint32_t page) {
  const uint32_t copy = take_page();
  append(sequence, copy);
  for (uint32_t i = 0; i < layers_.size(); ++i) {
    const Rows from = page_rows(i, page);
    const auto values = std::span(copied_).first(from.width);
    static_cast<void>(device_->read(from, values));
    device_->write(page_rows(i, copy).view, std::as_bytes(values));
  }
}

Rows KvCache::page_rows(uint32_t layer, uint32_t page) const {
  const KvPages pages = this->layer(layer);
  const auto floats = row_floats(pages);
  return Rows{pages.view, this->pages(), floats, floats}.row(page);
}

size_t KvCache::page_bytes() const {
  size_t bytes = 0;
  for (const KvPages& layer : layers_) bytes += row_floats(layer) * sizeof(float);
  return bytes;
}

Status KvCache::read_page(uint32_t page, std::span<std::byte> out) {
  for (uint32_t i = 0; i < layers_.size(); ++i) {
    const Rows from = page_rows(i, page);
    const auto values = std::span(copied_).first(from.width);
    SMOE_DO(device_->read(from, values));
    std::ranges::copy(std::as_bytes(values), out.begin());
    out = out.subspan(values.size_bytes());
  }
  return {};
}

void KvCache::write_page(uint32_t page, std::span<const std::byte> values) {
  for (uint32_t i = 0; i < layers_.size(); ++i) {
    const Rows to = page_rows(i, page);
    const size_t bytes = to.width * sizeof(float);
    device_->write(to.view, values.first(bytes));
    values = values.subspan(bytes);
  }
}

uint32_t KvCache::take_page() {
  SMOE_CHECK(!free_pages_.empty());
  const uint32_t page = free_pages_.back();
  free_pages_.pop_back();
  references_[page] = 1;
  return page;
}

void KvCache::append(SequenceId sequence, uint32_t page) {
  const auto index = static_cast<size_t>(sequence);
  SMOE_CHECK(used_[index] < pages_per_sequence_);
  table_[index * pages_per_sequence_ + used_[index]++] = page;
}

TokenPlace KvCache::place(SequenceId sequence, uint32_t position) const {
  return {position, static_cast<uint32_t>(sequence) * pages_per_sequence_};
}

}  // namespace smoe
