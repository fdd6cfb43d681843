// Any bytes as a trace of demands: refused, or a trace whose every visit can be replayed and which
// is consistent with itself.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/check.h"
#include "stream/trace.h"

namespace smoe {
namespace {

// A file that exists in memory only.
class TraceInput {
 public:
  TraceInput() : descriptor_(::memfd_create("trace", MFD_CLOEXEC)) { SMOE_CHECK(descriptor_ >= 0); }
  ~TraceInput() { ::close(descriptor_); }
  TraceInput(const TraceInput&) = delete;
  TraceInput& operator=(const TraceInput&) = delete;

  void fill(const uint8_t* data, size_t size) const {
    SMOE_CHECK(::ftruncate(descriptor_, 0) == 0);
    SMOE_CHECK(::pwrite(descriptor_, data, size, 0) == static_cast<ssize_t>(size));
  }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void replay(const Trace& trace) {
  Trace::Cursor cursor(trace);
  uint64_t demands = 0;
  for (size_t i = 0; i < trace.visits(); ++i) {
    const LayerVisit visit = cursor.visit(i);
    demands += visit.demanded.size();
    for (const ExpertKey key : visit.demanded) SMOE_CHECK(key.layer == visit.layer);
    SMOE_CHECK(visit.router.probabilities.size() == visit.router.ranks.size());
  }
  SMOE_CHECK(demands == trace.demands());
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const smoe::TraceInput input;
  input.fill(data, size);
  const auto trace = smoe::Trace::read(input.path());
  if (trace) smoe::replay(*trace);
  return 0;
}
