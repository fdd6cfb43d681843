// The schemas of a document, and what several that hold at once ask for together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace smoe {

// A schema of which some parts have been dealt with.
struct OpenSchema {
  const Json* schema = nullptr;
  std::string where;        // "#/properties/name"
  bool chosen_any = false;  // one of its anyOf was chosen,
  bool chosen_one = false;  // of its oneOf
  // Whether it holds anything but annotations and what has been dealt with.
  bool asks_anything() const;
};

// All of these hold. References and allOf are replaced by what they name.
using Conjunction = std::vector<OpenSchema>;

class SchemaDocument {
 public:
  // Lifetime: ends before `root`.
  explicit SchemaDocument(const Json& root) : root_(root) {}

  Result<Conjunction> root() const;
  // Adds a schema and what it refers to. Fails: kUsage, naming a keyword that is not supported and
  // where it is, a reference that leads nowhere.
  Status add(const Json& schema, const std::string& where, Conjunction& to) const;

  // The values of a keyword in all that hold.
  static std::vector<std::pair<const Json*, std::string>> all(const Conjunction& schemas,
                                                              std::string_view keyword);

 private:
  Status add(const Json& schema, const std::string& where, Conjunction& to, int depth) const;
  Result<const Json*> resolve(std::string_view reference) const;

  const Json& root_;
};

}  // namespace smoe
