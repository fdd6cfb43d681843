// Objects and arrays of a schema as rules.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/schema_document.h"

namespace smoe {

using LocatedSchemas = std::vector<std::pair<const Json*, std::string>>;

struct ObjectShape {
  struct Property {
    std::string name;
    LocatedSchemas schemas;  // all hold
    bool required = false;
  };
  std::vector<Property> properties;
  bool open = false;  // others may come, and then
  LocatedSchemas others;
  bool is_any = false;
};
// Fails: kUsage, where nothing can be valid.
Result<ObjectShape> object_shape(const Conjunction& schemas);

struct ArrayShape {
  LocatedSchemas first;
  LocatedSchemas rest;
  uint32_t least = 0;
  uint32_t most = kNoBound;
};
Result<ArrayShape> array_shape(const Conjunction& schemas);
Expression array_rules(JsonRules& json, std::vector<Expression> first, Expression rest,
                       const ArrayShape& shape);

// Collects the members of an object in their order. Cost: two rules a member.
class ObjectRules {
 public:
  ObjectRules(GrammarRules& rules, JsonRules& json) : rules_(rules), json_(json) {}
  void add(const std::string& name, Expression value, bool required);
  // `other`: the value of members with other names, which may follow.
  Expression finish(std::optional<Expression> other);

 private:
  struct Member {
    std::string name;
    uint32_t rule;
    bool required;
  };
  uint32_t new_rule(std::string name, Expression body);
  uint32_t other_names();

  GrammarRules& rules_;
  JsonRules& json_;
  std::vector<Member> members_;
};

}  // namespace smoe
