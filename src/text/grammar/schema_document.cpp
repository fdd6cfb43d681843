#include "text/grammar/schema_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "text/grammar/grammar.h"

namespace smoe {
namespace {

constexpr size_t kMostSchemasAtOnce = 256;

// They say nothing about what is valid.
constexpr std::array<std::string_view, 13> kAnnotations{
    "title",    "description", "default",  "examples",  "example", "$schema",    "$id",
    "$comment", "deprecated",  "readOnly", "writeOnly", "$defs",   "definitions"};

constexpr std::array<std::string_view, 23> kKeywords{"type",
                                                     "enum",
                                                     "const",
                                                     "anyOf",
                                                     "oneOf",
                                                     "properties",
                                                     "required",
                                                     "additionalProperties",
                                                     "items",
                                                     "prefixItems",
                                                     "minItems",
                                                     "maxItems",
                                                     "minLength",
                                                     "maxLength",
                                                     "pattern",
                                                     "format",
                                                     "minimum",
                                                     "maximum",
                                                     "exclusiveMinimum",
                                                     "exclusiveMaximum",
                                                     "uniqueItems",
                                                     "$ref",
                                                     "allOf"};

template <size_t Count>
bool is_one_of(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error bad_schema(std::string_view where, std::string_view what) {
  return {Code::kUsage, fmt::format("the schema at {} {}", where, what)};
}

Status check_keywords(const Json& schema, const std::string& where) {
  for (const auto& [name, value] : schema.members())
    if (!is_one_of(kAnnotations, name) && !is_one_of(kKeywords, name))
      return bad_schema(where, fmt::format("has the keyword '{}', which is not supported", name));
  return {};
}

std::string without_pointer_escapes(std::string_view token) {
  std::string plain;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      plain += token[++i] == '1' ? '/' : '~';
    } else {
      plain += token[i];
    }
  }
  return plain;
}

}  // namespace

bool OpenSchema::asks_anything() const {
  const auto asks = [&](const Json::Member& member) {
    if (member.first == "anyOf") return !chosen_any;
    if (member.first == "oneOf") return !chosen_one;
    return member.first != "$ref" && member.first != "allOf" &&
           !is_one_of(kAnnotations, member.first);
  };
  return std::any_of(schema->members().begin(), schema->members().end(), asks);
}

Result<Conjunction> SchemaDocument::root() const {
  Conjunction schemas;
  SMOE_DO(add(root_, "#", schemas));
  return schemas;
}

Status SchemaDocument::add(const Json& schema, const std::string& where, Conjunction& to) const {
  return add(schema, where, to, 0);
}

Status SchemaDocument::add(const Json& schema, const std::string& where, Conjunction& to,
                           int depth) const {
  if (depth > kMaxGrammarDepth || to.size() > kMostSchemasAtOnce)
    return bad_schema(where, "combines too many others");
  if (schema.as_bool() == true) return {};
  if (schema.as_bool() == false) return bad_schema(where, "is false: nothing is valid");
  if (!schema.is_object()) return bad_schema(where, "is no object");
  for (const OpenSchema& known : to) {
    if (known.schema != &schema) continue;
    if (known.chosen_any || known.chosen_one)
      return bad_schema(where, "is one of its own alternatives");
    return {};
  }
  SMOE_DO(check_keywords(schema, where));
  to.push_back({&schema, where});
  if (const Json* reference = schema.find("$ref")) {
    const std::string text(reference->as_string().value_or(""));
    const auto target = resolve(text);
    if (!target)
      return bad_schema(where, fmt::format("refers to '{}': {}", text, target.error().message));
    SMOE_DO(add(**target, text, to, depth + 1));
  }
  if (const Json* parts = schema.find("allOf")) {
    if (!parts->is_array()) return bad_schema(where, "has an allOf that is no array");
    for (size_t i = 0; i < parts->items().size(); ++i)
      SMOE_DO(add(parts->items()[i], fmt::format("{}/allOf/{}", where, i), to, depth + 1));
  }
  return {};
}

Result<const Json*> SchemaDocument::resolve(std::string_view reference) const {
  if (!reference.starts_with('#'))
    return Error{Code::kUsage, "only references within the schema are followed"};
  const Json* at = &root_;
  std::string_view rest = reference.substr(1);
  while (!rest.empty()) {
    if (!rest.starts_with('/')) return Error{Code::kUsage, "it is no JSON pointer"};
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string token = without_pointer_escapes(rest.substr(0, end));
    rest.remove_prefix(end);
    const Json* next = at->find(token);
    if (at->is_array()) {
      size_t index = 0;
      const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
      const bool is_index = read.ec == std::errc() && read.ptr == token.data() + token.size();
      next = is_index && index < at->items().size() ? &at->items()[index] : nullptr;
    }
    if (next == nullptr) return Error{Code::kUsage, "there is nothing"};
    at = next;
  }
  return at;
}

std::vector<std::pair<const Json*, std::string>> SchemaDocument::all(const Conjunction& schemas,
                                                                     std::string_view keyword) {
  std::vector<std::pair<const Json*, std::string>> found;
  for (const OpenSchema& open : schemas)
    if (const Json* value = open.schema->find(keyword)) found.emplace_back(value, open.where);
  return found;
}

}  // namespace smoe
