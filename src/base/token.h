// One entry of a vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smoe {

enum class TokenId : uint32_t {};

constexpr size_t index_of(TokenId token) { return static_cast<size_t>(token); }

}  // namespace smoe
