// The expressions of a template.
#include <fmt/format.h>

#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/renderer.h"

namespace smoe::jinja {
namespace {

// Of expressions and statements within one another, macros included: what a thread's stack of
// 8 MiB holds several times.
constexpr int kMaxStackDepth = 1500;

}  // namespace

Value* Scope::find(Symbol symbol) {
  for (auto& [name, value] : names)
    if (name == symbol) return &value;
  return nullptr;
}

void Scope::set(Symbol symbol, Value value) {
  if (Value* held = find(symbol)) {
    *held = std::move(value);
  } else {
    names.emplace_back(symbol, std::move(value));
  }
}

Error Renderer::at(Position position, const Error& error) const {
  return error_at(source_.name, position, error.code, error.message);
}

Result<Value> Renderer::evaluate(const Expression& expression) {
  if (auto paid = run_.spend(1); !paid) return at(expression.at, std::move(paid).error());
  if (stack_depth_ >= kMaxStackDepth)
    return at(expression.at, type_error("the template is nested too deeply"));
  ++stack_depth_;
  auto result =
      std::visit([&](const auto& node) { return value_of(node, expression.at); }, expression.node);
  --stack_depth_;
  return result;
}

Result<Value> Renderer::value_of(const Literal& node, Position) { return node.value; }

Result<Value> Renderer::value_of(const Name& node, Position) {
  for (Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get())
    if (const Value* value = scope->find(node.symbol)) return *value;
  const Value& variable = variables_[static_cast<size_t>(node.symbol)];
  if (!variable.is_undefined()) return variable;
  const std::string& name = name_of(node.symbol);
  if (const Routine* routine = find_function(name))
    return Value(std::make_shared<const Callable>(Callable{routine, Value(), nullptr}));
  return Value(Undefined{&name, "", false});
}

Result<Value> Renderer::value_of(const Piped&, Position) { return *piped_; }

Result<Value> Renderer::value_of(const ListOf& node, Position position) {
  Values items;
  items.reserve(node.items.size());
  for (const Expression& each : node.items) {
    SMOE_TRY(Value item, evaluate(each));
    items.push_back(std::move(item));
  }
  SMOE_DO(located(position, run_.spend_items(items.size())));
  return located(position,
                 node.is_tuple ? make_tuple(std::move(items)) : make_list(std::move(items)));
}

Result<Value> Renderer::value_of(const DictOf& node, Position position) {
  Dict dict;
  for (const auto& [key_node, value_node] : node.entries) {
    SMOE_TRY(Value key, evaluate(key_node));
    SMOE_TRY(Value value, evaluate(value_node));
    SMOE_DO(located(key_node.at, dict.set(std::move(key), std::move(value))));
  }
  SMOE_DO(located(position, run_.spend_items(2 * node.entries.size())));
  return located(position, make_dict(std::move(dict)));
}

Result<Value> Renderer::value_of(const Attribute& node, Position position) {
  SMOE_TRY(const Value object, evaluate(*node.object));
  return located(position, get_attribute(object, node.name));
}

Result<Value> Renderer::value_of(const Item& node, Position position) {
  SMOE_TRY(const Value object, evaluate(*node.object));
  SMOE_TRY(const Value key, evaluate(*node.key));
  return located(position, get_item(object, key));
}

Result<Value> Renderer::value_of(const Slice& node, Position position) {
  SMOE_TRY(const Value object, evaluate(*node.object));
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    bounds[i] = Value(None{});
    if (!node.bounds[i]) continue;
    SMOE_TRY(bounds[i], evaluate(*node.bounds[i]));
  }
  return located(position, get_slice(run_, object, bounds[0], bounds[1], bounds[2]));
}

Result<Value> Renderer::value_of(const CallOf& node, Position position) {
  SMOE_TRY(const Value callee, evaluate(*node.callee));
  SMOE_TRY(Arguments arguments, arguments_of(node.arguments, position));
  return call(callee, std::move(arguments), position);
}

Result<Value> Renderer::value_of(const RoutineOf& node, Position position) {
  SMOE_TRY(const Value operand, evaluate(*node.operand));
  SMOE_TRY(const Arguments arguments, arguments_of(node.arguments, position));
  return located(position, invoke(run_, *node.routine, operand, arguments));
}

Result<Value> Renderer::value_of(const Not& node, Position) {
  SMOE_TRY(const Value operand, evaluate(*node.operand));
  return Value(!operand.is_true());
}

Result<Value> Renderer::value_of(const Sign& node, Position position) {
  SMOE_TRY(const Value operand, evaluate(*node.operand));
  if (operand.is_undefined()) return at(position, undefined_error(operand));
  if (!operand.is_number())
    return at(position,
              type_error("a sign needs a number, not '" + std::string(operand.type_name()) + "'"));
  if (node.negative) return located(position, negate(operand));
  return operand.is_bool() ? Value(operand.small_int().value_or(0)) : operand;
}

Result<Value> Renderer::value_of(const Binary& node, Position position) {
  SMOE_TRY(const Value left, evaluate(*node.left));
  SMOE_TRY(const Value right, evaluate(*node.right));
  return located(position, apply(run_, node.operation, left, right));
}

Result<Value> Renderer::value_of(const Logic& node, Position) {
  SMOE_TRY(Value left, evaluate(*node.left));
  if (left.is_true() == node.is_or) return left;
  return evaluate(*node.right);
}

Result<Value> Renderer::value_of(const Concatenation& node, Position position) {
  MarkedText joined;
  for (const Expression& part : node.parts) {
    SMOE_TRY(const Value value, evaluate(part));
    SMOE_TRY(const MarkedText text, located(part.at, to_text(run_, value)));
    joined.append(text);
    if (joined.size() > run_.limits().output_bytes)
      return at(position, type_error("a text is larger than the limit"));
  }
  return Value(std::move(joined));
}

Result<bool> Renderer::compare_one(ComparisonChain::Operator operation, const Value& left,
                                   const Value& right) {
  using Operator = ComparisonChain::Operator;
  if (operation == Operator::kIn) return contains(run_, right, left);
  if (operation == Operator::kNotIn) {
    SMOE_TRY(const bool found, contains(run_, right, left));
    return !found;
  }
  static_assert(static_cast<int>(Operator::kGreaterEqual) ==
                static_cast<int>(Comparison::kGreaterEqual));
  return compare(run_, static_cast<Comparison>(operation), left, right);
}

Result<Value> Renderer::value_of(const ComparisonChain& node, Position position) {
  SMOE_TRY(Value left, evaluate(*node.first));
  for (const auto& [operation, operand] : node.rest) {
    SMOE_TRY(Value right, evaluate(operand));
    SMOE_TRY(const bool holds, located(position, compare_one(operation, left, right)));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Renderer::value_of(const Choice& node, Position) {
  SMOE_TRY(const Value condition, evaluate(*node.condition));
  if (condition.is_true()) return evaluate(*node.then);
  return node.otherwise ? evaluate(*node.otherwise) : Answer(Value(Undefined{}));
}

Result<Arguments> Renderer::arguments_of(const ArgumentList& list, Position position) {
  Arguments arguments;
  arguments.positional.reserve(list.positional.size());
  for (const Expression& each : list.positional) {
    SMOE_TRY(Value value, evaluate(each));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, expression] : list.keywords) {
    SMOE_TRY(Value value, evaluate(expression));
    arguments.keywords.push_back({name, std::move(value)});
  }
  if (list.spread || list.spread_keywords) SMOE_DO(spread(list, position, arguments));
  return arguments;
}

Status Renderer::spread(const ArgumentList& list, Position position, Arguments& arguments) {
  if (list.spread) {
    SMOE_TRY(const Value items, evaluate(*list.spread));
    SMOE_TRY(const SequencePtr sequence, located(position, iterate(run_, items)));
    SMOE_DO(located(position, run_.spend_items(sequence->items.size())));
    arguments.positional.insert(arguments.positional.end(), sequence->items.begin(),
                                sequence->items.end());
  }
  if (!list.spread_keywords) return {};
  SMOE_TRY(const Value mapping, evaluate(*list.spread_keywords));
  if (!mapping.is_dict()) return at(position, type_error("** needs a mapping"));
  for (const Dict::Entry& entry : mapping.dict().entries()) {
    if (!entry.key.is_string()) return at(position, type_error("keywords must be strings"));
    for (const Keyword& given : arguments.keywords)
      if (given.name == entry.key.bytes())
        return at(position, type_error("got multiple values for a keyword argument"));
    SMOE_DO(located(position, run_.spend(1 + arguments.keywords.size())));
    // The macro or routine looks the name up again, so it has to outlive the mapping.
    arguments.names.push_back(std::string(entry.key.bytes()));
    arguments.keywords.push_back({arguments.names.back(), entry.value});
  }
  return {};
}

Result<Value> Renderer::call(const Value& callee, Arguments arguments, Position position) {
  if (callee.kind() == Value::Kind::kLoop) return call_loop(callee.loop(), arguments, position);
  if (callee.is_undefined()) return at(position, undefined_error(callee));
  if (callee.kind() != Value::Kind::kCallable)
    return at(position,
              type_error("'" + std::string(callee.type_name()) + "' object is not callable"));
  const Callable& callable = callee.callable();
  if (callable.macro != nullptr) return call_macro(*callable.macro, std::move(arguments), position);
  return located(position, invoke(run_, *callable.routine, callable.self, arguments));
}

Result<Value> Renderer::call_macro(const MacroValue& macro, Arguments arguments,
                                   Position position) {
  if (macro_depth_ >= run_.limits().depth)
    return at(position, type_error("macros call one another more than " +
                                   std::to_string(run_.limits().depth) + " levels deep"));
  const ScopePtr outer = std::exchange(scope_, std::make_shared<Scope>());
  scope_->parent = macro.scope;
  ++macro_depth_;
  Answer result = [&]() -> Answer {
    SMOE_DO(bind(macro, arguments, position));
    return captured(macro.macro->body);
  }();
  --macro_depth_;
  scope_ = outer;
  return result;
}

Status Renderer::bind(const MacroValue& macro, Arguments& arguments, Position position) {
  const auto& parameters = macro.macro->parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = name_of(parameters[i].symbol);
    if (i < arguments.positional.size()) {
      scope_->set(parameters[i].symbol, std::move(arguments.positional[i]));
      continue;
    }
    const auto keyword = std::find_if(arguments.keywords.begin(), arguments.keywords.end(),
                                      [&](const Keyword& each) { return each.name == name; });
    if (keyword != arguments.keywords.end()) {
      scope_->set(parameters[i].symbol, std::move(keyword->value));
      arguments.keywords.erase(keyword);
    } else if (parameters[i].otherwise) {
      SMOE_TRY(Value otherwise, evaluate(*parameters[i].otherwise));
      scope_->set(parameters[i].symbol, std::move(otherwise));
    } else {
      scope_->set(parameters[i].symbol, Value(Undefined{&name, "", false}));
    }
  }
  const auto used = std::min(parameters.size(), arguments.positional.size());
  arguments.positional.erase(arguments.positional.begin(),
                             arguments.positional.begin() + static_cast<ptrdiff_t>(used));
  return bind_extra(*macro.macro, arguments, position);
}

// `caller`, `varargs` and `kwargs` exist in a macro that mentions them; otherwise what they would
// take is an error.
Status Renderer::bind_extra(const Macro& macro, Arguments& arguments, Position position) {
  if (macro.uses_caller) {
    Value caller(Undefined{&name_of(kCallerSymbol), "", false});
    const auto given = std::find_if(arguments.keywords.begin(), arguments.keywords.end(),
                                    [](const Keyword& each) { return each.name == "caller"; });
    if (given != arguments.keywords.end()) {
      caller = std::move(given->value);
      arguments.keywords.erase(given);
    }
    if (scope_->find(kCallerSymbol) == nullptr) scope_->set(kCallerSymbol, std::move(caller));
  }
  if (macro.uses_kwargs) {
    Dict rest;
    for (Keyword& keyword : arguments.keywords)
      SMOE_DO(
          located(position, rest.set(Value::of_template(keyword.name), std::move(keyword.value))));
    SMOE_TRY(Value kwargs, located(position, make_dict(std::move(rest))));
    scope_->set(kKwargsSymbol, std::move(kwargs));
  } else if (!arguments.keywords.empty()) {
    return at(position, type_error("the macro takes no keyword argument '" +
                                   std::string(arguments.keywords.front().name) + "'"));
  }
  if (macro.uses_varargs) {
    SMOE_TRY(Value varargs, located(position, make_tuple(std::move(arguments.positional))));
    scope_->set(kVarargsSymbol, std::move(varargs));
  } else if (!arguments.positional.empty()) {
    return at(position, type_error("the macro takes not more than " +
                                   std::to_string(macro.parameters.size()) + " arguments"));
  }
  return {};
}

}  // namespace smoe::jinja
