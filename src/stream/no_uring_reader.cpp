// For systems without io_uring.
#include "stream/uring_reader.h"

namespace smoe {

Result<std::unique_ptr<Reader>> open_uring_reader(std::unique_ptr<VaultFiles>& /*files*/,
                                                  unsigned /*depth*/,
                                                  std::unique_ptr<ReadDetour> /*detour*/) {
  return Error{Code::kUnsupported, "this build has no io_uring"};
}

}  // namespace smoe
