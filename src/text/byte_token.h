// Tokens that stand for one byte: "<0x0A>".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smoe {

// The byte of a token as decoders read it: six bytes, of which two are hexadecimal digits of either
// case (the first may be a plus sign, as in the reference).
std::optional<uint8_t> byte_of_token(std::string_view token);
// The token of a byte as models spell it.
std::string byte_token(uint8_t byte);

}  // namespace smoe
