#include "text/template/value.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "text/template/numbers.h"

namespace smoe::jinja {
namespace {

// Up to this many entries a walk is as fast as a hash.
constexpr size_t kUnindexedEntries = 8;

Error too_deep() {
  return {Code::kUsage,
          "a value is nested more than " + std::to_string(kMaxValueDepth) + " levels deep"};
}

Value sequence_from_json(const Json& json, Origin origin) {
  auto sequence = std::make_shared<Sequence>();
  sequence->items.reserve(json.items().size());
  for (const Json& item : json.items()) {
    sequence->items.push_back(Value::from_json(item, origin));
    sequence->depth = std::max(sequence->depth, sequence->items.back().depth() + 1);
  }
  return Value(std::move(sequence));
}

Value dict_from_json(const Json& json, Origin origin) {
  auto dict = std::make_shared<Dict>();
  for (const auto& [key, value] : json.members()) {
    // A string key is always accepted.
    static_cast<void>(dict->set(Value(MarkedText(key, origin)), Value::from_json(value, origin)));
  }
  return Value(DictPtr(std::move(dict)));
}

}  // namespace

Value Value::from_json(const Json& json, Origin origin) {
  switch (json.kind()) {
    case Json::Kind::kNull:
      return Value(None{});
    case Json::Kind::kBool:
      return Value(json.as_bool().value_or(false));
    case Json::Kind::kNumber:
      return number_from_text(json.number_text());
    case Json::Kind::kString:
      return Value(MarkedText(std::string(json.as_string().value_or("")), origin));
    case Json::Kind::kArray:
      return sequence_from_json(json, origin);
    case Json::Kind::kObject:
      return dict_from_json(json, origin);
  }
  return Value(None{});
}

bool Value::is_integer() const {
  return kind() == Kind::kBool || kind() == Kind::kInt || kind() == Kind::kBigInt;
}

std::optional<int64_t> Value::small_int() const {
  if (const bool* flag = std::get_if<bool>(&content_)) return *flag ? 1 : 0;
  if (const int64_t* number = std::get_if<int64_t>(&content_)) return *number;
  return std::nullopt;
}

bool Value::is_true() const {
  switch (kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return boolean();
    case Kind::kInt:
      return std::get<int64_t>(content_) != 0;
    case Kind::kFloat:
      return floating() != 0;
    case Kind::kString:
      return !text().empty();
    case Kind::kSequence:
      return sequence()->flavor == Sequence::Flavor::kGenerator || !sequence()->items.empty();
    case Kind::kDict:
      return dict().size() > 0;
    case Kind::kBigInt:
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kCallable:
      return true;
  }
  return true;
}

std::string_view Value::type_name() const {
  constexpr std::string_view kSequenceNames[] = {
      "list", "tuple", "range", "dict_keys", "dict_values", "dict_items", "generator"};
  constexpr std::string_view kNames[] = {"Undefined", "NoneType",  "bool",        "int",
                                         "int",       "float",     "str",         "",
                                         "dict",      "Namespace", "LoopContext", "function"};
  if (is_sequence()) return kSequenceNames[static_cast<size_t>(sequence()->flavor)];
  return kNames[static_cast<size_t>(kind())];
}

bool Value::is_same(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::kString:
      return std::get<TextPtr>(content_) == std::get<TextPtr>(other.content_) ||
             bytes() == other.bytes();
    case Kind::kSequence:
      return sequence() == other.sequence();
    case Kind::kDict:
      return &dict() == &other.dict();
    case Kind::kNamespace:
      return space() == other.space();
    case Kind::kLoop:
      return loop() == other.loop();
    case Kind::kCallable:
      return &callable() == &other.callable();
    default:
      return equal_scalars(*this, other);
  }
}

int Value::depth() const {
  if (is_sequence()) return sequence()->depth;
  return is_dict() ? dict().depth() : 0;
}

Result<Value> make_sequence(Sequence::Flavor flavor, Values items) {
  auto sequence = std::make_shared<Sequence>();
  sequence->flavor = flavor;
  sequence->items = std::move(items);
  for (const Value& item : sequence->items)
    sequence->depth = std::max(sequence->depth, item.depth() + 1);
  if (sequence->depth > kMaxValueDepth) return too_deep();
  return Value(std::move(sequence));
}

Result<Value> make_dict(Dict dict) {
  if (dict.depth() > kMaxValueDepth) return too_deep();
  return Value(DictPtr(std::make_shared<Dict>(std::move(dict))));
}

std::optional<size_t> Dict::position_of(const Value& key, size_t hash) const {
  if (index_.empty()) {
    for (size_t i = 0; i < entries_.size(); ++i)
      if (equal_scalars(entries_[i].key, key)) return i;
    return std::nullopt;
  }
  const auto [first, last] = index_.equal_range(hash);
  for (auto each = first; each != last; ++each)
    if (equal_scalars(entries_[each->second].key, key)) return each->second;
  return std::nullopt;
}

const Value* Dict::find(const Value& key) const {
  const auto hash = hash_of(key);
  if (!hash) return nullptr;
  const auto position = position_of(key, *hash);
  return position ? &entries_[*position].value : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (!index_.empty()) return find(Value::of_template(key));
  for (const Entry& entry : entries_)
    if (entry.key.is_string() && entry.key.bytes() == key) return &entry.value;
  return nullptr;
}

Status Dict::set(Value key, Value value) {
  const auto hash = hash_of(key);
  if (!hash) return Error{Code::kUsage, "unhashable type: '" + std::string(key.type_name()) + "'"};
  depth_ = std::max(depth_, value.depth() + 1);
  if (const auto position = position_of(key, *hash)) {
    entries_[*position].value = std::move(value);
    return {};
  }
  entries_.push_back({std::move(key), std::move(value)});
  if (!index_.empty()) {
    index_.emplace(*hash, entries_.size() - 1);
  } else if (entries_.size() > kUnindexedEntries) {
    for (size_t i = 0; i < entries_.size(); ++i)
      index_.emplace(hash_of(entries_[i].key).value_or(0), i);
  }
  return {};
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [key, value] : attributes)
    if (key == name) return &value;
  return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [key, held] : attributes) {
    if (key != name) continue;
    held = std::move(value);
    return;
  }
  attributes.emplace_back(name, std::move(value));
}

bool equal_scalars(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number())
    return compare_numbers(a, b) == std::partial_ordering::equivalent;
  if (a.kind() != b.kind()) return false;
  if (a.is_string()) return a.bytes() == b.bytes();
  return a.is_none() || a.is_undefined();
}

std::optional<size_t> hash_of(const Value& value) {
  // Equal numbers of different types must share a hash.
  if (value.is_number()) {
    if (const auto small = value.small_int()) {
      const auto number = static_cast<double>(*small);
      return std::hash<double>{}(number);
    }
    return std::hash<double>{}(to_double(value));
  }
  if (value.is_string()) return std::hash<std::string_view>{}(value.bytes());
  if (value.is_none()) return 1;
  if (value.is_undefined()) return 2;
  return std::nullopt;
}

}  // namespace smoe::jinja
