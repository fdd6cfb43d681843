#include "text/vocabulary.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/checksum.h"

namespace smoe {

void Vocabulary::reserve(size_t tokens, size_t bytes) {
  texts_.reserve(bytes);
  entries_.reserve(tokens);
  grow(std::bit_ceil(tokens * 2 + 16));
}

// Where the string is, or the empty slot where it would be.
size_t Vocabulary::slot_of(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = xxh3_64(text) & mask;
  while (slots_[slot] != kEmpty && text_of(TokenId{slots_[slot]}) != text) slot = (slot + 1) & mask;
  return slot;
}

void Vocabulary::grow(size_t slots) {
  if (slots <= slots_.size()) return;
  const std::vector<uint32_t> old = std::exchange(slots_, std::vector<uint32_t>(slots, kEmpty));
  for (const uint32_t id : old)
    if (id != kEmpty) slots_[slot_of(text_of(TokenId{id}))] = id;
}

std::optional<Vocabulary> Vocabulary::make(PackedArray<uint32_t> ids, PackedArray<uint32_t> ends,
                                           std::string_view texts) {
  Vocabulary vocabulary;
  vocabulary.texts_ = texts;
  vocabulary.entries_.resize(ids.empty() ? 0 : ids[ids.size() - 1] + 1);
  vocabulary.grow(std::bit_ceil(ids.size() * 2 + 16));
  uint32_t begin = 0;
  for (size_t index = 0; index < ids.size(); begin = ends[index++]) {
    vocabulary.entries_[ids[index]] = {begin, ends[index] - begin};
    const size_t slot = vocabulary.slot_of(vocabulary.text_of(TokenId{ids[index]}));
    if (vocabulary.slots_[slot] != kEmpty) return std::nullopt;
    vocabulary.slots_[slot] = ids[index];
  }
  vocabulary.tokens_ = ids.size();
  return vocabulary;
}

bool Vocabulary::add(std::string_view text, TokenId id) {
  if (slots_.size() < (tokens_ + 1) * 2) grow(std::bit_ceil((tokens_ + 8) * 4));
  const size_t slot = slot_of(text);
  const auto number = static_cast<uint32_t>(id);
  if (slots_[slot] != kEmpty) return slots_[slot] == number;
  if (holds(id) || texts_.size() + text.size() >= kEmpty) return false;
  if (entries_.size() <= index_of(id)) entries_.resize(index_of(id) + 1);
  entries_[index_of(id)] = {static_cast<uint32_t>(texts_.size()),
                            static_cast<uint32_t>(text.size())};
  texts_.append(text);
  slots_[slot] = number;
  ++tokens_;
  return true;
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const uint32_t id = slots_[slot_of(text)];
  if (id == kEmpty) return std::nullopt;
  return TokenId{id};
}

bool Vocabulary::holds(TokenId id) const {
  return index_of(id) < entries_.size() && entries_[index_of(id)].begin != kEmpty;
}

std::string_view Vocabulary::text_of(TokenId id) const {
  if (!holds(id)) return {};
  const Entry& entry = entries_[index_of(id)];
  return std::string_view(texts_).substr(entry.begin, entry.bytes);
}

}  // namespace smoe
