#include "base/result.h"

namespace smoe {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::kUsage:
      return "usage";
    case Code::kNotFound:
      return "not_found";
    case Code::kIo:
      return "io";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kNoSpace:
      return "no_space";
    case Code::kNoMemory:
      return "no_memory";
    case Code::kNumeric:
      return "numeric_error";
    case Code::kContextFull:
      return "context_full";
    case Code::kCancelled:
      return "cancelled";
    case Code::kBusy:
      return "busy";
  }
  return "unknown";
}

Error Error::in(std::string_view where) && { return {code, std::string(where) + ": " + message}; }

}  // namespace smoe
