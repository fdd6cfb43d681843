// JSON values as text again.
#pragma once

#include <string>

#include "base/json.h"

namespace smoe {

// Writes a value again; numbers keep their text.
void write_json(JsonWriter& json, const Json& value);
std::string json_text(const Json& value);

}  // namespace smoe
