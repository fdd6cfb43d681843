// Loops that are written out at compile time.
//
// For sources compiled for one instruction set: without a name outside their file, see avx2/avx2.h.
#pragma once

#include <type_traits>
#include <utility>

namespace smoe::cpu {
namespace {

template <class Body, int... kIndex>
[[gnu::always_inline]] inline void unroll(Body& body, std::integer_sequence<int, kIndex...>) {
  (body(std::integral_constant<int, kIndex>{}), ...);
}

// body(0), ... body(kCount - 1) with constants, so that arrays indexed by them become registers.
// The function around it is `flatten`: a body that is not inlined keeps every sum in memory.
template <int kCount, class Body>
[[gnu::always_inline]] inline void unrolled(Body body) {
  unroll(body, std::make_integer_sequence<int, kCount>{});
}

}  // namespace
}  // namespace smoe::cpu
