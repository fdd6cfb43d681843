// How a command ends, as the shell sees it.
#pragma once

#include "base/result.h"

namespace smoe::cli {

enum class ExitStatus : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kInterrupted = 130,  // SIGINT, as shells count it: 128 + the signal's number
  kBrokenPipe = 141,   // whoever read stdout has gone: what cat and grep end with
  kTerminated = 143,   // SIGTERM
};

ExitStatus exit_status_of(Code code);

}  // namespace smoe::cli
