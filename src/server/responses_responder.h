// Answers of /v1/responses. Nothing is stored: a later request brings everything it needs.
#pragma once

#include <memory>
#include <string>

#include "server/responder.h"

namespace smoe::server {

struct ResponsesStyle {
  std::string model;
  std::string echoed;  // members of the request that the answer repeats, as JSON: "\"tools\":[]"
};

std::unique_ptr<Responder> make_responses_responder(std::shared_ptr<Exchange> exchange,
                                                    bool streams, ResponsesStyle style);

}  // namespace smoe::server
