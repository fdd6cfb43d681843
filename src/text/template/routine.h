// Filters, tests, methods and functions: C++ behind a name and a signature.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/template/run.h"
#include "text/template/value.h"

namespace smoe::jinja {

struct Keyword {
  std::string_view name;
  Value value;
};

struct Arguments {
  Values positional;
  std::vector<Keyword> keywords;
  std::deque<std::string> names;  // of keywords whose names stand in no template
};

struct Routine;

// One call of a routine. `self` is what a filter or test is applied to and whose method runs.
class Call {
 public:
  Call(Run& run, const Routine& routine, const Value& self, const Arguments& arguments)
      : run_(run), routine_(routine), self_(self), arguments_(arguments) {}

  Run& run() const { return run_; }
  const Value& self() const { return self_; }
  const Arguments& arguments() const { return arguments_; }

  // Gives each parameter of the signature its argument. Fails: kUsage as Python's TypeError.
  Status bind();

  // The argument of a parameter, nullptr when it was left out.
  const Value* at(size_t parameter) const { return bound_[parameter]; }
  bool flag(size_t parameter, bool otherwise) const;
  // Fails: kUsage when the argument has another type.
  Result<const MarkedText*> text(size_t parameter) const;
  // `otherwise` also stands for None where the caller says so.
  Result<int64_t> integer(size_t parameter, int64_t otherwise, bool none_is_absent = false) const;
  // self as text; anything but a string is an error.
  Result<const MarkedText*> self_text() const;

  Error wrong(std::string_view what) const;

 private:
  Status bind_keyword(const Keyword& keyword);

  static constexpr size_t kMaxParameters = 6;

  Run& run_;
  const Routine& routine_;
  const Value& self_;
  const Arguments& arguments_;
  std::array<const Value*, kMaxParameters> bound_{};
};

struct Routine {
  std::string_view name;
  // Parameter names with commas between; `?` behind one that may be left out; a final "/" when
  // none may be given by name; "*" takes anything and binds nothing.
  std::string_view signature;
  Result<Value> (*run)(Call& call);
};

Result<Value> invoke(Run& run, const Routine& routine, const Value& self,
                     const Arguments& arguments);

// nullptr when there is none of that name.
const Routine* find_filter(std::string_view name);
const Routine* find_test(std::string_view name);
const Routine* find_function(std::string_view name);
// Of str, dict, list and the other types.
const Routine* find_method(const Value& object, std::string_view name);
// Whether any type has a method of this name.
bool is_method_name(std::string_view name);
// Methods that would change their object, which a sandboxed template may not call.
bool is_unsafe_method(const Value& object, std::string_view name);

// A table of routines is searched by name.
const Routine* find_in(std::span<const Routine> table, std::string_view name);

struct MacroValue;

// A value that can be called.
struct Callable {
  const Routine* routine = nullptr;
  Value self;                         // of a bound method
  const MacroValue* macro = nullptr;  // belongs to the renderer
};

}  // namespace smoe::jinja
