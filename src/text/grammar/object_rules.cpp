#include "text/grammar/object_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "text/grammar/grammar.h"
#include "text/utf8.h"

namespace smoe {
namespace {

Error bad_shape(const Conjunction& schemas, std::string_view what) {
  return {Code::kUsage, fmt::format("the schema at {} {}", schemas.front().where, what)};
}

// The names that a closed schema does not have are out, whatever another says of them.
bool is_allowed(const Conjunction& schemas, const std::string& name) {
  return std::all_of(schemas.begin(), schemas.end(), [&](const OpenSchema& open) {
    const Json* others = open.schema->find("additionalProperties");
    if (others == nullptr || others->as_bool() != false) return true;
    const Json* properties = open.schema->find("properties");
    return properties != nullptr && properties->find(name) != nullptr;
  });
}

Status add_required(const Conjunction& schemas, ObjectShape& shape) {
  std::set<std::string_view> names;
  for (const auto& [list, where] : SchemaDocument::all(schemas, "required")) {
    if (!list->is_array()) return bad_shape(schemas, "has a required that is no array");
    for (const Json& name : list->items()) {
      if (!name.is_string()) return bad_shape(schemas, "requires what is no name");
      names.insert(*name.as_string());
    }
  }
  for (ObjectShape::Property& property : shape.properties)
    property.required = names.erase(property.name) > 0;
  for (const std::string_view name : names) {
    if (!shape.open)
      return bad_shape(schemas, fmt::format("requires '{}', which it does not have", name));
    shape.properties.push_back({std::string(name), shape.others, true});
  }
  return {};
}

Result<uint32_t> count_of(const Json& value, const Conjunction& schemas, std::string_view keyword) {
  const auto number = value.as_uint();
  if (number && *number <= kMaxRepeats) return static_cast<uint32_t>(*number);
  return bad_shape(schemas,
                   fmt::format("has a {} that is no number up to {}", keyword, kMaxRepeats));
}

}  // namespace

Result<ObjectShape> object_shape(const Conjunction& schemas) {
  ObjectShape shape;
  std::map<std::string_view, size_t> known;
  bool closed = false;
  for (const auto& [properties, where] : SchemaDocument::all(schemas, "properties")) {
    if (!properties->is_object()) return bad_shape(schemas, "has properties that are no object");
    closed = closed || !properties->members().empty();
    for (const auto& [name, schema] : properties->members()) {
      if (!is_allowed(schemas, name)) continue;
      const auto [found, is_new] = known.try_emplace(name, shape.properties.size());
      if (is_new) shape.properties.push_back({name, {}, false});
      shape.properties[found->second].schemas.emplace_back(
          &schema, fmt::format("{}/properties/{}", where, name));
    }
  }
  const auto others = SchemaDocument::all(schemas, "additionalProperties");
  shape.open = !closed || !others.empty();
  for (const auto& [schema, where] : others) {
    shape.open = shape.open && schema->as_bool() != false;
    shape.others.emplace_back(schema, where + "/additionalProperties");
  }
  if (!shape.open) shape.others.clear();
  SMOE_DO(add_required(schemas, shape));
  shape.is_any = shape.open && shape.others.empty() && shape.properties.empty();
  return shape;
}

Result<ArrayShape> array_shape(const Conjunction& schemas) {
  ArrayShape shape;
  for (const auto& [list, where] : SchemaDocument::all(schemas, "prefixItems")) {
    if (!list->is_array() || !shape.first.empty())
      return bad_shape(schemas, "has prefixItems that are no array, or several");
    for (size_t i = 0; i < list->items().size(); ++i)
      shape.first.emplace_back(&list->items()[i], fmt::format("{}/prefixItems/{}", where, i));
  }
  for (const auto& [value, where] : SchemaDocument::all(schemas, "minItems")) {
    SMOE_TRY(const uint32_t least, count_of(*value, schemas, "minItems"));
    shape.least = std::max(shape.least, least);
  }
  for (const auto& [value, where] : SchemaDocument::all(schemas, "maxItems")) {
    SMOE_TRY(const uint32_t most, count_of(*value, schemas, "maxItems"));
    shape.most = std::min(shape.most, most);
  }
  const auto items = SchemaDocument::all(schemas, "items");
  const auto before = static_cast<uint32_t>(shape.first.size());
  for (const auto& [schema, where] : items) {
    if (schema->as_bool() == false) {
      shape.most = std::min(shape.most, before);
    } else {
      shape.rest.emplace_back(schema, where + "/items");
    }
  }
  // Without a word about more, a tuple is what it lists.
  if (items.empty() && before > 0 && shape.least <= before)
    shape.most = std::min(shape.most, before);
  shape.least = std::max(shape.least, std::min(before, shape.most));
  if (shape.most < shape.least) return bad_shape(schemas, "wants more items than it allows");
  return shape;
}

Expression array_rules(JsonRules& json, std::vector<Expression> first, Expression rest,
                       const ArrayShape& shape) {
  if (first.size() > shape.most) first.resize(shape.most);
  const auto before = static_cast<uint32_t>(first.size());
  std::vector<Expression> parts;
  parts.reserve(first.size() + 1);
  for (Expression& item : first)
    parts.push_back(parts.empty() ? std::move(item) : json.next(std::move(item)));
  const uint32_t least = shape.least - before;
  const uint32_t most = shape.most == kNoBound ? kNoBound : shape.most - before;
  if (before > 0) {
    if (most > 0) parts.push_back(repeated(json.next(std::move(rest)), least, most));
    return json.enclosed('[', all_of(std::move(parts)), ']');
  }
  if (most == 0) return json.enclosed('[', all_of({}), ']');
  Expression more =
      repeated(json.next(rest), least > 0 ? least - 1 : 0, most == kNoBound ? kNoBound : most - 1);
  Expression items = all_of(list_of(std::move(rest), std::move(more)));
  return json.enclosed('[', repeated(std::move(items), least > 0 ? 1 : 0, 1), ']');
}

uint32_t ObjectRules::new_rule(std::string name, Expression body) {
  const uint32_t rule = rules_.add(std::move(name));
  rules_.rules[rule].body = std::move(body);
  return rule;
}

void ObjectRules::add(const std::string& name, Expression value, bool required) {
  Expression key = text_of(json_quote(name));
  members_.push_back(
      {name, new_rule("member " + name, JsonRules::member(std::move(key), std::move(value))),
       required});
}

// `first`: no member was written yet; `later`: some were, so that a comma comes first.
Expression ObjectRules::finish(std::optional<Expression> other) {
  Expression first = all_of({});
  Expression later = all_of({});
  if (other) {
    Expression key = all_of(list_of(text_of("\""), rule_of(other_names()), text_of("\"")));
    const uint32_t pair =
        new_rule("other members", JsonRules::member(std::move(key), *std::move(other)));
    later = repeated(json_.next(rule_of(pair)), 0, kNoBound);
    first = repeated(all_of(list_of(rule_of(pair), later)), 0, 1);
  }
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    const uint32_t rest = new_rule("after " + member->name, std::move(later));
    std::vector<Expression> without_comma =
        list_of(all_of(list_of(rule_of(member->rule), rule_of(rest))));
    std::vector<Expression> with_comma =
        list_of(all_of(list_of(json_.next(rule_of(member->rule)), rule_of(rest))));
    if (!member->required) {
      without_comma.push_back(rule_of(new_rule("without " + member->name, std::move(first))));
      with_comma.push_back(rule_of(rest));
    }
    first = one_of(std::move(without_comma));
    later = one_of(std::move(with_comma));
  }
  return json_.enclosed('{', std::move(first), '}');
}

// A rule for every beginning of a known name: it goes on to a longer beginning, or leaves them.
uint32_t ObjectRules::other_names() {
  std::map<std::string, std::set<char32_t>> beginnings;
  std::set<std::string> whole;
  beginnings[""];
  for (const Member& member : members_) {
    if (first_invalid_utf8(member.name)) continue;
    whole.insert(member.name);
    std::string begun;
    for (size_t at = 0; at < member.name.size();) {
      const Utf8Step step = utf8_step(member.name, at);
      beginnings[begun].insert(step.code_point);
      begun += member.name.substr(at, step.bytes);
      beginnings[begun];
      at += step.bytes;
    }
  }
  std::map<std::string, uint32_t> rules;
  for (const auto& [begun, next] : beginnings) rules[begun] = rules_.add("a name like " + begun);
  for (const auto& [begun, next] : beginnings) {
    CharacterSet outside = complement(JsonRules::plain_characters());
    std::vector<Expression> choices;
    for (const char32_t character : next) {
      outside.push_back({character, character});
      std::string longer = begun;
      append_utf8(longer, character);
      std::string spelled;
      append_utf8(spelled, character);
      // Names with characters that strings escape are not spelled here.
      const bool plain =
          character > 0x1f && character != U'"' && character != U'\\' && character != 0x7f;
      if (plain) choices.push_back(all_of(list_of(text_of(spelled), rule_of(rules[longer]))));
    }
    choices.push_back(
        all_of(list_of(any_of(complement(outside)),
                       repeated(any_of(JsonRules::plain_characters()), 0, kNoBound))));
    if (!whole.contains(begun)) choices.push_back(all_of({}));
    rules_.rules[rules[begun]].body = one_of(std::move(choices));
  }
  return rules[""];
}

}  // namespace smoe
