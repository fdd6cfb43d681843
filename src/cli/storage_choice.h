// How --quant, --experts and --scout ask for weights to be stored.
#pragma once

#include "base/result.h"
#include "cli/settings.h"
#include "shatter/shatter.h"

namespace smoe::cli {

// Fails: kUsage for a format that does not exist, naming the flag.
Result<ShatterOptions> storage_options(const Settings& settings);

}  // namespace smoe::cli
