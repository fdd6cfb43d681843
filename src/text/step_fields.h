// Reads one step ({"type": ..., its fields}) of a tokenizer.json. What a step does not know is an
// error that names the step and the field, because a guess would change tokens silently.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace smoe {

// Far above any real vocabulary; keeps a small file from asking for a large table.
inline constexpr uint32_t kMaxTokenId = (1u << 22) - 1;

// {"Regex": text} or {"String": text}.
struct StepPattern {
  bool is_regex;
  std::string text;
};

class StepFields {
 public:
  // `role` is what the step is for ("normalizer"). Fails: kCorrupt when it has no type.
  // Lifetime: ends before `step` and `role`.
  static Result<StepFields> of(const Json& step, std::string_view role);
  // An object without a "type".
  static Result<StepFields> untyped(const Json& object, std::string_view role);

  std::string_view type() const { return type_; }
  // "normalizer Lowercase is not supported".
  Error unsupported() const;
  // Fails with kUnsupported when there is a field beside "type" and these.
  Status only(std::initializer_list<std::string_view> known) const;

  Result<bool> boolean(std::string_view field) const;
  Result<bool> boolean(std::string_view field, bool when_absent) const;
  Result<std::string_view> string(std::string_view field) const;
  Result<const std::vector<Json>*> array(std::string_view field) const;
  Result<uint32_t> id(std::string_view field) const;
  Result<StepPattern> pattern(std::string_view field) const;
  // A string of exactly one character.
  Result<std::string_view> character(std::string_view field) const;
  // nullptr when absent or null.
  const Json* value(std::string_view field) const;

  Error wrong(std::string_view field, std::string_view wanted) const;
  // "normalizer Lowercase", for messages.
  std::string name() const;

 private:
  StepFields(const Json& object, std::string_view role, std::string_view type)
      : object_(&object), role_(role), type_(type) {}

  const Json* object_;
  std::string_view role_;
  std::string_view type_;
};

}  // namespace smoe
