// What can stand behind `is`.
#include "text/template/characters.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/tables.h"

namespace smoe::jinja {
namespace {

using Answer = Result<Value>;
using Kind = Value::Kind;

template <bool (*kPredicate)(const Value&)>
Answer answers(Call& call) {
  return Value(kPredicate(call.self()));
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.is_bool(); }
bool is_true(const Value& value) { return value.is_bool() && value.boolean(); }
bool is_false(const Value& value) { return value.is_bool() && !value.boolean(); }
bool is_integer(const Value& value) { return value.is_integer() && !value.is_bool(); }
bool is_float(const Value& value) { return value.is_float(); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_string(const Value& value) { return value.is_string(); }
bool is_mapping(const Value& value) { return value.is_dict(); }

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is_dict() || value.is_sequence() ||
         value.kind() == Kind::kLoop;
}

// Has a length and can be indexed: in Python an undefined value does too, and so does a dict.
bool is_sequence(const Value& value) {
  if (value.is_sequence()) return value.sequence()->is_indexable();
  return value.is_undefined() || value.is_string() || value.is_dict();
}

bool is_callable(const Value& value) {
  return value.is_undefined() || value.kind() == Kind::kCallable || value.kind() == Kind::kLoop;
}

bool is_escaped(const Value&) { return false; }

template <Comparison kComparison>
Answer compares(Call& call) {
  SMOE_TRY(const bool answer, compare(call.run(), kComparison, call.self(), *call.at(0)));
  return Value(answer);
}

Answer remainder_is(Call& call, const Value& divisor, int64_t wanted) {
  SMOE_TRY(const Value rest, apply(call.run(), Arithmetic::kModulo, call.self(), divisor));
  SMOE_TRY(const bool answer, is_equal(call.run(), rest, Value(wanted)));
  return Value(answer);
}

Answer is_odd(Call& call) { return remainder_is(call, Value(int64_t{2}), 1); }
Answer is_even(Call& call) { return remainder_is(call, Value(int64_t{2}), 0); }
Answer is_divisible(Call& call) { return remainder_is(call, *call.at(0), 0); }

Answer is_in(Call& call) {
  SMOE_TRY(const bool answer, contains(call.run(), *call.at(0), call.self()));
  return Value(answer);
}

Answer is_same_as(Call& call) { return Value(call.self().is_same(*call.at(0))); }

template <bool (*kPredicate)(std::string_view)>
Answer text_is(Call& call) {
  SMOE_TRY(const MarkedText text, to_text(call.run(), call.self()));
  return Value(kPredicate(text.bytes()));
}

template <const Routine* (*kFind)(std::string_view)>
Answer is_known(Call& call) {
  return Value(call.self().is_string() && kFind(call.self().bytes()) != nullptr);
}

constexpr Routine kTests[] = {
    {"!=", "other", compares<Comparison::kNotEqual>},
    {"<", "other", compares<Comparison::kLess>},
    {"<=", "other", compares<Comparison::kLessEqual>},
    {"==", "other", compares<Comparison::kEqual>},
    {">", "other", compares<Comparison::kGreater>},
    {">=", "other", compares<Comparison::kGreaterEqual>},
    {"boolean", "", answers<is_boolean>},
    {"callable", "", answers<is_callable>},
    {"defined", "", answers<is_defined>},
    {"divisibleby", "num", is_divisible},
    {"eq", "other", compares<Comparison::kEqual>},
    {"equalto", "other", compares<Comparison::kEqual>},
    {"escaped", "", answers<is_escaped>},
    {"even", "", is_even},
    {"false", "", answers<is_false>},
    {"filter", "", is_known<find_filter>},
    {"float", "", answers<is_float>},
    {"ge", "other", compares<Comparison::kGreaterEqual>},
    {"greaterthan", "other", compares<Comparison::kGreater>},
    {"gt", "other", compares<Comparison::kGreater>},
    {"in", "seq", is_in},
    {"integer", "", answers<is_integer>},
    {"iterable", "", answers<is_iterable>},
    {"le", "other", compares<Comparison::kLessEqual>},
    {"lessthan", "other", compares<Comparison::kLess>},
    {"lower", "", text_is<is_lower>},
    {"lt", "other", compares<Comparison::kLess>},
    {"mapping", "", answers<is_mapping>},
    {"ne", "other", compares<Comparison::kNotEqual>},
    {"none", "", answers<is_none>},
    {"number", "", answers<is_number>},
    {"odd", "", is_odd},
    {"sameas", "other", is_same_as},
    {"sequence", "", answers<is_sequence>},
    {"string", "", answers<is_string>},
    {"test", "", is_known<find_test>},
    {"true", "", answers<is_true>},
    {"undefined", "", answers<is_undefined>},
    {"upper", "", text_is<is_upper>},
};

}  // namespace

std::span<const Routine> tests() { return kTests; }

}  // namespace smoe::jinja
