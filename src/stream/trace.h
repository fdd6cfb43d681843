// What a run demanded of each layer, visit by visit: recorded from a streamer, kept in a file
// (docs/trace-format.md), replayed by the oracle.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "formats/vault_file.h"
#include "stream/layer_visit.h"
#include "stream/streamer.h"

namespace smoe {

struct TraceLayer {
  LayerId layer{};
  uint32_t experts = 0;
  uint64_t record_bytes = 0;
  friend bool operator==(const TraceLayer&, const TraceLayer&) = default;
};

class Trace {
 public:
  Trace() = default;
  // `layers` in the order in which a step visits them.
  explicit Trace(std::vector<TraceLayer> layers);

  // Fails: kNotFound, kIo, kCorrupt, naming the file.
  static Result<Trace> read(const std::filesystem::path& path);
  // Fails: kIo, kNoSpace.
  Status write(const std::filesystem::path& path) const;

  // A visit of one of the layers. Probabilities are kept to a part in two thousand.
  void append(const LayerVisit& visit);

  std::span<const TraceLayer> layers() const { return layers_; }
  size_t visits() const { return visits_.size(); }
  uint64_t demands() const { return demanded_.size(); }

  // Replays visits; what it returns is good until the next call.
  class Cursor {
   public:
    explicit Cursor(const Trace& trace) : trace_(trace) {}
    LayerVisit visit(size_t index);

   private:
    const Trace& trace_;
    std::vector<float> probabilities_;
    std::vector<uint16_t> order_;
    std::vector<uint16_t> ranks_;
  };

 private:
  struct Visit {
    uint32_t layer = 0;  // its place in layers_
    uint32_t tokens = 1;
    uint32_t active = 1;
    uint32_t demanded = 0;
    uint64_t first_demanded = 0;  // in demanded_
    uint64_t first_logarithm = 0;
    bool numbers = false;  // one logarithm for each expert
  };

  std::vector<TraceLayer> layers_;
  std::vector<uint32_t> place_of_;  // by LayerId
  std::vector<Visit> visits_;
  std::vector<ExpertKey> demanded_;
  std::vector<uint16_t> logarithms_;  // of probabilities
};

// Records what a streamer is asked for. Threads: the step's own. Cost: memory, about twelve
// kilobytes a token for 48 layers of 128 experts.
class TraceRecorder final : public VisitObserver {
 public:
  explicit TraceRecorder(std::span<const VaultFile> layers);
  void visited(const LayerVisit& visit) override { trace_.append(visit); }
  const Trace& trace() const { return trace_; }

 private:
  Trace trace_;
};

}  // namespace smoe
