// What can be checked of a GGUF file that is used as it is.
#pragma once

#include "shatter/verify.h"

namespace smoe {

// Reads every weight and finds those that are no numbers. As verify(), but for `seconds`.
Result<VerifyReport> verify_unshattered(
    const std::filesystem::path& model, unsigned threads,
    const std::function<void(uint64_t done, uint64_t total)>& progress,
    const std::atomic<bool>* cancelled);

}  // namespace smoe
