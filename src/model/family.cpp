#include "model/family.h"

#include "base/check.h"
#include "model/naming.h"

namespace smoe {

std::string_view config_key(const Family& family, Fact fact) {
  for (const auto rules : {family.fields, family.common_fields})
    for (const FieldRule& rule : rules)
      if (rule.fact == fact) return rule.keys[0];
  return kNoKey;
}

std::string SourceModel::source_name(Role role, uint32_t layer, uint32_t expert) const {
  const std::string_view pattern = pattern_of(*family, role);
  SMOE_CHECK(!pattern.empty());
  return tensor_name(pattern, layer, expert);
}

}  // namespace smoe
