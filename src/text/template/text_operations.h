// Operations of Python's str that methods and filters share. All of them keep origins.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template/marked_text.h"
#include "text/template/run.h"
#include "text/template/value.h"

namespace smoe::jinja {

enum class Side : uint8_t { kBoth, kLeft, kRight };

// `characters` of nullptr stands for white space.
MarkedText strip(const MarkedText& text, const MarkedText* characters, Side side);
// At most `count` times, all when negative.
Result<MarkedText> replace(Run& run, const MarkedText& text, const MarkedText& from,
                           const MarkedText& to, int64_t count);
// `separator` of nullptr splits at runs of white space. At most `most` cuts, any when negative.
Result<Values> split(Run& run, const MarkedText& text, const MarkedText* separator, int64_t most);
Result<Values> split_from_right(Run& run, const MarkedText& text, const MarkedText* separator,
                                int64_t most);
Values split_lines(const MarkedText& text, bool keep_ends);
Result<MarkedText> join(Run& run, const MarkedText& separator,
                        const std::vector<MarkedText>& parts);

}  // namespace smoe::jinja
