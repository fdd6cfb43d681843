// smoe serve: models over HTTP.
#include <fmt/format.h>
#include <poll.h>

#include <memory>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/service_manager.h"
#include "cli/version.h"
#include "server/server.h"

namespace smoe::cli {
namespace {

constexpr uint64_t kMaxKeyFileBytes = kMiB;
constexpr uint32_t kStopGraceMs = 25'000;  // of the 30 s until a service manager kills

class OpenedEngine final : public server::EngineHolder {
 public:
  OpenedEngine(OpenModel model, std::string_view activations)
      : model_(std::move(model)), activations_(activations) {}
  Engine& engine() override { return *model_.engine; }
  std::string arithmetic() const override {
    return fmt::format("{}; {}; activations {}", version_text(), model_.device->description(),
                       activations_);
  }

 private:
  OpenModel model_;
  std::string_view activations_;
};

server::EngineOpener opener_for(const Context& context) {
  return
      [&context](const server::ModelEntry& entry) -> Result<std::unique_ptr<server::EngineHolder>> {
        Settings settings = context.settings;
        settings.model = entry.folder.string();
        const Context own{settings, context.terminal, context.signals};
        OpenWishes wishes;
        wishes.sequences = static_cast<uint32_t>(settings.parallel);
        SMOE_TRY(OpenModel model, open_model(own, wishes));
        return std::unique_ptr<server::EngineHolder>(std::make_unique<OpenedEngine>(
            std::move(model), settings.activations == Activations::kBF16 ? "bf16" : "f32"));
      };
}

Result<server::AccessPolicy> access_policy(const Settings& settings) {
  server::AccessPolicy access;
  access.bind_host = settings.host.value_or(access.bind_host);
  access.keys = settings.api_keys;
  access.cors_origins = settings.cors_origins;
  access.allowed_hosts = settings.allowed_hosts;
  if (settings.api_key_file) {
    SMOE_TRY(const std::string text, read_any_file(*settings.api_key_file, kMaxKeyFileBytes));
    for (std::string& key : server::keys_of(text)) access.keys.push_back(std::move(key));
    if (access.keys.empty()) return Error{Code::kUsage, *settings.api_key_file + ": has no key"};
  }
  const bool local =
      server::is_socket_path(access.bind_host) || server::is_loopback(access.bind_host);
  if (!local && access.keys.empty() && !settings.allow_unauthenticated)
    return Error{Code::kUsage,
                 fmt::format("--host {}: others could use this server without a key; --api-key or "
                             "--api-key-file sets one, --allow-unauthenticated goes without",
                             access.bind_host)};
  return access;
}

Result<server::ServerOptions> server_options(const Settings& settings) {
  server::ServerOptions options;
  SMOE_TRY(options.models, server::find_models(settings.models));
  SMOE_TRY(options.access, access_policy(settings));
  options.address = {options.access.bind_host, static_cast<uint16_t>(settings.port)};
  options.aliases = settings.aliases;
  options.scheduler.parallel = static_cast<uint32_t>(settings.parallel);
  options.scheduler.max_queue = static_cast<uint32_t>(settings.max_queue);
  options.scheduler.queue_timeout_ns = settings.queue_timeout_s * 1'000'000'000;
  options.scheduler.disk.folder = settings.kv_disk_dir.value_or("");
  options.scheduler.disk.space_bytes = settings.kv_disk_space_mb * kMiB;
  options.scheduler.disk.day_bytes = settings.kv_disk_day_mb * kMiB;
  options.service.version = version_text().substr(0, version_text().find('\n'));
  options.service.metrics = settings.metrics;
  options.service.page = settings.ui;
  if (settings.reasoning_field == ReasoningField::kReasoning)
    options.service.reasoning_field = "reasoning";
  return options;
}

void wait_for_signal(const Signals& signals) {
  while (signals.received() == 0) {
    pollfd wait{signals.descriptor(), POLLIN, 0};
    ::poll(&wait, 1, 1000);
  }
}

}  // namespace

Outcome serve_command(Context& context) {
  SMOE_TRY(const server::ServerOptions options, server_options(context.settings));
  SMOE_TRY(const std::unique_ptr<server::Server> server,
           server::Server::listen(options, opener_for(context)));
  {
    const Signals::AtOnce at_once(context.signals);
    SMOE_DO(server->load());
  }
  SMOE_DO(context.terminal.print(fmt::format("listening on {}\n", server->url())));
  const std::string& manager = context.settings.notify_socket;
  notify_service_manager(manager, "READY=1\nSTATUS=listening on " + server->url());
  wait_for_signal(context.signals);
  notify_service_manager(manager, "STOPPING=1\nSTATUS=answers under way may end");
  log::info("stopping: answers under way may end, for up to {} s", kStopGraceMs / 1000);
  server->stop(kStopGraceMs);
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
