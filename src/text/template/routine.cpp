#include "text/template/routine.h"

#include <algorithm>

#include "text/template/tables.h"

namespace smoe::jinja {
namespace {

// Walks the parameters of a signature.
class Parameters {
 public:
  explicit Parameters(std::string_view signature) : rest_(signature) {
    if (rest_.ends_with('/')) {
      rest_.remove_suffix(rest_.ends_with(",/") ? 2 : 1);
      positional_only_ = true;
    }
  }

  bool positional_only() const { return positional_only_; }

  bool next() {
    if (rest_.empty()) return false;
    const size_t comma = rest_.find(',');
    name_ = rest_.substr(0, comma);
    rest_.remove_prefix(comma == std::string_view::npos ? rest_.size() : comma + 1);
    optional_ = name_.ends_with('?');
    if (optional_) name_.remove_suffix(1);
    return true;
  }

  std::string_view name() const { return name_; }
  bool optional() const { return optional_; }

 private:
  std::string_view rest_;
  std::string_view name_;
  bool optional_ = false;
  bool positional_only_ = false;
};

}  // namespace

Error Call::wrong(std::string_view what) const {
  return {Code::kUsage, std::string(routine_.name) + "(): " + std::string(what)};
}

Status Call::bind_keyword(const Keyword& keyword) {
  Parameters parameters(routine_.signature);
  for (size_t i = 0; !parameters.positional_only() && parameters.next(); ++i) {
    if (parameters.name() != keyword.name) continue;
    if (bound_[i] != nullptr)
      return wrong("got multiple values for argument '" + std::string(keyword.name) + "'");
    bound_[i] = &keyword.value;
    return {};
  }
  return wrong("got an unexpected keyword argument '" + std::string(keyword.name) + "'");
}

Status Call::bind() {
  if (routine_.signature == "*") return {};
  Parameters parameters(routine_.signature);
  size_t count = 0;
  while (parameters.next()) {
    if (count < arguments_.positional.size()) bound_[count] = &arguments_.positional[count];
    ++count;
  }
  if (arguments_.positional.size() > count)
    return wrong("takes at most " + std::to_string(count) + " arguments, got " +
                 std::to_string(arguments_.positional.size()));
  for (const Keyword& keyword : arguments_.keywords) SMOE_DO(bind_keyword(keyword));
  Parameters again(routine_.signature);
  for (size_t i = 0; again.next(); ++i)
    if (bound_[i] == nullptr && !again.optional())
      return wrong("missing the argument '" + std::string(again.name()) + "'");
  return {};
}

bool Call::flag(size_t parameter, bool otherwise) const {
  return bound_[parameter] != nullptr ? bound_[parameter]->is_true() : otherwise;
}

Result<const MarkedText*> Call::text(size_t parameter) const {
  const Value* value = bound_[parameter];
  if (value == nullptr || !value->is_string())
    return wrong("expected a string, got " +
                 std::string(value == nullptr ? "nothing" : value->type_name()));
  return &value->text();
}

Result<int64_t> Call::integer(size_t parameter, int64_t otherwise, bool none_is_absent) const {
  const Value* value = bound_[parameter];
  if (value == nullptr || (none_is_absent && value->is_none())) return otherwise;
  if (const auto number = value->small_int()) return *number;
  return wrong("expected an integer of at most 64 bits, got " + std::string(value->type_name()));
}

Result<const MarkedText*> Call::self_text() const {
  if (self_.is_string()) return &self_.text();
  return wrong("expected a string, got " + std::string(self_.type_name()));
}

Result<Value> invoke(Run& run, const Routine& routine, const Value& self,
                     const Arguments& arguments) {
  Call call(run, routine, self, arguments);
  SMOE_DO(run.spend(1));
  SMOE_DO(call.bind());
  return routine.run(call);
}

const Routine* find_in(std::span<const Routine> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const Routine& each) { return each.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Routine* find_filter(std::string_view name) {
  if (const Routine* filter = find_in(text_filters(), name)) return filter;
  if (const Routine* filter = find_in(sequence_filters(), name)) return filter;
  return find_in(number_filters(), name);
}

const Routine* find_test(std::string_view name) { return find_in(tests(), name); }

const Routine* find_function(std::string_view name) { return find_in(functions(), name); }

namespace {

std::span<const Routine> methods_of(const Value& object) {
  if (object.is_string()) return string_methods();
  if (object.is_dict()) return dict_methods();
  if (object.kind() == Value::Kind::kLoop) return loop_methods();
  if (object.is_sequence() && object.sequence()->flavor <= Sequence::Flavor::kRange)
    return sequence_methods();
  if (object.is_integer() || object.is_float()) return number_methods();
  return {};
}

constexpr std::string_view kUnsafeDictMethods[] = {"clear", "pop", "popitem", "setdefault",
                                                   "update"};
constexpr std::string_view kUnsafeListMethods[] = {"append", "clear",  "extend",  "insert",
                                                   "pop",    "remove", "reverse", "sort"};

template <size_t kSize>
bool contains(const std::string_view (&names)[kSize], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

const Routine* find_method(const Value& object, std::string_view name) {
  return find_in(methods_of(object), name);
}

bool is_method_name(std::string_view name) {
  for (const auto table :
       {string_methods(), dict_methods(), sequence_methods(), loop_methods(), number_methods()})
    if (find_in(table, name) != nullptr) return true;
  return contains(kUnsafeDictMethods, name) || contains(kUnsafeListMethods, name);
}

bool is_unsafe_method(const Value& object, std::string_view name) {
  if (object.is_dict()) return contains(kUnsafeDictMethods, name);
  return object.is_sequence() && object.sequence()->flavor == Sequence::Flavor::kList &&
         contains(kUnsafeListMethods, name);
}

}  // namespace smoe::jinja
