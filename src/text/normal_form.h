// The normal forms of Unicode, as the reference library's Unicode version has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/sourced_text.h"

namespace smoe {

enum class NormalForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// Needs valid UTF-8. Cost: linear, also for text made of combining marks.
SourcedText to_normal_form(const SourcedText& text, NormalForm form);

std::string to_nfc(std::string_view text);

}  // namespace smoe
