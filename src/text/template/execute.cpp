// The statements of a template.
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/renderer.h"

namespace smoe::jinja {

Renderer::Renderer(const Template& source, std::span<const Value> variables, Run& run)
    : source_(source), variables_(variables), run_(run), scope_(std::make_shared<Scope>()) {}

Result<MarkedText> Renderer::render() {
  MarkedText output;
  output_ = &output;
  SMOE_TRY(const Flow flow, execute(source_.body));
  static_cast<void>(flow);
  return output;
}

Result<Renderer::Flow> Renderer::execute(const Body& body) {
  for (const Statement& statement : body) {
    SMOE_TRY(const Flow flow, execute(statement));
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

Result<Renderer::Flow> Renderer::execute(const Statement& statement) {
  if (auto paid = run_.spend(1); !paid) return at(statement.at, std::move(paid).error());
  ++stack_depth_;
  auto flow =
      std::visit([&](const auto& node) { return run_node(node, statement.at); }, statement.node);
  --stack_depth_;
  return flow;
}

Status Renderer::write(const MarkedText& text, Position position) {
  output_->append(text);
  if (output_->size() > run_.limits().output_bytes)
    return at(position, type_error("the output is larger than the limit of " +
                                   std::to_string(run_.limits().output_bytes) + " bytes"));
  return located(position, run_.spend(1 + text.size() / 16));
}

Result<Renderer::Flow> Renderer::run_node(const Text& node, Position position) {
  SMOE_DO(write(*node.text, position));
  return Flow::kOn;
}

Result<Renderer::Flow> Renderer::run_node(const Print& node, Position position) {
  SMOE_TRY(const Value value, evaluate(node.value));
  if (value.is_string()) {
    SMOE_DO(write(value.text(), position));
    return Flow::kOn;
  }
  SMOE_TRY(const MarkedText text, located(position, to_text(run_, value)));
  SMOE_DO(write(text, position));
  return Flow::kOn;
}

Status Renderer::assign(const Target& target, Value value) {
  if (target.is_tuple) {
    SMOE_TRY(const SequencePtr items, located(target.at, iterate(run_, value)));
    if (items->items.size() != target.parts.size())
      return at(target.at,
                type_error("cannot unpack " + std::to_string(items->items.size()) +
                           " values into " + std::to_string(target.parts.size()) + " names"));
    for (size_t i = 0; i < target.parts.size(); ++i)
      SMOE_DO(assign(target.parts[i], items->items[i]));
    return {};
  }
  if (target.attribute.empty()) {
    scope_->set(target.symbol, std::move(value));
    return {};
  }
  SMOE_TRY(const Value space, value_of(Name{target.symbol}, target.at));
  if (space.kind() != Value::Kind::kNamespace)
    return at(target.at, type_error("cannot assign attribute on a value that is no namespace"));
  space.space()->set(target.attribute, std::move(value));
  return {};
}

Result<Renderer::Flow> Renderer::run_node(const Assignment& node, Position) {
  SMOE_TRY(Value value, evaluate(node.value));
  SMOE_DO(assign(node.target, std::move(value)));
  return Flow::kOn;
}

// The text that a body writes, in a scope of its own.
Result<Value> Renderer::captured(const Body& body) {
  MarkedText text;
  MarkedText* const outer_output = std::exchange(output_, &text);
  const ScopePtr outer = scope_;
  scope_ = std::make_shared<Scope>();
  scope_->parent = outer;
  auto flow = execute(body);
  scope_ = outer;
  output_ = outer_output;
  if (!flow) return std::move(flow).error();
  return Value(std::move(text));
}

Result<Value> Renderer::filtered(const Expression& filters, Value text) {
  const Value* const outer = std::exchange(piped_, &text);
  auto result = evaluate(filters);
  piped_ = outer;
  return result;
}

Result<Renderer::Flow> Renderer::run_node(const AssignmentBlock& node, Position) {
  SMOE_TRY(Value text, captured(node.body));
  SMOE_TRY(Value value, filtered(node.filtered, std::move(text)));
  SMOE_DO(assign(node.target, std::move(value)));
  return Flow::kOn;
}

Result<Renderer::Flow> Renderer::run_node(const FilterBlock& node, Position position) {
  SMOE_TRY(Value text, captured(node.body));
  SMOE_TRY(const Value value, filtered(node.filtered, std::move(text)));
  SMOE_TRY(const MarkedText printed, located(position, to_text(run_, value)));
  SMOE_DO(write(printed, position));
  return Flow::kOn;
}

Result<Renderer::Flow> Renderer::run_node(const Conditional& node, Position) {
  for (const auto& [condition, body] : node.branches) {
    SMOE_TRY(const Value value, evaluate(condition));
    if (value.is_true()) return execute(body);
  }
  return execute(node.otherwise);
}

Result<Renderer::Flow> Renderer::run_node(const ForLoop& node, Position) {
  SMOE_TRY(const Value value, evaluate(node.items));
  SMOE_TRY(const SequencePtr items, located(node.items.at, iterate(run_, value)));
  return run_loop(node, items, 1);
}

Result<Renderer::Flow> Renderer::run_loop(const ForLoop& node, const SequencePtr& items,
                                          int64_t nesting) {
  SMOE_TRY(const SequencePtr accepted, accepted_items(node, items));
  const ScopePtr outer = scope_;
  const auto loop = std::make_shared<Loop>();
  loop->items = accepted;
  loop->nesting = nesting;
  if (node.recursive) {
    loop->statement = &node;
    loop->scope = outer;
  }
  const Result<bool> any_completed = run_iterations(node, loop);
  // It may have been given itself.
  loop->last_changed.reset();
  scope_ = outer;
  SMOE_TRY(const bool skips_otherwise, any_completed);
  if (skips_otherwise) return Flow::kOn;
  scope_ = std::make_shared<Scope>();
  scope_->parent = outer;
  auto flow = execute(node.otherwise);
  scope_ = outer;
  return flow;
}

Result<SequencePtr> Renderer::accepted_items(const ForLoop& node, const SequencePtr& items) {
  if (!node.condition) return items;
  const ScopePtr outer = scope_;
  auto accepted = std::make_shared<Sequence>();
  const Status status = [&]() -> Status {
    for (const Value& item : items->items) {
      scope_ = std::make_shared<Scope>();
      scope_->parent = outer;
      SMOE_DO(assign(node.target, item));
      SMOE_TRY(const Value wanted, evaluate(*node.condition));
      if (wanted.is_true()) accepted->items.push_back(item);
    }
    return {};
  }();
  scope_ = outer;
  SMOE_DO(status);
  return accepted;
}

// Whether any round came to its end: as in Jinja, `else` also runs when each one was left early.
Result<bool> Renderer::run_iterations(const ForLoop& node, const LoopPtr& loop) {
  const ScopePtr outer = scope_;
  scope_ = nullptr;
  bool any_completed = false;
  for (size_t i = 0; i < loop->items->items.size(); ++i) {
    loop->position = i;
    // Every round begins with an empty scope; one that a macro keeps is left to it.
    if (scope_ == nullptr || scope_.use_count() > 1) {
      scope_ = std::make_shared<Scope>();
      scope_->parent = outer;
    } else {
      scope_->names.clear();
    }
    scope_->set(kLoopSymbol, Value(loop));
    SMOE_DO(assign(node.target, loop->items->items[i]));
    SMOE_TRY(const Flow flow, execute(node.body));
    any_completed = any_completed || flow == Flow::kOn;
    if (flow == Flow::kBreak) break;
  }
  return any_completed;
}

Result<Value> Renderer::call_loop(const LoopPtr& loop, const Arguments& arguments,
                                  Position position) {
  if (loop->statement == nullptr)
    return at(position, type_error("the loop is not recursive: it lacks the word 'recursive'"));
  if (arguments.positional.size() != 1 || !arguments.keywords.empty())
    return at(position, type_error("loop() takes one argument"));
  if (loop->nesting >= run_.limits().depth)
    return at(position, type_error("a recursive loop is nested too deeply"));
  SMOE_TRY(const SequencePtr items, located(position, iterate(run_, arguments.positional[0])));
  MarkedText text;
  MarkedText* const outer_output = std::exchange(output_, &text);
  const ScopePtr outer = std::exchange(scope_, loop->scope);
  auto flow = run_loop(*loop->statement, items, loop->nesting + 1);
  scope_ = outer;
  output_ = outer_output;
  if (!flow) return std::move(flow).error();
  return Value(std::move(text));
}

Value Renderer::macro_value(const Macro& macro) {
  const MacroValue& value = macros_.emplace_back(MacroValue{&macro, scope_});
  return Value(std::make_shared<const Callable>(Callable{nullptr, Value(), &value}));
}

Result<Renderer::Flow> Renderer::run_node(const MacroDefinition& node, Position) {
  scope_->set(node.macro->name, macro_value(*node.macro));
  return Flow::kOn;
}

Result<Renderer::Flow> Renderer::run_node(const CallBlock& node, Position position) {
  const auto& call_node = std::get<CallOf>(node.call.node);
  SMOE_TRY(const Value callee, evaluate(*call_node.callee));
  SMOE_TRY(Arguments arguments, arguments_of(call_node.arguments, node.call.at));
  arguments.keywords.push_back({name_of(kCallerSymbol), macro_value(*node.caller)});
  SMOE_TRY(const Value value, call(callee, std::move(arguments), node.call.at));
  SMOE_TRY(const MarkedText text, located(position, to_text(run_, value)));
  SMOE_DO(write(text, position));
  return Flow::kOn;
}

Result<Renderer::Flow> Renderer::run_node(const With& node, Position) {
  const ScopePtr outer = scope_;
  const auto inner = std::make_shared<Scope>();
  inner->parent = outer;
  // The values are found outside of the block.
  std::vector<Value> values;
  for (const auto& [target, expression] : node.assignments) {
    SMOE_TRY(Value value, evaluate(expression));
    values.push_back(std::move(value));
  }
  scope_ = inner;
  auto flow = [&]() -> Result<Flow> {
    for (size_t i = 0; i < values.size(); ++i)
      SMOE_DO(assign(node.assignments[i].target, std::move(values[i])));
    return execute(node.body);
  }();
  scope_ = outer;
  return flow;
}

Result<Renderer::Flow> Renderer::run_node(const Jump& node, Position) {
  return node.is_break ? Flow::kBreak : Flow::kContinue;
}

}  // namespace smoe::jinja
