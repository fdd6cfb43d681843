#include "server/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace smoe::server {

Fleet::Fleet(std::vector<ModelEntry> models, std::vector<std::string> aliases, EngineOpener opener,
             SchedulerOptions options)
    : models_(std::move(models)),
      aliases_(std::move(aliases)),
      opener_(std::move(opener)),
      options_(std::move(options)) {}

Fleet::~Fleet() { stop(); }

const ModelEntry* Fleet::find(std::string_view name) const {
  for (const ModelEntry& entry : models_)
    if (entry.id == name) return &entry;
  return nullptr;
}

bool Fleet::is_alias(std::string_view name) const {
  return name.empty() || std::any_of(aliases_.begin(), aliases_.end(), [&](const auto& alias) {
           return alias == "*" || alias == name;
         });
}

// Needs mutex_.
ModelLease Fleet::lend() {
  ++leases_;
  return {model_.get(), [this](ServedModel* /*model*/) {
            const std::lock_guard lock(mutex_);
            --leases_;
            returned_.notify_all();
          }};
}

ModelLease Fleet::current() {
  const std::lock_guard lock(mutex_);
  return model_ == nullptr || stopping_ ? nullptr : lend();
}

FleetState Fleet::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

ApiResult<ModelLease> Fleet::acquire(std::string_view name) {
  const std::lock_guard switching(switching_);
  std::unique_lock lock(mutex_);
  const ModelEntry* wanted = find(name);
  if (wanted == nullptr && is_alias(name))
    wanted = model_ == nullptr ? &models_.front() : find(model_->id());
  if (wanted == nullptr)
    return ApiError{
        .status = 404,
        .message = fmt::format("there is no model '{}'; GET /v1/models lists them", name),
        .param = "model",
        .code = "model_not_found"};
  if (stopping_) return ApiError{.status = 503, .message = "the server is shutting down"};
  if (model_ != nullptr && model_->id() == wanted->id) return lend();

  state_ = FleetState::kLoading;
  returned_.wait(lock, [this] { return leases_ == 0; });
  if (model_ != nullptr) log::info("closing {} for {}", model_->id(), wanted->id);
  // Its threads end and its memory is free before the next one plans its own.
  std::unique_ptr<ServedModel> old = std::move(model_);
  lock.unlock();
  old.reset();
  auto opened = ServedModel::open(*wanted, opener_, options_);
  lock.lock();
  state_ = opened ? FleetState::kReady : FleetState::kEmpty;
  if (!opened) return api_error_of(opened.error());
  model_ = *std::move(opened);
  return lend();
}

void Fleet::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  returned_.wait(lock, [this] { return leases_ == 0; });
  std::unique_ptr<ServedModel> old = std::move(model_);
  lock.unlock();
  old.reset();
}

}  // namespace smoe::server
