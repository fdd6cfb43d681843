#include "text/step_fields.h"

#include <algorithm>

#include "text/utf8.h"

namespace smoe {

Result<StepFields> StepFields::of(const Json& step, std::string_view role) {
  SMOE_TRY(const StepFields fields, untyped(step, role));
  SMOE_TRY(const std::string_view type, fields.string("type"));
  return StepFields(step, role, type);
}

Result<StepFields> StepFields::untyped(const Json& object, std::string_view role) {
  if (!object.is_object())
    return Error{Code::kCorrupt, std::string(role) + ": an object was expected"};
  return StepFields(object, role, {});
}

std::string StepFields::name() const {
  std::string name(role_);
  if (!type_.empty()) name.append(" ").append(type_);
  return name;
}

Error StepFields::unsupported() const {
  return {Code::kUnsupported, name() + " is not supported by this version"};
}

Status StepFields::only(std::initializer_list<std::string_view> known) const {
  for (const auto& [field, value] : object_->members()) {
    if (field == "type" || std::find(known.begin(), known.end(), field) != known.end()) continue;
    return Error{Code::kUnsupported,
                 name() + ": field " + json_quote(field) + " is not supported by this version"};
  }
  return {};
}

Error StepFields::wrong(std::string_view field, std::string_view wanted) const {
  return {Code::kCorrupt,
          name() + ": \"" + std::string(field) + "\" should be " + std::string(wanted)};
}

const Json* StepFields::value(std::string_view field) const {
  const Json* value = object_->find(field);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<bool> StepFields::boolean(std::string_view field) const {
  const Json* found = value(field);
  if (found == nullptr || !found->as_bool()) return wrong(field, "true or false");
  return *found->as_bool();
}

Result<bool> StepFields::boolean(std::string_view field, bool when_absent) const {
  if (value(field) == nullptr) return when_absent;
  return boolean(field);
}

Result<std::string_view> StepFields::string(std::string_view field) const {
  const Json* found = value(field);
  if (found == nullptr || !found->is_string()) return wrong(field, "a string");
  return *found->as_string();
}

Result<const std::vector<Json>*> StepFields::array(std::string_view field) const {
  const Json* found = value(field);
  if (found == nullptr || !found->is_array()) return wrong(field, "an array");
  return &found->items();
}

Result<uint32_t> StepFields::id(std::string_view field) const {
  const Json* found = value(field);
  const auto number = found == nullptr ? std::nullopt : found->as_uint();
  if (!number || *number > kMaxTokenId) return wrong(field, "a token id");
  return static_cast<uint32_t>(*number);
}

Result<StepPattern> StepFields::pattern(std::string_view field) const {
  const Json* pattern = value(field);
  if (pattern != nullptr && pattern->members().size() == 1) {
    const auto& [kind, text] = pattern->members().front();
    if (text.is_string() && (kind == "Regex" || kind == "String"))
      return StepPattern{kind == "Regex", std::string(*text.as_string())};
  }
  return wrong(field, "{\"Regex\": text} or {\"String\": text}");
}

Result<std::string_view> StepFields::character(std::string_view field) const {
  SMOE_TRY(const std::string_view text, string(field));
  if (text.empty() || utf8_step(text, 0).bytes != text.size()) return wrong(field, "one character");
  return text;
}

}  // namespace smoe
