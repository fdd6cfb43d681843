// Walks a template and writes its text.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/template/run.h"
#include "text/template/syntax.h"

namespace smoe::jinja {

// The names of one block. Shared, because a macro keeps the scope in which it was defined; a scope
// never holds a macro itself, only a pointer to one that the renderer owns, so there are no cycles.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<Symbol, Value>> names;

  Value* find(Symbol symbol);
  void set(Symbol symbol, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

struct MacroValue {
  const Macro* macro;
  ScopePtr scope;
};

class Renderer {
 public:
  // `variables` has a place for each name of the template; an undefined one counts as absent.
  Renderer(const Template& source, std::span<const Value> variables, Run& run);

  Result<MarkedText> render();

 private:
  enum class Flow : uint8_t { kOn, kBreak, kContinue };
  using Answer = Result<Value>;

  // Prefixes a message that does not know its place.
  Error at(Position position, const Error& error) const;
  template <class T>
  Result<T> located(Position position, Result<T> result) const {
    if (!result) return at(position, std::move(result).error());
    return result;
  }
  const std::string& name_of(Symbol symbol) const {
    return source_.names[static_cast<size_t>(symbol)];
  }

  // Expressions.
  Answer evaluate(const Expression& expression);
  Answer value_of(const Literal& node, Position position);
  Answer value_of(const Name& node, Position position);
  Answer value_of(const Piped& node, Position position);
  Answer value_of(const ListOf& node, Position position);
  Answer value_of(const DictOf& node, Position position);
  Answer value_of(const Attribute& node, Position position);
  Answer value_of(const Item& node, Position position);
  Answer value_of(const Slice& node, Position position);
  Answer value_of(const CallOf& node, Position position);
  Answer value_of(const RoutineOf& node, Position position);
  Answer value_of(const Not& node, Position position);
  Answer value_of(const Sign& node, Position position);
  Answer value_of(const Binary& node, Position position);
  Answer value_of(const Logic& node, Position position);
  Answer value_of(const Concatenation& node, Position position);
  Answer value_of(const ComparisonChain& node, Position position);
  Answer value_of(const Choice& node, Position position);
  Result<Arguments> arguments_of(const ArgumentList& list, Position position);
  Status spread(const ArgumentList& list, Position position, Arguments& arguments);
  Result<bool> compare_one(ComparisonChain::Operator operation, const Value& left,
                           const Value& right);

  // Calls.
  Answer call(const Value& callee, Arguments arguments, Position position);
  Answer call_macro(const MacroValue& macro, Arguments arguments, Position position);
  Status bind(const MacroValue& macro, Arguments& arguments, Position position);
  Status bind_extra(const Macro& macro, Arguments& arguments, Position position);
  Answer call_loop(const LoopPtr& loop, const Arguments& arguments, Position position);

  // Statements.
  Result<Flow> execute(const Body& body);
  Result<Flow> execute(const Statement& statement);
  Result<Flow> run_node(const Text& node, Position position);
  Result<Flow> run_node(const Print& node, Position position);
  Result<Flow> run_node(const Assignment& node, Position position);
  Result<Flow> run_node(const AssignmentBlock& node, Position position);
  Result<Flow> run_node(const Conditional& node, Position position);
  Result<Flow> run_node(const ForLoop& node, Position position);
  Result<Flow> run_node(const MacroDefinition& node, Position position);
  Result<Flow> run_node(const CallBlock& node, Position position);
  Result<Flow> run_node(const FilterBlock& node, Position position);
  Result<Flow> run_node(const With& node, Position position);
  Result<Flow> run_node(const Jump& node, Position position);
  Status assign(const Target& target, Value value);
  Status write(const MarkedText& text, Position position);
  Result<Value> captured(const Body& body);
  Result<Value> filtered(const Expression& filters, Value text);
  Result<Flow> run_loop(const ForLoop& node, const SequencePtr& items, int64_t nesting);
  Result<bool> run_iterations(const ForLoop& node, const LoopPtr& loop);
  Result<SequencePtr> accepted_items(const ForLoop& node, const SequencePtr& items);
  Value macro_value(const Macro& macro);

  const Template& source_;
  std::span<const Value> variables_;
  Run& run_;
  ScopePtr scope_;
  MarkedText* output_ = nullptr;
  const Value* piped_ = nullptr;
  std::deque<MacroValue> macros_;
  int macro_depth_ = 0;
  int stack_depth_ = 0;
};

}  // namespace smoe::jinja
