#include "text/template/operators.h"

#include <algorithm>
#include <compare>

#include "text/template/characters.h"
#include "text/template/routine.h"
#include "text/utf8.h"

namespace smoe::jinja {
namespace {

std::string quoted_type(const Value& value) { return "'" + std::string(value.type_name()) + "'"; }

bool is_ordered_flavor(Sequence::Flavor flavor) { return flavor <= Sequence::Flavor::kRange; }

Result<bool> sequences_equal(Run& run, const Sequence& a, const Sequence& b) {
  if (&a == &b) return true;
  if (a.flavor != b.flavor || !is_ordered_flavor(a.flavor) || a.items.size() != b.items.size())
    return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    SMOE_TRY(const bool equal, is_equal(run, a.items[i], b.items[i]));
    if (!equal) return false;
  }
  return true;
}

Result<bool> dicts_equal(Run& run, const Dict& a, const Dict& b) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  for (const Dict::Entry& entry : a.entries()) {
    const Value* other = b.find(entry.key);
    if (other == nullptr) return false;
    SMOE_TRY(const bool equal, is_equal(run, entry.value, *other));
    if (!equal) return false;
  }
  return true;
}

constexpr std::string_view kComparisonNames[] = {"==", "!=", "<", "<=", ">", ">="};

bool holds(Comparison comparison, std::partial_ordering order) {
  switch (comparison) {
    case Comparison::kLess:
      return std::is_lt(order);
    case Comparison::kLessEqual:
      return std::is_lteq(order);
    case Comparison::kGreater:
      return std::is_gt(order);
    case Comparison::kGreaterEqual:
      return std::is_gteq(order);
    case Comparison::kEqual:
      return std::is_eq(order);
    case Comparison::kNotEqual:
      return std::is_neq(order);
  }
  return false;
}

Result<bool> compare_sequences(Run& run, Comparison comparison, const Sequence& a,
                               const Sequence& b) {
  const size_t common = std::min(a.items.size(), b.items.size());
  for (size_t i = 0; i < common; ++i) {
    SMOE_TRY(const bool equal, is_equal(run, a.items[i], b.items[i]));
    if (!equal) return compare(run, comparison, a.items[i], b.items[i]);
  }
  return holds(comparison, a.items.size() <=> b.items.size());
}

Result<bool> sequence_contains(Run& run, Sequence& sequence, const Value& item) {
  // Asking a generator uses up what it gave before the answer.
  while (sequence.taken < sequence.items.size()) {
    const Value& each = sequence.items[sequence.taken++];
    SMOE_TRY(const bool equal, is_equal(run, each, item));
    if (equal) return true;
  }
  return false;
}

Result<Value> join_values(Run& run, const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) {
    SMOE_DO(run.spend_bytes(a.text().size() + b.text().size()));
    MarkedText joined;
    joined.reserve(a.text().size() + b.text().size());
    joined.append(a.text());
    joined.append(b.text());
    return Value(std::move(joined));
  }
  if (a.is_sequence() && b.is_sequence() && a.sequence()->flavor == b.sequence()->flavor &&
      a.sequence()->flavor <= Sequence::Flavor::kTuple) {
    SMOE_DO(run.spend_items(a.sequence()->items.size() + b.sequence()->items.size()));
    Values items = a.sequence()->items;
    items.insert(items.end(), b.sequence()->items.begin(), b.sequence()->items.end());
    return make_sequence(a.sequence()->flavor, std::move(items));
  }
  if (a.is_string())
    return type_error("can only concatenate str (not \"" + std::string(b.type_name()) +
                      "\") to str");
  return type_error("unsupported operand types for +: " + quoted_type(a) + " and " +
                    quoted_type(b));
}

Result<Value> repeat(Run& run, const Value& what, int64_t times) {
  const auto count = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  if (what.is_string()) {
    const uint64_t size = what.text().size();
    if (size == 0) return what;
    // The product could wrap, the quotient cannot.
    if (count > run.limits().output_bytes / size)
      return type_error("a repeated string would be larger than the limit");
    SMOE_DO(run.spend_bytes(size * count));
    MarkedText repeated;
    repeated.reserve(size * count);
    for (uint64_t i = 0; i < count; ++i) repeated.append(what.text());
    return Value(std::move(repeated));
  }
  const Values& items = what.sequence()->items;
  if (!items.empty() && count > run.limits().steps / items.size())
    return type_error("a repeated list would be larger than the limit");
  SMOE_DO(run.spend_items(items.size() * count));
  Values repeated;
  repeated.reserve(items.size() * count);
  for (uint64_t i = 0; !items.empty() && i < count; ++i)
    repeated.insert(repeated.end(), items.begin(), items.end());
  return make_sequence(what.sequence()->flavor, std::move(repeated));
}

bool is_repeatable(const Value& value) {
  return value.is_string() ||
         (value.is_sequence() && value.sequence()->flavor <= Sequence::Flavor::kTuple);
}

Value undefined_attribute(const Value& object, const std::string* name, bool unsafe = false) {
  return Value(Undefined{name, object.type_name(), unsafe});
}

std::optional<Value> loop_attribute(const Loop& loop, std::string_view name) {
  const auto at = static_cast<int64_t>(loop.position);
  const auto count = static_cast<int64_t>(loop.items->items.size());
  if (name == "index0") return Value(at);
  if (name == "index") return Value(at + 1);
  if (name == "first") return Value(at == 0);
  if (name == "last") return Value(at + 1 == count);
  if (name == "length") return Value(count);
  if (name == "revindex") return Value(count - at);
  if (name == "revindex0") return Value(count - at - 1);
  if (name == "depth") return Value(loop.nesting);
  if (name == "depth0") return Value(loop.nesting - 1);
  if (name == "previtem") return at > 0 ? loop.items->items[loop.position - 1] : Value(Undefined{});
  if (name == "nextitem")
    return at + 1 < count ? loop.items->items[loop.position + 1] : Value(Undefined{});
  return std::nullopt;
}

bool is_dunder(std::string_view name) {
  return name.size() > 4 && name.starts_with("__") && name.ends_with("__");
}

// What getattr() would find, before keys are tried.
std::optional<Value> python_attribute(const Value& object, const std::string& name) {
  if (object.kind() == Value::Kind::kNamespace) {
    const Value* value = object.space()->find(name);
    if (value == nullptr) return std::nullopt;
    if (name.starts_with('_')) return undefined_attribute(object, &name, true);
    return *value;
  }
  if (object.kind() == Value::Kind::kLoop)
    if (auto attribute = loop_attribute(*object.loop(), name)) return attribute;
  if (const Routine* method = find_method(object, name)) {
    return Value(std::make_shared<const Callable>(Callable{method, object, nullptr}));
  }
  if (is_dunder(name) || is_unsafe_method(object, name))
    return undefined_attribute(object, &name, true);
  return std::nullopt;
}

std::optional<size_t> checked_index(int64_t index, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<size_t>(index);
}

std::optional<Value> indexed(const Value& object, int64_t index) {
  if (object.is_sequence() && object.sequence()->is_indexable()) {
    const auto at = checked_index(index, object.sequence()->items.size());
    if (at) return object.sequence()->items[*at];
  }
  if (object.is_string()) {
    const MarkedText& text = object.text();
    const auto at = checked_index(index, count_characters(text.bytes()));
    if (!at) return std::nullopt;
    const size_t begin = offset_of_character(text.bytes(), *at);
    return Value(text.slice(begin, begin + utf8_step(text.bytes(), begin).bytes));
  }
  return std::nullopt;
}

struct SliceBounds {
  int64_t begin;
  int64_t end;
  int64_t step;
  int64_t count;
};

Result<std::optional<int64_t>> slice_number(const Value& value) {
  if (value.is_none()) return std::optional<int64_t>();
  if (const auto number = value.small_int()) return number;
  // A number that large only says "to the end".
  if (value.kind() == Value::Kind::kBigInt)
    return std::optional<int64_t>(value.big_digits().starts_with('-') ? INT64_MIN / 4
                                                                      : INT64_MAX / 4);
  if (value.is_undefined()) return undefined_error(value);
  return type_error("slice indices must be integers or None");
}

// slice.indices() of Python.
Result<SliceBounds> slice_bounds(const Value& begin, const Value& end, const Value& step,
                                 size_t size) {
  SMOE_TRY(const auto given_begin, slice_number(begin));
  SMOE_TRY(const auto given_end, slice_number(end));
  SMOE_TRY(const auto given_step, slice_number(step));
  const auto count = static_cast<int64_t>(size);
  const int64_t stride = std::clamp<int64_t>(given_step.value_or(1), -INT64_MAX, INT64_MAX);
  if (stride == 0) return type_error("slice step cannot be zero");
  const int64_t lowest = stride < 0 ? -1 : 0;
  const int64_t highest = stride < 0 ? count - 1 : count;
  const auto bound = [&](std::optional<int64_t> given, int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + count : *given, lowest, highest);
  };
  const int64_t first = bound(given_begin, stride < 0 ? highest : lowest);
  const int64_t last = bound(given_end, stride < 0 ? lowest : highest);
  int64_t taken = 0;
  if (stride > 0 && first < last) taken = (last - first - 1) / stride + 1;
  if (stride < 0 && last < first) taken = (first - last - 1) / -stride + 1;
  return SliceBounds{first, last, stride, taken};
}

Result<Value> slice_text(Run& run, const MarkedText& text, const SliceBounds& bounds) {
  MarkedText result;
  if (bounds.step == 1) {
    const auto first = static_cast<size_t>(bounds.begin);
    const size_t begin = offset_of_character(text.bytes(), first);
    const size_t length =
        offset_of_character(text.bytes().substr(begin), static_cast<size_t>(bounds.count));
    SMOE_DO(run.spend_bytes(length));
    return Value(text.slice(begin, begin + length));
  }
  SMOE_DO(run.spend_bytes(text.size()));
  const std::vector<size_t> offsets = character_offsets(text.bytes());
  for (int64_t i = 0; i < bounds.count; ++i) {
    const auto at = static_cast<size_t>(bounds.begin + i * bounds.step);
    result.append(text, offsets[at], offsets[at + 1]);
  }
  return Value(std::move(result));
}

Result<Value> slice_items(Run& run, const Sequence& sequence, const SliceBounds& bounds) {
  SMOE_DO(run.spend_items(static_cast<uint64_t>(bounds.count)));
  Values items;
  items.reserve(static_cast<size_t>(bounds.count));
  for (int64_t i = 0; i < bounds.count; ++i)
    items.push_back(sequence.items[static_cast<size_t>(bounds.begin + i * bounds.step)]);
  SMOE_TRY(Value result, make_sequence(sequence.flavor, std::move(items)));
  const Sequence::Range& range = sequence.range;
  result.sequence()->range = {range.begin + bounds.begin * range.step,
                              range.begin + bounds.end * range.step, range.step * bounds.step};
  return result;
}

SequencePtr as_sequence(Values items) {
  auto sequence = std::make_shared<Sequence>();
  sequence->items = std::move(items);
  return sequence;
}

}  // namespace

Error type_error(std::string message) { return {Code::kUsage, std::move(message)}; }

Error undefined_error(const Value& value) {
  const Undefined& undefined = value.undefined();
  const std::string name = undefined.name == nullptr ? "" : "'" + *undefined.name + "'";
  if (undefined.unsafe)
    return type_error("access to attribute " + name + " of '" + std::string(undefined.owner) +
                      "' object is unsafe");
  if (name.empty()) return type_error("an element that does not exist is undefined");
  if (undefined.owner.empty()) return type_error(name + " is undefined");
  return type_error("'" + std::string(undefined.owner) + " object' has no attribute " + name);
}

Result<bool> is_equal(Run& run, const Value& a, const Value& b) {
  SMOE_DO(run.spend(1));
  if (a.kind() != b.kind() || !(a.is_sequence() || a.is_dict())) {
    return equal_scalars(a, b) || (a.kind() == b.kind() && !a.is_float() && a.is_same(b));
  }
  if (a.is_sequence()) return sequences_equal(run, *a.sequence(), *b.sequence());
  return dicts_equal(run, a.dict(), b.dict());
}

Result<bool> compare(Run& run, Comparison comparison, const Value& a, const Value& b) {
  if (comparison == Comparison::kEqual) return is_equal(run, a, b);
  if (comparison == Comparison::kNotEqual) {
    SMOE_TRY(const bool equal, is_equal(run, a, b));
    return !equal;
  }
  if (a.is_number() && b.is_number()) return holds(comparison, compare_numbers(a, b));
  if (a.is_string() && b.is_string()) return holds(comparison, a.bytes() <=> b.bytes());
  if (a.is_sequence() && b.is_sequence() && a.sequence()->flavor == b.sequence()->flavor &&
      a.sequence()->flavor <= Sequence::Flavor::kTuple)
    return compare_sequences(run, comparison, *a.sequence(), *b.sequence());
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  return type_error("'" + std::string(kComparisonNames[static_cast<size_t>(comparison)]) +
                    "' not supported between " + quoted_type(a) + " and " + quoted_type(b));
}

Result<bool> is_less(Run& run, const Value& a, const Value& b) {
  return compare(run, Comparison::kLess, a, b);
}

Result<bool> contains(Run& run, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string())
      return type_error("'in <string>' requires a string on the left, not " + quoted_type(item));
    SMOE_DO(run.spend_bytes(container.text().size()));
    return container.bytes().find(item.bytes()) != std::string_view::npos;
  }
  if (container.is_dict()) {
    if (!hash_of(item)) return type_error("unhashable type: " + quoted_type(item));
    return container.dict().find(item) != nullptr;
  }
  if (container.is_sequence()) {
    Sequence& sequence = *container.sequence();
    if (sequence.flavor == Sequence::Flavor::kGenerator)
      return sequence_contains(run, sequence, item);
    for (const Value& each : sequence.items) {
      SMOE_TRY(const bool equal, is_equal(run, each, item));
      if (equal || each.is_same(item)) return true;
    }
    return false;
  }
  if (container.is_undefined()) return false;
  return type_error("argument of type " + quoted_type(container) + " is not iterable");
}

Result<Value> apply(Run& run, Arithmetic operation, const Value& a, const Value& b) {
  constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};
  if (a.is_number() && b.is_number()) return compute(operation, a, b);
  if (operation == Arithmetic::kModulo && a.is_string()) {
    SMOE_TRY(MarkedText text, percent_format(run, a.text(), b));
    return Value(std::move(text));
  }
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  if (operation == Arithmetic::kAdd) return join_values(run, a, b);
  if (operation == Arithmetic::kMultiply) {
    if (is_repeatable(a) && b.small_int()) return repeat(run, a, *b.small_int());
    if (is_repeatable(b) && a.small_int()) return repeat(run, b, *a.small_int());
  }
  return type_error("unsupported operand types for " +
                    std::string(kSigns[static_cast<size_t>(operation)]) + ": " + quoted_type(a) +
                    " and " + quoted_type(b));
}

Result<Value> get_attribute(const Value& object, const std::string& name) {
  if (object.is_undefined()) return undefined_error(object);
  if (auto attribute = python_attribute(object, name)) return std::move(*attribute);
  if (object.is_dict())
    if (const Value* value = object.dict().find(name)) return *value;
  return undefined_attribute(object, &name);
}

Result<Value> get_item(const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_error(object);
  if (object.is_dict())
    if (const Value* value = object.dict().find(key)) return *value;
  if (const auto index = key.small_int())
    if (auto item = indexed(object, *index)) return std::move(*item);
  if (key.is_string()) {
    const std::string name(key.bytes());
    if (auto attribute = python_attribute(object, name)) {
      if (attribute->is_undefined()) return undefined_attribute(object, nullptr, true);
      return std::move(*attribute);
    }
  }
  return undefined_attribute(object, nullptr);
}

Result<Value> get_slice(Run& run, const Value& object, const Value& begin, const Value& end,
                        const Value& step) {
  if (object.is_undefined()) return undefined_error(object);
  if (object.is_string()) {
    SMOE_TRY(const SliceBounds bounds,
             slice_bounds(begin, end, step, count_characters(object.bytes())));
    return slice_text(run, object.text(), bounds);
  }
  if (object.is_sequence() && object.sequence()->is_indexable()) {
    SMOE_TRY(const SliceBounds bounds,
             slice_bounds(begin, end, step, object.sequence()->items.size()));
    return slice_items(run, *object.sequence(), bounds);
  }
  return type_error(quoted_type(object) + " object cannot be sliced");
}

Result<SequencePtr> iterate(Run& run, const Value& value) {
  if (value.is_undefined()) return as_sequence({});
  if (value.is_sequence()) {
    Sequence& sequence = *value.sequence();
    if (sequence.flavor != Sequence::Flavor::kGenerator) return value.sequence();
    SMOE_DO(run.spend_items(sequence.items.size() - sequence.taken));
    const auto first = sequence.items.begin() + static_cast<ptrdiff_t>(sequence.taken);
    sequence.taken = sequence.items.size();
    return as_sequence(Values(first, sequence.items.end()));
  }
  if (value.is_dict()) {
    SMOE_DO(run.spend_items(value.dict().size()));
    Values keys;
    keys.reserve(value.dict().size());
    for (const Dict::Entry& entry : value.dict().entries()) keys.push_back(entry.key);
    return as_sequence(std::move(keys));
  }
  if (value.is_string()) {
    const MarkedText& text = value.text();
    // A character that became a value of its own is a hundred times its size.
    SMOE_DO(run.spend_items(text.size() * 4));
    Values characters;
    for (size_t at = 0; at < text.size();) {
      const size_t next = at + utf8_step(text.bytes(), at).bytes;
      characters.push_back(Value(text.slice(at, next)));
      at = next;
    }
    return as_sequence(std::move(characters));
  }
  return type_error(quoted_type(value) + " object is not iterable");
}

Result<int64_t> length_of(const Value& value) {
  if (value.is_string()) return static_cast<int64_t>(count_characters(value.bytes()));
  if (value.is_dict()) return static_cast<int64_t>(value.dict().size());
  if (value.is_undefined()) return 0;
  if (value.is_sequence() && value.sequence()->flavor != Sequence::Flavor::kGenerator)
    return static_cast<int64_t>(value.sequence()->items.size());
  if (value.kind() == Value::Kind::kLoop)
    return static_cast<int64_t>(value.loop()->items->items.size());
  return type_error("object of type " + quoted_type(value) + " has no len()");
}

}  // namespace smoe::jinja
