// Text that remembers, byte by byte, whether it comes from the template or from what the template
// was given. Only the template's own bytes may become special tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smoe {

enum class Origin : uint8_t {
  kTemplate,  // written by the model's author: the template, its special tokens
  kVariable,  // a message, a tool, a name: whatever a user or another program wrote
};

class MarkedText {
 public:
  MarkedText() = default;
  MarkedText(std::string bytes, Origin origin) : bytes_(std::move(bytes)), first_(origin) {}

  std::string_view bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  void reserve(size_t bytes) { bytes_.reserve(bytes); }

  // Needs offset < size().
  Origin origin_at(size_t offset) const;
  // The first offset after `offset` with another origin, or size().
  size_t run_end(size_t offset) const;
  // kVariable when any byte is.
  Origin weakest_origin() const;

  MarkedText slice(size_t begin, size_t end) const;
  void append(std::string_view bytes, Origin origin);
  void append(const MarkedText& text) { append(text, 0, text.size()); }
  void append(const MarkedText& text, size_t begin, size_t end);

  friend bool operator==(const MarkedText& a, const MarkedText& b) { return a.bytes_ == b.bytes_; }

 private:
  Origin last_origin() const;

  std::string bytes_;
  Origin first_ = Origin::kTemplate;
  // Ascending offsets at which the origin changes to the other one: a text of one origin, which
  // most are, needs no list.
  std::vector<size_t> flips_;
};

}  // namespace smoe
