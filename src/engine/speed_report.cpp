#include "engine/speed_report.h"

#include "engine/engine.h"

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

bool ring_is_short(const Engine& engine) {
  const MemoryPlan& plan = engine.plan();
  return plan.ring_slots() < plan.records && engine.stream_stats().reads > plan.ring_slots();
}

Limit limit_of(const SpeedReport& report, bool limited_by_ring) {
  if (report.queue_ns > report.step_ns) return Limit::kQueue;
  if (report.step_ns == 0) return Limit::kNone;
  if (report.stall_ns > report.step_ns / 2) return limited_by_ring ? Limit::kMemory : Limit::kDisk;
  return Limit::kCompute;
}

}  // namespace smoe
