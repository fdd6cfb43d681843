// Several models, one open at a time: the memory budget is for one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/model_list.h"
#include "server/served_model.h"

namespace smoe::server {

// Keeps a model open while it lives.
using ModelLease = std::shared_ptr<ServedModel>;

enum class FleetState : uint8_t { kLoading, kReady, kEmpty };

class Fleet {
 public:
  // `aliases` are further names of whatever model is open; "*" is any name.
  Fleet(std::vector<ModelEntry> models, std::vector<std::string> aliases, EngineOpener opener,
        SchedulerOptions options);
  // All leases have ended.
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  std::span<const ModelEntry> models() const { return models_; }

  // The model of that name; "" is the one that is open, or the first. Another one that is open is
  // left to finish what it was asked, and closed first. Threads: any; waits, and requests for other
  // models wait behind it. Fails: 404 model_not_found, 503 once stop() was called, and what opening
  // it says.
  ApiResult<ModelLease> acquire(std::string_view name);

  // What is open now; nullptr when nothing is. Never waits for long.
  ModelLease current();
  FleetState state() const;

  // Nothing is opened any more; waits for the leases and closes the model.
  void stop();

 private:
  const ModelEntry* find(std::string_view name) const;
  bool is_alias(std::string_view name) const;
  ModelLease lend();

  const std::vector<ModelEntry> models_;
  const std::vector<std::string> aliases_;
  const EngineOpener opener_;
  const SchedulerOptions options_;

  std::mutex switching_;      // held by whoever looks for a model, and changes it if need be
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable returned_;
  std::unique_ptr<ServedModel> model_;
  FleetState state_ = FleetState::kLoading;
  size_t leases_ = 0;
  bool stopping_ = false;
};

}  // namespace smoe::server
