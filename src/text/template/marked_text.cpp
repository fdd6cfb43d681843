#include "text/template/marked_text.h"

#include <algorithm>

namespace smoe {
namespace {

Origin flipped(Origin origin, size_t times) {
  if (times % 2 == 0) return origin;
  return origin == Origin::kTemplate ? Origin::kVariable : Origin::kTemplate;
}

}  // namespace

Origin MarkedText::origin_at(size_t offset) const {
  if (flips_.empty()) return first_;
  const auto after = std::upper_bound(flips_.begin(), flips_.end(), offset);
  return flipped(first_, static_cast<size_t>(after - flips_.begin()));
}

size_t MarkedText::run_end(size_t offset) const {
  if (flips_.empty()) return size();
  const auto after = std::upper_bound(flips_.begin(), flips_.end(), offset);
  return after == flips_.end() ? size() : *after;
}

Origin MarkedText::weakest_origin() const {
  return flips_.empty() && (bytes_.empty() || first_ == Origin::kTemplate) ? Origin::kTemplate
                                                                           : Origin::kVariable;
}

Origin MarkedText::last_origin() const { return flipped(first_, flips_.size()); }

MarkedText MarkedText::slice(size_t begin, size_t end) const {
  MarkedText result;
  result.append(*this, begin, end);
  return result;
}

void MarkedText::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    first_ = origin;
    flips_.clear();
  } else if (last_origin() != origin) {
    flips_.push_back(bytes_.size());
  }
  bytes_ += bytes;
}

void MarkedText::append(const MarkedText& text, size_t begin, size_t end) {
  while (begin < end) {
    const size_t run = std::min(end, text.run_end(begin));
    append(text.bytes().substr(begin, run - begin), text.origin_at(begin));
    begin = run;
  }
}

}  // namespace smoe
