// The `attribute=` of filters: "a.b.0" is looked up step by step.
#pragma once

#include <vector>

#include "base/result.h"
#include "text/template/routine.h"
#include "text/template/value.h"

namespace smoe::jinja {

class AttributePath {
 public:
  AttributePath() = default;  // the item itself
  // A string with points between its steps, an integer, or None for the item itself.
  static Result<AttributePath> parse(const Value& attribute);

  // `otherwise`, when not null, stands for a step that does not exist.
  Result<Value> of(const Value& item, const Value* otherwise = nullptr) const;

 private:
  Values steps_;
};

}  // namespace smoe::jinja
