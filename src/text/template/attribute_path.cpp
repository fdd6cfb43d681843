#include "text/template/attribute_path.h"

#include <algorithm>

#include "text/template/characters.h"
#include "text/template/operators.h"

namespace smoe::jinja {

Result<AttributePath> AttributePath::parse(const Value& attribute) {
  AttributePath path;
  if (attribute.is_none()) return path;
  if (attribute.is_integer()) {
    path.steps_.push_back(attribute);
    return path;
  }
  if (!attribute.is_string())
    return type_error("an attribute must be a string or an integer, not '" +
                      std::string(attribute.type_name()) + "'");
  std::string_view rest = attribute.bytes();
  for (;;) {
    const std::string_view step = rest.substr(0, rest.find('.'));
    path.steps_.push_back(all_digits(step) ? integer_from_digits(step) : Value::of_template(step));
    if (step.size() == rest.size()) return path;
    rest.remove_prefix(step.size() + 1);
  }
}

Result<Value> AttributePath::of(const Value& item, const Value* otherwise) const {
  Value current = item;
  for (const Value& step : steps_) {
    SMOE_TRY(current, get_item(current, step));
    if (otherwise != nullptr && current.is_undefined()) current = *otherwise;
  }
  return current;
}

}  // namespace smoe::jinja
