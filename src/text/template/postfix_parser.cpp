// What follows an operand: attributes, subscripts, calls, filters and tests.
#include <algorithm>

#include "text/template/expression_parts.h"
#include "text/template/parser.h"

namespace smoe::jinja {
namespace {

using Kind = Token::Kind;

}  // namespace

Result<Expression> ExpressionParser::postfix(Expression operand) {
  for (;;) {
    if (current().is_operator(".") || current().is_operator("[")) {
      SMOE_TRY(operand, subscript(std::move(operand)));
    } else if (current().is_operator("(")) {
      SMOE_TRY(operand, call(std::move(operand)));
    } else {
      return operand;
    }
  }
}

Result<Expression> ExpressionParser::filters_and_tests(Expression operand) {
  for (;;) {
    if (current().is_operator("|")) {
      skip();
      SMOE_TRY(operand, filter(std::move(operand)));
    } else if (current().is_name("is")) {
      skip();
      SMOE_TRY(operand, test(std::move(operand)));
    } else if (current().is_operator("(")) {
      SMOE_TRY(operand, call(std::move(operand)));
    } else {
      return operand;
    }
  }
}

Result<Expression> ExpressionParser::filters(Expression operand, bool started) {
  while (started || skip_operator("|")) {
    SMOE_TRY(operand, filter(std::move(operand)));
    started = false;
  }
  return operand;
}

Result<Expression> ExpressionParser::subscript(Expression object) {
  const Position at = current().at;
  if (current().is_operator("[")) {
    skip();
    return bracket_subscript(std::move(object), at);
  }
  skip();
  const int deepest = object.depth;
  if (current().kind == Kind::kInteger) {
    SMOE_TRY(Expression key, primary());
    return made(at, Item{boxed(std::move(object)), boxed(std::move(key))}, deepest);
  }
  SMOE_TRY(std::string name, expect_name("a name or number"));
  return made(at, Attribute{boxed(std::move(object)), std::move(name)}, deepest);
}

Result<Expression> ExpressionParser::bracket_subscript(Expression object, Position at) {
  const auto ends_bound = [this] {
    return current().is_operator(":") || current().is_operator("]");
  };
  Slice slice;
  int deepest = object.depth;
  size_t bound = 0;
  bool is_slice = false;
  for (; bound < 3; ++bound) {
    if (!ends_bound()) {
      SMOE_TRY(Expression value, expression());
      deepest = std::max(deepest, value.depth);
      slice.bounds[bound] = boxed(std::move(value));
    }
    if (!skip_operator(":")) break;
    is_slice = true;
  }
  if (!is_slice && !slice.bounds[0]) return unexpected("an index");
  if (current().is_operator(","))
    return fail(current().at, "an index of several parts is not supported", Code::kUnsupported);
  SMOE_DO(expect_operator("]"));
  if (!is_slice)
    return made(at, Item{boxed(std::move(object)), std::move(slice.bounds[0])}, deepest);
  slice.object = boxed(std::move(object));
  return made(at, std::move(slice), deepest);
}

Status ExpressionParser::one_argument(ArgumentList& to) {
  const Position at = current().at;
  const bool positional_allowed = !to.spread && !to.spread_keywords && to.keywords.empty();
  if (skip_operator("*")) {
    if (to.spread || to.spread_keywords) return fail(at, "invalid arguments of a call");
    SMOE_TRY(Expression value, expression());
    to.spread = boxed(std::move(value));
  } else if (skip_operator("**")) {
    if (to.spread_keywords) return fail(at, "invalid arguments of a call");
    SMOE_TRY(Expression value, expression());
    to.spread_keywords = boxed(std::move(value));
  } else if (current().kind == Kind::kName && next().is_operator("=")) {
    if (to.spread_keywords) return fail(at, "invalid arguments of a call");
    std::string keyword = current().text;
    skip();
    skip();
    SMOE_TRY(Expression value, expression());
    for (const auto& [name, given] : to.keywords)
      if (name == keyword) return fail(at, "the argument '" + name + "' is repeated");
    to.keywords.push_back({std::move(keyword), std::move(value)});
  } else {
    if (!positional_allowed) return fail(at, "an argument by position behind one by name");
    SMOE_TRY(Expression value, expression());
    to.positional.push_back(std::move(value));
  }
  return {};
}

Result<ArgumentList> ExpressionParser::arguments() {
  SMOE_DO(expect_operator("("));
  ArgumentList list;
  while (!current().is_operator(")")) {
    SMOE_DO(one_argument(list));
    if (!skip_operator(",")) break;
  }
  SMOE_DO(expect_operator(")"));
  return list;
}

void ExpressionParser::note_callee(const Expression& callee, const ArgumentList& arguments) {
  if (const auto* name = std::get_if<Name>(&callee.node)) {
    const std::string& text = symbols_[static_cast<size_t>(name->symbol)];
    if (text != "loop" && text != "caller") check_.note_call(text, callee.at);
    if (text == "namespace" || text == "dict")
      for (const auto& [keyword, value] : arguments.keywords) check_.note_set_attribute(keyword);
  } else if (const auto* attribute = std::get_if<Attribute>(&callee.node)) {
    check_.note_method(attribute->name, callee.at);
  }
}

Result<Expression> ExpressionParser::call(Expression callee) {
  const Position at = current().at;
  SMOE_TRY(ArgumentList list, arguments());
  note_callee(callee, list);
  const int deepest = std::max(callee.depth, depth_of(list));
  return made(at, CallOf{boxed(std::move(callee)), std::move(list)}, deepest);
}

Result<std::string> ExpressionParser::dotted_name() {
  SMOE_TRY(std::string name, expect_name("a name"));
  while (skip_operator(".")) {
    SMOE_TRY(const std::string part, expect_name("a name"));
    name += "." + part;
  }
  return name;
}

// The filter or test that another one is given by name is looked up here too.
Status ExpressionParser::check_delegate(const Routine& routine, const ArgumentList& arguments) {
  const bool maps = routine.name == "map";
  const bool by_attribute = routine.name == "selectattr" || routine.name == "rejectattr";
  if (!maps && !by_attribute && routine.name != "select" && routine.name != "reject") return {};
  const size_t at = by_attribute ? 1 : 0;
  if (arguments.positional.size() <= at) return {};
  const Expression& given = arguments.positional[at];
  const auto* literal = std::get_if<Literal>(&given.node);
  if (literal == nullptr || !literal->value.is_string()) return {};
  const std::string_view wanted = literal->value.bytes();
  if ((maps ? find_filter(wanted) : find_test(wanted)) != nullptr) return {};
  return fail(
      given.at,
      std::string("no ") + (maps ? "filter" : "test") + " is named '" + std::string(wanted) + "'",
      Code::kUnsupported);
}

Result<Expression> ExpressionParser::filter(Expression operand) {
  const Position at = current().at;
  SMOE_TRY(const std::string name, dotted_name());
  const Routine* routine = find_filter(name);
  if (routine == nullptr) return fail(at, "no filter is named '" + name + "'", Code::kUnsupported);
  ArgumentList list;
  if (current().is_operator("(")) {
    SMOE_TRY(list, arguments());
  }
  SMOE_DO(check_delegate(*routine, list));
  const int deepest = std::max(operand.depth, depth_of(list));
  return made(at, RoutineOf{boxed(std::move(operand)), routine, std::move(list)}, deepest);
}

Result<Expression> ExpressionParser::test(Expression operand) {
  const bool negated = skip_name("not");
  const Position at = current().at;
  SMOE_TRY(const std::string name, dotted_name());
  const Routine* routine = find_test(name);
  if (routine == nullptr) return fail(at, "no test is named '" + name + "'", Code::kUnsupported);
  ArgumentList list;
  const Token& token = current();
  const bool is_operand = token.kind == Kind::kName || token.kind == Kind::kString ||
                          token.kind == Kind::kInteger || token.kind == Kind::kFloat ||
                          token.is_operator("[") || token.is_operator("{");
  const bool is_keyword = token.is_name("else") || token.is_name("or") || token.is_name("and");
  if (token.is_operator("(")) {
    SMOE_TRY(list, arguments());
  } else if (is_operand && !is_keyword) {
    if (token.is_name("is")) return fail(token.at, "tests cannot be chained with 'is'");
    SMOE_TRY(Expression first, primary());
    SMOE_TRY(Expression argument, postfix(std::move(first)));
    list.positional.push_back(std::move(argument));
  }
  const int deepest = std::max(operand.depth, depth_of(list));
  SMOE_TRY(Expression tested,
           made(at, RoutineOf{boxed(std::move(operand)), routine, std::move(list)}, deepest));
  if (!negated) return tested;
  return made(at, Not{boxed(std::move(tested))}, deepest + 1);
}

}  // namespace smoe::jinja
