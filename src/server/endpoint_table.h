// Which endpoint answers which request.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/service.h"

namespace smoe::server {

struct Endpoint {
  std::string_view path;  // one that ends in "/" stands for all below it
  std::string_view method;
  void (*answer)(Service& service, const ExchangePtr& exchange);
  bool open = false;   // wants no key
  bool quick = false;  // never waits: answered on the network's thread
};

std::span<const Endpoint> endpoints();

struct Route {
  const Endpoint* endpoint = nullptr;
  std::string allowed = {};  // the methods of that path, when none fits
};
// HEAD is answered where GET is.
Route find_endpoint(std::string_view method, std::string_view path);

}  // namespace smoe::server
