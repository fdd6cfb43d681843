// A parsed template.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/template/numbers.h"
#include "text/template/operators.h"
#include "text/template/routine.h"
#include "text/template/token.h"
#include "text/template/value.h"

namespace smoe::jinja {

// A name of the template: an index into Template::names.
enum class Symbol : uint32_t {};

struct Expression;
struct NamedArgument;
struct DictEntry;
struct ComparisonStep;
using ExpressionPtr = std::unique_ptr<Expression>;

struct ArgumentList {
  std::vector<Expression> positional;
  std::vector<NamedArgument> keywords;
  ExpressionPtr spread;           // *args
  ExpressionPtr spread_keywords;  // **kwargs
};

struct Literal {
  Value value;
};
struct Name {
  Symbol symbol;
};
struct Piped {};  // what a filter block hands to its first filter
struct ListOf {
  std::vector<Expression> items;
  bool is_tuple;
};
struct DictOf {
  std::vector<DictEntry> entries;
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Item {
  ExpressionPtr object;
  ExpressionPtr key;
};
struct Slice {
  ExpressionPtr object;
  std::array<ExpressionPtr, 3> bounds;  // begin, end, step; null where absent
};
struct CallOf {
  ExpressionPtr callee;
  ArgumentList arguments;
};
struct RoutineOf {  // a filter or a test
  ExpressionPtr operand;
  const Routine* routine;
  ArgumentList arguments;
};
struct Not {
  ExpressionPtr operand;
};
struct Sign {
  ExpressionPtr operand;
  bool negative;
};
struct Binary {
  Arithmetic operation;
  ExpressionPtr left;
  ExpressionPtr right;
};
struct Logic {
  bool is_or;
  ExpressionPtr left;
  ExpressionPtr right;
};
struct Concatenation {
  std::vector<Expression> parts;
};
struct ComparisonChain {
  enum class Operator : uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kIn,
    kNotIn,
  };
  ExpressionPtr first;
  std::vector<ComparisonStep> rest;
};
struct Choice {
  ExpressionPtr condition;
  ExpressionPtr then;
  ExpressionPtr otherwise;  // may be null
};

struct Expression {
  Position at;
  int depth = 1;  // of the tree below, so that walking it needs a bounded stack
  std::variant<Literal, Name, Piped, ListOf, DictOf, Attribute, Item, Slice, CallOf, RoutineOf, Not,
               Sign, Binary, Logic, Concatenation, ComparisonChain, Choice>
      node;
};

struct NamedArgument {
  std::string name;
  Expression value;
};
struct DictEntry {
  Expression key;
  Expression value;
};
struct ComparisonStep {
  ComparisonChain::Operator operation;
  Expression operand;
};

struct Target {
  Position at;
  Symbol symbol{};
  std::string attribute;      // of a namespace; "" for a plain name
  std::vector<Target> parts;  // of a tuple
  bool is_tuple = false;
};

struct Statement;
using Body = std::vector<Statement>;

struct Text {
  TextPtr text;
};
struct Print {
  Expression value;
};
struct Assignment {
  Target target;
  Expression value;
};
struct AssignmentBlock {
  Target target;
  Expression filtered;  // what becomes of the body, as Piped
  Body body;
};
struct Branch {
  Expression condition;
  Body body;
};
struct Conditional {
  std::vector<Branch> branches;
  Body otherwise;
};
struct ForLoop {
  Target target;
  Expression items;
  ExpressionPtr condition;  // may be null
  bool recursive = false;
  Body body;
  Body otherwise;
};
struct Macro {
  struct Parameter {
    Symbol symbol;
    ExpressionPtr otherwise;  // may be null
  };
  Symbol name{};
  std::vector<Parameter> parameters;
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
  Body body;
};
struct MacroDefinition {
  std::unique_ptr<Macro> macro;
};
struct CallBlock {
  std::unique_ptr<Macro> caller;
  Expression call;  // its node is a CallOf
};
struct FilterBlock {
  Expression filtered;
  Body body;
};
struct With {
  std::vector<Assignment> assignments;
  Body body;
};
struct Jump {
  bool is_break;
};

struct Statement {
  Position at;
  std::variant<Text, Print, Assignment, AssignmentBlock, Conditional, ForLoop, MacroDefinition,
               CallBlock, FilterBlock, With, Jump>
      node;
};

struct Template {
  std::string name;  // of the file, for errors
  std::deque<std::string> names;
  Body body;
};

// Names that mean something to the renderer have fixed symbols.
constexpr Symbol kLoopSymbol{0};
constexpr Symbol kCallerSymbol{1};
constexpr Symbol kVarargsSymbol{2};
constexpr Symbol kKwargsSymbol{3};

constexpr size_t kMaxSourceBytes = size_t{256} << 10;
constexpr int kMaxSyntaxDepth = 200;

// Fails: kCorrupt for syntax that Jinja does not accept; kUnsupported for what it has and we lack,
// and for filters, tests, functions and methods that do not exist, in whichever branch they are.
// Every message begins with name, line and column.
Result<Template> parse_template(std::string_view source, std::string_view name);

}  // namespace smoe::jinja
