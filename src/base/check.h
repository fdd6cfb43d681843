// Our own promises. SMOE_CHECK stays on in release builds; SMOE_DCHECK is for inner loops.
#pragma once

namespace smoe {

// Prints the broken promise to stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace smoe

#define SMOE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::smoe::check_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define SMOE_DCHECK(condition) static_cast<void>(0)
#else
#define SMOE_DCHECK(condition) SMOE_CHECK(condition)
#endif
