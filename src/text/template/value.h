// The values of a running template, with the meaning they have in Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/template/marked_text.h"

namespace smoe::jinja {

class Value;
class Dict;
struct Callable;
struct Loop;
struct ForLoop;
struct Namespace;
struct Scope;
struct Sequence;
using Values = std::vector<Value>;

// What a name, a key or an attribute is that does not exist. It prints as nothing, and most other
// uses of it are errors that say what is missing.
struct Undefined {
  const std::string* name = nullptr;  // belongs to the template; none for a computed key
  std::string_view owner;             // the type in which it was looked up; "" for a variable
  bool unsafe = false;                // exists in Python, but templates may not touch it
};

struct None {};

// An integer beyond 64 bits: kept as written, compared and printed, never computed with.
struct BigInt {
  std::shared_ptr<const std::string> digits;  // with '-' in front when negative, no leading zeros
};

// Shared ownership below, because values are shared as in Python: a variable and a list may hold
// the same string. Containers are complete when they become values, so there are no cycles.
using TextPtr = std::shared_ptr<const MarkedText>;
using SequencePtr = std::shared_ptr<Sequence>;
using DictPtr = std::shared_ptr<const Dict>;
using CallablePtr = std::shared_ptr<const Callable>;
using LoopPtr = std::shared_ptr<Loop>;

class Value {
 public:
  enum class Kind : uint8_t {
    kUndefined,
    kNone,
    kBool,
    kInt,
    kBigInt,
    kFloat,
    kString,
    kSequence,
    kDict,
    kNamespace,
    kLoop,
    kCallable,
  };

  Value() : content_(Undefined{}) {}
  explicit Value(Undefined undefined) : content_(undefined) {}
  explicit Value(None none) : content_(none) {}
  explicit Value(bool flag) : content_(flag) {}
  explicit Value(int64_t number) : content_(number) {}
  explicit Value(BigInt number) : content_(std::move(number)) {}
  explicit Value(double number) : content_(number) {}
  explicit Value(MarkedText text)
      : content_(TextPtr(std::make_shared<MarkedText>(std::move(text)))) {}
  explicit Value(TextPtr text) : content_(std::move(text)) {}
  explicit Value(SequencePtr sequence) : content_(std::move(sequence)) {}
  explicit Value(DictPtr dict) : content_(std::move(dict)) {}
  explicit Value(Namespace* space) : content_(space) {}
  explicit Value(LoopPtr loop) : content_(std::move(loop)) {}
  explicit Value(CallablePtr callable) : content_(std::move(callable)) {}

  // Text written by us, such as a key that the engine adds.
  static Value of_template(std::string_view text) {
    return Value(MarkedText(std::string(text), Origin::kTemplate));
  }
  // Every string in it, keys included, gets this origin; numbers beyond 64 bits keep their digits.
  static Value from_json(const Json& json, Origin origin);

  Kind kind() const { return static_cast<Kind>(content_.index()); }
  bool is_undefined() const { return kind() == Kind::kUndefined; }
  bool is_none() const { return kind() == Kind::kNone; }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_dict() const { return kind() == Kind::kDict; }
  bool is_sequence() const { return kind() == Kind::kSequence; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_float() const { return kind() == Kind::kFloat; }
  // bool is a kind of int in Python.
  bool is_integer() const;
  bool is_number() const { return is_integer() || is_float(); }

  // Each needs its kind.
  const Undefined& undefined() const { return std::get<Undefined>(content_); }
  bool boolean() const { return std::get<bool>(content_); }
  double floating() const { return std::get<double>(content_); }
  const std::string& big_digits() const { return *std::get<BigInt>(content_).digits; }
  const MarkedText& text() const { return *std::get<TextPtr>(content_); }
  std::string_view bytes() const { return text().bytes(); }
  const SequencePtr& sequence() const { return std::get<SequencePtr>(content_); }
  const Dict& dict() const { return *std::get<DictPtr>(content_); }
  Namespace* space() const { return std::get<Namespace*>(content_); }
  const LoopPtr& loop() const { return std::get<LoopPtr>(content_); }
  const Callable& callable() const { return *std::get<CallablePtr>(content_); }
  // A bool or an int of at most 64 bits.
  std::optional<int64_t> small_int() const;

  bool is_true() const;
  // As Python names it: 'str', 'list', 'NoneType'.
  std::string_view type_name() const;
  // Whether both are the very same object, or equal constants.
  bool is_same(const Value& other) const;
  // How many containers lie in one another.
  int depth() const;

 private:
  std::variant<Undefined, None, bool, int64_t, BigInt, double, TextPtr, SequencePtr, DictPtr,
               Namespace*, LoopPtr, CallablePtr>
      content_;
};

// Deeper values are refused, so that what walks them can be recursive.
constexpr int kMaxValueDepth = 200;

struct Sequence {
  enum class Flavor : uint8_t { kList, kTuple, kRange, kKeys, kValues, kItems, kGenerator };

  Flavor flavor = Flavor::kList;
  int depth = 1;
  Values items;
  size_t taken = 0;  // of a generator: items that were given out already
  struct Range {
    int64_t begin;
    int64_t end;
    int64_t step;
  };
  Range range{0, 0, 1};  // what a range prints as

  bool is_indexable() const { return flavor <= Flavor::kRange; }
};

// Fails: kUsage when it would be nested too deeply.
Result<Value> make_sequence(Sequence::Flavor flavor, Values items);
inline Result<Value> make_list(Values items) {
  return make_sequence(Sequence::Flavor::kList, std::move(items));
}
inline Result<Value> make_tuple(Values items) {
  return make_sequence(Sequence::Flavor::kTuple, std::move(items));
}

// In insertion order. Keys are scalars: strings, numbers, bools and none.
class Dict {
 public:
  struct Entry {
    Value key;
    Value value;
  };

  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  // nullptr when there is none.
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  // An equal key keeps its place and gets the new value. Fails: kUsage for an unhashable key.
  Status set(Value key, Value value);
  int depth() const { return depth_; }

 private:
  std::optional<size_t> position_of(const Value& key, size_t hash) const;

  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, size_t> index_;  // by hash, only when there are many
  int depth_ = 1;
};

// Fails: kUsage when it would be nested too deeply.
Result<Value> make_dict(Dict dict);

// The one thing that a template can change. Owned by the run, so that it may hold itself.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;

  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

// `loop`
struct Loop {
  SequencePtr items;
  size_t position = 0;
  int64_t nesting = 1;  // of recursive loops
  std::optional<Values> last_changed;
  const ForLoop* statement = nullptr;  // of a recursive loop, with the scope around it
  std::shared_ptr<Scope> scope;
};

// Scalars only; others are never equal to anything here.
bool equal_scalars(const Value& a, const Value& b);
// Nothing for what Python calls unhashable.
std::optional<size_t> hash_of(const Value& value);

}  // namespace smoe::jinja
