#include "engine/speed_report.h"

namespace smoe {

std::string_view name_of(Limit limit) {
  switch (limit) {
    case Limit::kNone:
      return "nothing";
    case Limit::kCompute:
      return "compute";
    case Limit::kDisk:
      return "disk";
    case Limit::kMemory:
      return "memory";
    case Limit::kQueue:
      return "queue";
  }
  return "";
}

}  // namespace smoe
