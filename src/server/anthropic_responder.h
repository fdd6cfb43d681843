// Answers of /v1/messages.
#pragma once

#include <memory>
#include <string>

#include "server/responder.h"

namespace smoe::server {

std::unique_ptr<Responder> make_messages_responder(std::shared_ptr<Exchange> exchange, bool streams,
                                                   std::string model, uint64_t prompt_tokens);

}  // namespace smoe::server
