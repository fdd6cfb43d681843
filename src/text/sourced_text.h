// Text on its way to tokens that remembers, when asked, where each of its bytes came from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smoe {

struct SourcedText {
  std::string text;
  // For each byte of `text` the byte of the original that it stands for, ascending; empty when
  // nobody asked. What stands for several bytes together names the first of them.
  std::vector<uint32_t> sources = {};
  bool tracked = false;
  uint32_t source_limit = 0;  // where what it stands for ends in the original
  size_t first_bytes = 0;     // so many bytes stand for the first character of the original

  // `bytes` in place of byte `at` of another text.
  void append(std::string_view bytes, const SourcedText& from, size_t at) {
    if (at < from.first_bytes && first_bytes == text.size()) first_bytes += bytes.size();
    text.append(bytes);
    if (tracked) sources.insert(sources.end(), bytes.size(), from.source(at));
  }
  // Bytes [begin, end) of another text as they are.
  void append(const SourcedText& from, size_t begin, size_t end) {
    if (begin < from.first_bytes && first_bytes == text.size())
      first_bytes += std::min(end, from.first_bytes) - begin;
    text.append(from.text, begin, end - begin);
    if (tracked)
      sources.insert(sources.end(), from.sources.begin() + static_cast<std::ptrdiff_t>(begin),
                     from.sources.begin() + static_cast<std::ptrdiff_t>(end));
  }
  // What byte `at` stands for; 0 when that is not tracked. Behind the end, the last byte.
  uint32_t source(size_t at) const {
    if (sources.empty()) return 0;
    return at < sources.size() ? sources[at] : sources.back();
  }
  // The end of what the bytes before `at` stand for, at > 0.
  uint32_t source_end(size_t at) const {
    size_t next = at;
    while (next < sources.size() && sources[next] == sources[at - 1]) ++next;
    return next < sources.size() ? sources[next] : source_limit;
  }
  // Bytes [begin, end) as a text of their own.
  SourcedText slice(size_t begin, size_t end) const {
    SourcedText part = empty_like();
    part.append(*this, begin, end);
    if (tracked && end > begin) part.source_limit = source_end(end);
    return part;
  }
  // An empty text that is tracked like this one.
  SourcedText empty_like() const {
    return {.text = {}, .tracked = tracked, .source_limit = source_limit};
  }
};

}  // namespace smoe
