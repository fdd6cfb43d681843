// Hit rate against ring size as a picture.
#pragma once

#include <string>

#include "stream/oracle.h"

namespace smoe::cli {

// An SVG of its own, no script, readable on light and dark.
std::string oracle_chart(const OracleTable& table, const std::string& title);

}  // namespace smoe::cli
