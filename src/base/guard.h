// Turns the standard library's exceptions into errors, where work begins that may allocate or start
// threads. Nothing else in the project catches.
#pragma once

#include <new>
#include <string>
#include <system_error>

#include "base/result.h"
#include "base/system_memory.h"

namespace smoe {

// The result of `work`, or kNoMemory when an allocation or the start of a thread failed in it.
template <class Work>
auto guarded(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{Code::kNoMemory, "out of memory" + address_space_hint()};
  } catch (const std::system_error& error) {
    return Error{Code::kNoMemory, std::string("the system refused a resource: ") + error.what() +
                                      address_space_hint()};
  }
}

}  // namespace smoe
