#include "base/json_text.h"

namespace smoe {

void write_json(JsonWriter& json, const Json& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      json.null();
      return;
    case Json::Kind::kBool:
      json.value(value.as_bool().value_or(false));
      return;
    case Json::Kind::kNumber:
      json.raw(value.number_text());
      return;
    case Json::Kind::kString:
      json.value(value.as_string().value_or(""));
      return;
    case Json::Kind::kArray:
      json.begin_array();
      for (const Json& item : value.items()) write_json(json, item);
      json.end_array();
      return;
    case Json::Kind::kObject:
      json.begin_object();
      for (const auto& [name, member] : value.members()) {
        json.key(name);
        write_json(json, member);
      }
      json.end_object();
      return;
  }
}

std::string json_text(const Json& value) {
  JsonWriter json;
  write_json(json, value);
  return json.take();
}

}  // namespace smoe
