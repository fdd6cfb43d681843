#include "text/template/run.h"

#include <string>

namespace smoe::jinja {

Status Run::spend_bytes(uint64_t bytes) {
  if (bytes > limits_.output_bytes)
    return Error{Code::kUsage, "a text is larger than the limit of " +
                                   std::to_string(limits_.output_bytes) + " bytes"};
  return spend(1 + bytes / 16);
}

Error Run::out_of_steps() const {
  return {Code::kUsage,
          "the template ran for more than " + std::to_string(limits_.steps) + " steps"};
}

}  // namespace smoe::jinja
