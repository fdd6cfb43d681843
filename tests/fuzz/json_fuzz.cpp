// Any bytes as JSON: what is accepted must be written back and read again as the same values.
#include <string>

#include "base/check.h"
#include "base/json.h"

namespace smoe {
namespace {

void write(const Json& json, JsonWriter& to) {
  if (json.is_array()) {
    to.begin_array();
    for (const Json& item : json.items()) write(item, to);
    to.end_array();
  } else if (json.is_object()) {
    to.begin_object();
    for (const auto& [key, value] : json.members()) write(value, to.key(key));
    to.end_object();
  } else if (json.is_string()) {
    to.value(*json.as_string());
  } else if (json.is_number()) {
    static_cast<void>(json.as_uint());
    static_cast<void>(json.as_int());
    static_cast<void>(json.as_double());
    to.raw(json.number_text());
  } else if (json.is_null()) {
    to.null();
  } else {
    to.value(*json.as_bool());
  }
}

std::string text_of(const Json& json) {
  JsonWriter writer;
  write(json, writer);
  return writer.take();
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = smoe::Json::parse(text);
  if (json) {
    SMOE_CHECK(smoe::is_utf8(text));
    const std::string written = smoe::text_of(*json);
    const auto again = smoe::Json::parse(written);
    SMOE_CHECK(again && smoe::text_of(*again) == written);
    SMOE_CHECK(smoe::Json::parse(text, {.unique_keys = false}).has_value());
  }
  SMOE_CHECK(smoe::Json::parse(smoe::json_quote(text)).has_value());
  return 0;
}
