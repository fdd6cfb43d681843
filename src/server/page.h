// The web page that the build put into the program.
#pragma once

#include <string>
#include <string_view>

namespace smoe::server {

struct Page {
  std::string_view bytes;
  bool gzip = false;
  std::string_view content_security_policy;
};

const Page& page();
// A quoted tag of its bytes.
std::string page_etag();

}  // namespace smoe::server
