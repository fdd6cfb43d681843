#include "cli/exit_status.h"

namespace smoe::cli {

ExitStatus exit_status_of(Code code) {
  switch (code) {
    case Code::kUsage:
      return ExitStatus::kUsage;
    case Code::kCancelled:
      return ExitStatus::kInterrupted;
    case Code::kNotFound:
    case Code::kIo:
    case Code::kCorrupt:
    case Code::kUnsupported:
    case Code::kNoSpace:
    case Code::kNoMemory:
    case Code::kNumeric:
    case Code::kContextFull:
    case Code::kBusy:
      return ExitStatus::kFailed;
  }
  return ExitStatus::kFailed;
}

}  // namespace smoe::cli
