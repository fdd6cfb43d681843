#include "text/grammar/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/json_text.h"
#include "text/grammar/grammar.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/object_rules.h"
#include "text/grammar/scalar_schema.h"
#include "text/grammar/schema_document.h"

namespace smoe {
namespace {

constexpr uint64_t kSchemaMostWork = 50'000;  // schemas looked at
constexpr std::array<std::string_view, 7> kTypes{"object",  "array",   "string", "number",
                                                 "integer", "boolean", "null"};

// Keywords that speak of one type alone.
struct TypedKeyword {
  std::string_view keyword;
  std::string_view type;
};
constexpr std::array<TypedKeyword, 15> kTypedKeywords{{{"properties", "object"},
                                                       {"required", "object"},
                                                       {"additionalProperties", "object"},
                                                       {"items", "array"},
                                                       {"prefixItems", "array"},
                                                       {"minItems", "array"},
                                                       {"maxItems", "array"},
                                                       {"minLength", "string"},
                                                       {"maxLength", "string"},
                                                       {"pattern", "string"},
                                                       {"format", "string"},
                                                       {"minimum", "number"},
                                                       {"maximum", "number"},
                                                       {"exclusiveMinimum", "number"},
                                                       {"exclusiveMaximum", "number"}}};

using Types = std::set<std::string_view>;

class SchemaTranslator {
 public:
  SchemaTranslator(GrammarRules& rules, const Json& schema)
      : rules_(rules), json_(rules), document_(schema) {}

  Result<Expression> run() {
    SMOE_TRY(Conjunction root, document_.root());
    SMOE_TRY(Expression value, value_of(std::move(root)));
    // Rules are written one after another, so that deep schemas need no deep calls.
    while (!pending_.empty()) {
      const Pending next = std::move(pending_.back());
      pending_.pop_back();
      SMOE_TRY(Expression body, body_of(next.schemas));
      rules_.rules[next.rule].body = std::move(body);
    }
    return value;
  }

 private:
  using Key = std::vector<std::tuple<const Json*, bool, bool>>;
  struct Pending {
    uint32_t rule;
    Conjunction schemas;
  };

  static Error contradiction(const Conjunction& schemas, std::string_view what) {
    return {Code::kUsage, fmt::format("the schema at {} {}",
                                      schemas.empty() ? "#" : schemas.front().where, what)};
  }

  // One rule for each set of schemas, however often and from wherever it is asked for.
  Result<Expression> value_of(Conjunction schemas) {
    if (++work_ > kSchemaMostWork || rules_.rules.size() > kMaxGrammarRules)
      return Error{Code::kUsage, "the schema is too complex"};
    std::erase_if(schemas, [](const OpenSchema& open) { return !open.asks_anything(); });
    if (schemas.empty()) return json_.value();
    Key key;
    for (const OpenSchema& open : schemas)
      key.emplace_back(open.schema, open.chosen_any, open.chosen_one);
    std::sort(key.begin(), key.end());
    const auto [found, is_new] = known_.try_emplace(std::move(key), 0);
    if (is_new) {
      found->second = rules_.add(schemas.front().where);
      pending_.push_back({found->second, std::move(schemas)});
    }
    return rule_of(found->second);
  }

  Result<Expression> value_of_all(const std::vector<std::pair<const Json*, std::string>>& schemas) {
    Conjunction together;
    for (const auto& [schema, where] : schemas) SMOE_DO(document_.add(*schema, where, together));
    return value_of(std::move(together));
  }

  Result<Expression> body_of(const Conjunction& schemas) {
    for (size_t i = 0; i < schemas.size(); ++i) {
      const OpenSchema& open = schemas[i];
      if (const Json* any = open.schema->find("anyOf"); any != nullptr && !open.chosen_any)
        return alternatives(schemas, i, *any, &OpenSchema::chosen_any, "/anyOf");
      if (const Json* one = open.schema->find("oneOf"); one != nullptr && !open.chosen_one)
        return alternatives(schemas, i, *one, &OpenSchema::chosen_one, "/oneOf");
    }
    for (const auto& [value, where] : SchemaDocument::all(schemas, "uniqueItems"))
      if (value->as_bool() != false)
        return contradiction(schemas, "has the keyword 'uniqueItems', which is not supported");
    SMOE_TRY(const Types types, types_of(schemas));
    const bool listed = !SchemaDocument::all(schemas, "enum").empty() ||
                        !SchemaDocument::all(schemas, "const").empty();
    if (listed) return listed_values(schemas, types);
    std::vector<Expression> choices;
    for (const std::string_view type : types) {
      SMOE_TRY(Expression choice, value_of_type(schemas, type));
      choices.push_back(std::move(choice));
    }
    if (choices.empty()) return contradiction(schemas, "allows no type");
    return one_of(std::move(choices));
  }

  Result<Expression> alternatives(const Conjunction& schemas, size_t index, const Json& list,
                                  bool OpenSchema::*chosen, std::string_view suffix) {
    const std::string where = schemas[index].where + std::string(suffix);
    if (list.items().empty()) return contradiction(schemas, "has no alternatives");
    std::vector<Expression> choices;
    for (size_t i = 0; i < list.items().size(); ++i) {
      Conjunction together = schemas;
      together[index].*chosen = true;
      std::erase_if(together, [](const OpenSchema& open) { return !open.asks_anything(); });
      SMOE_DO(document_.add(list.items()[i], fmt::format("{}/{}", where, i), together));
      SMOE_TRY(Expression choice, value_of(std::move(together)));
      choices.push_back(std::move(choice));
    }
    return one_of(std::move(choices));
  }

  static Result<Types> named_types(const Json& value, const Conjunction& schemas) {
    Types types;
    const auto add = [&](const Json& name) {
      for (const std::string_view known : kTypes)
        if (name.as_string() == known) return types.insert(known), true;
      return false;
    };
    bool good = value.is_array() ? !value.items().empty() : add(value);
    for (const Json& item : value.items()) good = good && add(item);
    if (!good) return contradiction(schemas, "has a type that JSON does not know");
    return types;
  }

  // Those that all schemas allow; without a `type` those that their keywords speak of.
  static Result<Types> types_of(const Conjunction& schemas) {
    Types types(kTypes.begin(), kTypes.end());
    types.erase("integer");  // every integer is a number
    bool named = false;
    for (const auto& [value, where] : SchemaDocument::all(schemas, "type")) {
      SMOE_TRY(const Types others, named_types(*value, schemas));
      named = true;
      Types both;
      for (const std::string_view type : types) {
        if (others.contains(type)) both.insert(type);
        if (type == "number" && others.contains("integer")) both.insert("integer");
        if (type == "integer" && others.contains("number")) both.insert("integer");
      }
      if (both.contains("number")) both.erase("integer");
      types = both;
    }
    if (named) return types;
    Types implied;
    for (const TypedKeyword& typed : kTypedKeywords)
      if (!SchemaDocument::all(schemas, typed.keyword).empty()) implied.insert(typed.type);
    return implied.empty() ? types : implied;
  }

  static bool has_type(const Json& value, const Types& types) {
    switch (value.kind()) {
      case Json::Kind::kNull:
        return types.contains("null");
      case Json::Kind::kBool:
        return types.contains("boolean");
      case Json::Kind::kString:
        return types.contains("string");
      case Json::Kind::kArray:
        return types.contains("array");
      case Json::Kind::kObject:
        return types.contains("object");
      case Json::Kind::kNumber:
        return types.contains("number") || (types.contains("integer") && value.as_int());
    }
    return false;
  }

  static Result<Expression> listed_values(const Conjunction& schemas, const Types& types) {
    for (const TypedKeyword& typed : kTypedKeywords)
      if (!SchemaDocument::all(schemas, typed.keyword).empty())
        return contradiction(schemas, fmt::format("combines enum or const with {}, which is not "
                                                  "supported",
                                                  typed.keyword));
    std::vector<std::set<std::string>> lists;
    std::vector<std::string> order;
    const auto add = [&](const Json& value, std::set<std::string>& list) {
      if (!has_type(value, types)) return;
      std::string text = json_text(value);
      if (lists.empty()) order.push_back(text);
      list.insert(std::move(text));
    };
    for (const auto& [values, where] : SchemaDocument::all(schemas, "enum")) {
      std::set<std::string> list;
      for (const Json& value : values->items()) add(value, list);
      lists.push_back(std::move(list));
    }
    for (const auto& [value, where] : SchemaDocument::all(schemas, "const")) {
      std::set<std::string> list;
      add(*value, list);
      lists.push_back(std::move(list));
    }
    std::vector<Expression> choices;
    for (const std::string& text : order)
      if (std::all_of(lists.begin(), lists.end(),
                      [&](const auto& list) { return list.contains(text); }))
        choices.push_back(text_of(text));
    if (choices.empty()) return contradiction(schemas, "lists no value that it allows");
    return one_of(std::move(choices));
  }

  Result<Expression> value_of_type(const Conjunction& schemas, std::string_view type) {
    if (type == "null") return text_of("null");
    if (type == "boolean") return json_.boolean();
    if (type == "object") return object_of(schemas);
    if (type == "array") return array_of(schemas);
    if (type == "string") return string_schema(json_, schemas);
    return number_schema(json_, schemas, type == "integer");
  }

  Result<Expression> object_of(const Conjunction& schemas) {
    SMOE_TRY(const ObjectShape shape, object_shape(schemas));
    if (shape.is_any) return json_.object();
    ObjectRules object(rules_, json_);
    for (const ObjectShape::Property& property : shape.properties) {
      SMOE_TRY(Expression value, value_of_all(property.schemas));
      object.add(property.name, std::move(value), property.required);
    }
    if (!shape.open) return object.finish(std::nullopt);
    SMOE_TRY(Expression value, value_of_all(shape.others));
    return object.finish(std::move(value));
  }

  Result<Expression> array_of(const Conjunction& schemas) {
    SMOE_TRY(const ArrayShape shape, array_shape(schemas));
    std::vector<Expression> first;
    for (const auto& item : shape.first) {
      SMOE_TRY(Expression value, value_of_all({item}));
      first.push_back(std::move(value));
    }
    SMOE_TRY(Expression rest, value_of_all(shape.rest));
    return array_rules(json_, std::move(first), std::move(rest), shape);
  }

  GrammarRules& rules_;
  JsonRules json_;
  SchemaDocument document_;
  std::map<Key, uint32_t> known_;
  std::vector<Pending> pending_;
  uint64_t work_ = 0;
};

}  // namespace

Result<Expression> schema_value(GrammarRules& rules, const Json& schema) {
  return SchemaTranslator(rules, schema).run();
}

Result<GrammarRules> schema_rules(const Json& schema) {
  GrammarRules rules;
  rules.root = rules.add("root");
  SMOE_TRY(Expression value, schema_value(rules, schema));
  rules.rules[rules.root].body = std::move(value);
  return rules;
}

GrammarRules object_rules() {
  GrammarRules rules;
  rules.root = rules.add("root");
  JsonRules json(rules);
  Expression object = json.object();
  rules.rules[rules.root].body = std::move(object);
  return rules;
}

}  // namespace smoe
