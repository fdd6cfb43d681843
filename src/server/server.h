// The server as a whole: what smoe serve runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/access.h"
#include "server/fleet.h"
#include "server/http_server.h"
#include "server/service.h"

namespace smoe::server {

struct ServerOptions {
  HttpAddress address;
  HttpLimits limits;
  AccessPolicy access;
  ServiceOptions service;
  SchedulerOptions scheduler;
  std::vector<ModelEntry> models;
  std::vector<std::string> aliases;  // further names of the model that is open; "*": any name
};

class Server {
 public:
  // Binds the address; /health then says that a model is being loaded.
  // Fails: as HttpServer::listen.
  static Result<std::unique_ptr<Server>> listen(const ServerOptions& options, EngineOpener opener);
  virtual ~Server() = default;

  virtual std::string url() const = 0;
  // Opens the first model. Fails: as ServedModel::open.
  virtual Status load() = 0;
  // Accepts nothing more, lets answers end for at most `grace_ms`, ends the rest, and closes the
  // model. Threads: any but the server's own.
  virtual void stop(uint32_t grace_ms) = 0;
};

}  // namespace smoe::server
