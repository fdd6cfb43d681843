// Tokens as strings: id to string and string to id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/token.h"
#include "text/packed_array.h"

namespace smoe {

// Cost: a hash lookup either way; all strings lie in one block of memory.
class Vocabulary {
 public:
  void reserve(size_t tokens, size_t bytes);
  // All at once: the strings lie in `texts` one after another, `ends` says where, `ids` are
  // ascending (both are as in a file that has been checked). Nothing when a string is there twice.
  static std::optional<Vocabulary> make(PackedArray<uint32_t> ids, PackedArray<uint32_t> ends,
                                        std::string_view texts);
  // False when the string has another id or the id another string.
  [[nodiscard]] bool add(std::string_view text, TokenId id);

  std::optional<TokenId> find(std::string_view text) const;
  // "" where there is none.
  std::string_view text_of(TokenId id) const;
  bool holds(TokenId id) const;

  size_t size() const { return entries_.size(); }  // largest id + 1
  size_t tokens() const { return tokens_; }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  struct Entry {
    uint32_t begin = kEmpty;
    uint32_t bytes = 0;
  };
  size_t slot_of(std::string_view text) const;
  void grow(size_t slots);

  std::string texts_;
  std::vector<Entry> entries_;   // by id
  std::vector<uint32_t> slots_;  // open addressing over ids, a power of two
  size_t tokens_ = 0;
};

}  // namespace smoe
