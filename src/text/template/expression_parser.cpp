#include <algorithm>

#include "text/template/expression_parts.h"
#include "text/template/parser.h"

namespace smoe::jinja {
namespace {

using Kind = Token::Kind;
using ComparisonOperator = ComparisonChain::Operator;

std::string described(const Token& token) {
  switch (token.kind) {
    case Kind::kEnd:
      return "the end of the template";
    case Kind::kBlockEnd:
      return "the end of the tag";
    case Kind::kVariableEnd:
      return "the end of the expression";
    case Kind::kString:
      return "a string";
    default:
      return "'" + token.text + "'";
  }
}

std::optional<ComparisonOperator> comparison_operator(const Token& token) {
  constexpr std::pair<std::string_view, ComparisonOperator> kSigns[] = {
      {"==", ComparisonOperator::kEqual},  {"!=", ComparisonOperator::kNotEqual},
      {"<", ComparisonOperator::kLess},    {"<=", ComparisonOperator::kLessEqual},
      {">", ComparisonOperator::kGreater}, {">=", ComparisonOperator::kGreaterEqual},
  };
  for (const auto& [sign, operation] : kSigns)
    if (token.is_operator(sign)) return operation;
  return std::nullopt;
}

}  // namespace

ExpressionParser::ExpressionParser(std::vector<Token> tokens, std::string_view name)
    : tokens_(std::move(tokens)), name_(name) {
  // In the order of the fixed symbols.
  for (const std::string_view fixed : {"loop", "caller", "varargs", "kwargs"})
    static_cast<void>(intern(fixed));
}

bool ExpressionParser::skip_operator(std::string_view sign) {
  if (!current().is_operator(sign)) return false;
  skip();
  return true;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  skip();
  return true;
}

Error ExpressionParser::fail(Position at, std::string_view message, Code code) const {
  return error_at(name_, at, code, message);
}

Error ExpressionParser::unexpected(std::string_view wanted) const {
  return fail(current().at, "expected " + std::string(wanted) + ", found " + described(current()));
}

Status ExpressionParser::expect_operator(std::string_view sign) {
  if (!skip_operator(sign)) return unexpected("'" + std::string(sign) + "'");
  return {};
}

Status ExpressionParser::expect_kind(Kind kind, std::string_view what) {
  if (current().kind != kind) return unexpected(what);
  skip();
  return {};
}

Result<std::string> ExpressionParser::expect_name(std::string_view what) {
  if (current().kind != Kind::kName) return unexpected(what);
  std::string name = current().text;
  skip();
  return name;
}

Symbol ExpressionParser::intern(std::string_view name) {
  const auto next_symbol = static_cast<Symbol>(symbols_.size());
  const auto [entry, is_new] = symbol_of_.emplace(std::string(name), next_symbol);
  if (is_new) symbols_.emplace_back(name);
  return entry->second;
}

Result<Expression> ExpressionParser::expression(Choices choices) {
  return nested([&]() -> Parsed { return choices == Choices::kAllowed ? choice() : either(); });
}

Result<Expression> ExpressionParser::tuple(Choices choices, const std::function<bool()>& ends,
                                           bool empty_allowed) {
  const Position at = current().at;
  std::vector<Expression> items;
  bool is_tuple = false;
  while (!ends()) {
    SMOE_TRY(Expression item, expression(choices));
    items.push_back(std::move(item));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && items.size() == 1) return std::move(items.front());
  if (items.empty() && !empty_allowed) return unexpected("an expression");
  const int deepest = depth_of(items);
  return made(at, ListOf{std::move(items), true}, deepest);
}

Result<Expression> ExpressionParser::choice() {
  const Position at = current().at;
  SMOE_TRY(Expression value, either());
  while (skip_name("if")) {
    SMOE_TRY(Expression condition, either());
    Choice node{boxed(std::move(condition)), boxed(std::move(value)), nullptr};
    if (skip_name("else")) {
      SMOE_TRY(Expression otherwise, nested([&] { return choice(); }));
      node.otherwise = boxed(std::move(otherwise));
    }
    const int deepest =
        std::max({depth_of(node.condition), depth_of(node.then), depth_of(node.otherwise)});
    SMOE_TRY(value, made(at, std::move(node), deepest));
  }
  return value;
}

Result<Expression> ExpressionParser::either() {
  SMOE_TRY(Expression left, both());
  while (current().is_name("or")) {
    const Position at = current().at;
    skip();
    SMOE_TRY(Expression right, both());
    const int deepest = std::max(left.depth, right.depth);
    SMOE_TRY(left, made(at, Logic{true, boxed(std::move(left)), boxed(std::move(right))}, deepest));
  }
  return left;
}

Result<Expression> ExpressionParser::both() {
  SMOE_TRY(Expression left, negation());
  while (current().is_name("and")) {
    const Position at = current().at;
    skip();
    SMOE_TRY(Expression right, negation());
    const int deepest = std::max(left.depth, right.depth);
    SMOE_TRY(left,
             made(at, Logic{false, boxed(std::move(left)), boxed(std::move(right))}, deepest));
  }
  return left;
}

Result<Expression> ExpressionParser::negation() {
  const Position at = current().at;
  if (!skip_name("not")) return comparison();
  SMOE_TRY(Expression operand, nested([&] { return negation(); }));
  const int deepest = operand.depth;
  return made(at, Not{boxed(std::move(operand))}, deepest);
}

Result<Expression> ExpressionParser::comparison() {
  const Position at = current().at;
  SMOE_TRY(Expression first, sum());
  ComparisonChain chain;
  int deepest = first.depth;
  for (;;) {
    auto operation = comparison_operator(current());
    if (operation) {
      skip();
    } else if (skip_name("in")) {
      operation = ComparisonOperator::kIn;
    } else if (current().is_name("not") && next().is_name("in")) {
      skip();
      skip();
      operation = ComparisonOperator::kNotIn;
    } else {
      break;
    }
    SMOE_TRY(Expression operand, sum());
    deepest = std::max(deepest, operand.depth);
    chain.rest.push_back({*operation, std::move(operand)});
  }
  if (chain.rest.empty()) return first;
  chain.first = boxed(std::move(first));
  return made(at, std::move(chain), deepest);
}

Result<Expression> ExpressionParser::sum() {
  SMOE_TRY(Expression left, concatenation());
  while (current().is_operator("+") || current().is_operator("-")) {
    const Position at = current().at;
    const auto operation = current().is_operator("+") ? Arithmetic::kAdd : Arithmetic::kSubtract;
    skip();
    SMOE_TRY(Expression right, concatenation());
    const int deepest = std::max(left.depth, right.depth);
    SMOE_TRY(left,
             made(at, Binary{operation, boxed(std::move(left)), boxed(std::move(right))}, deepest));
  }
  return left;
}

Result<Expression> ExpressionParser::concatenation() {
  const Position at = current().at;
  SMOE_TRY(Expression first, product());
  if (!current().is_operator("~")) return first;
  std::vector<Expression> parts;
  parts.push_back(std::move(first));
  while (skip_operator("~")) {
    SMOE_TRY(Expression part, product());
    parts.push_back(std::move(part));
  }
  const int deepest = depth_of(parts);
  return made(at, Concatenation{std::move(parts)}, deepest);
}

Result<Expression> ExpressionParser::product() {
  constexpr std::pair<std::string_view, Arithmetic> kSigns[] = {
      {"*", Arithmetic::kMultiply},
      {"/", Arithmetic::kDivide},
      {"//", Arithmetic::kFloorDivide},
      {"%", Arithmetic::kModulo},
  };
  SMOE_TRY(Expression left, power());
  for (;;) {
    const Position at = current().at;
    const auto* sign = std::find_if(std::begin(kSigns), std::end(kSigns), [&](const auto& each) {
      return current().is_operator(each.first);
    });
    if (sign == std::end(kSigns)) return left;
    skip();
    SMOE_TRY(Expression right, power());
    const int deepest = std::max(left.depth, right.depth);
    SMOE_TRY(left, made(at, Binary{sign->second, boxed(std::move(left)), boxed(std::move(right))},
                        deepest));
  }
}

Result<Expression> ExpressionParser::power() {
  SMOE_TRY(Expression left, unary(true));
  while (current().is_operator("**")) {
    const Position at = current().at;
    skip();
    SMOE_TRY(Expression right, unary(true));
    const int deepest = std::max(left.depth, right.depth);
    SMOE_TRY(left,
             made(at, Binary{Arithmetic::kPower, boxed(std::move(left)), boxed(std::move(right))},
                  deepest));
  }
  return left;
}

Result<Expression> ExpressionParser::unary(bool with_filters) {
  const Position at = current().at;
  const bool negative = current().is_operator("-");
  Parsed operand = [&]() -> Parsed {
    if (!negative && !current().is_operator("+")) return primary();
    skip();
    SMOE_TRY(Expression inner, nested([&] { return unary(false); }));
    const int deepest = inner.depth;
    return made(at, Sign{boxed(std::move(inner)), negative}, deepest);
  }();
  SMOE_TRY(Expression started, std::move(operand));
  SMOE_TRY(Expression whole, postfix(std::move(started)));
  return with_filters ? filters_and_tests(std::move(whole)) : std::move(whole);
}

Result<Expression> ExpressionParser::primary() {
  const Token& token = current();
  switch (token.kind) {
    case Kind::kName:
      return name();
    case Kind::kString:
      return literal_string();
    case Kind::kInteger:
    case Kind::kFloat: {
      const Position at = token.at;
      std::optional<Value> value;
      if (token.kind == Kind::kInteger) {
        value = parse_integer(token.text, 0);
      } else if (const auto number = parse_float(token.text)) {
        value = Value(*number);
      }
      if (!value) return fail(at, "this number is too large");
      skip();
      return made(at, Literal{std::move(*value)}, 0);
    }
    default:
      break;
  }
  if (token.is_operator("(")) return bracketed();
  if (token.is_operator("[")) return list();
  if (token.is_operator("{")) return dict();
  return unexpected("an expression");
}

Result<Expression> ExpressionParser::literal_string() {
  const Position at = current().at;
  std::string text;
  for (; current().kind == Kind::kString; skip()) text += current().text;
  return made(at, Literal{Value::of_template(text)}, 0);
}

Result<Expression> ExpressionParser::name() {
  const Position at = current().at;
  const std::string text = current().text;
  skip();
  if (text == "true" || text == "True") return made(at, Literal{Value(true)}, 0);
  if (text == "false" || text == "False") return made(at, Literal{Value(false)}, 0);
  if (text == "none" || text == "None") return made(at, Literal{Value(None{})}, 0);
  const Symbol symbol = intern(text);
  for (Macro* macro : open_macros_) {
    macro->uses_caller = macro->uses_caller || symbol == kCallerSymbol;
    macro->uses_varargs = macro->uses_varargs || symbol == kVarargsSymbol;
    macro->uses_kwargs = macro->uses_kwargs || symbol == kKwargsSymbol;
  }
  return made(at, Name{symbol}, 0);
}

Result<Expression> ExpressionParser::bracketed() {
  skip();
  SMOE_TRY(Expression inside,
           tuple(
               Choices::kAllowed, [this] { return current().is_operator(")"); }, true));
  SMOE_DO(expect_operator(")"));
  return inside;
}

Result<Expression> ExpressionParser::list() {
  const Position at = current().at;
  skip();
  std::vector<Expression> items;
  while (!current().is_operator("]")) {
    SMOE_TRY(Expression item, expression());
    items.push_back(std::move(item));
    if (!skip_operator(",")) break;
  }
  SMOE_DO(expect_operator("]"));
  const int deepest = depth_of(items);
  return made(at, ListOf{std::move(items), false}, deepest);
}

Result<Expression> ExpressionParser::dict() {
  const Position at = current().at;
  skip();
  DictOf node;
  int deepest = 0;
  while (!current().is_operator("}")) {
    SMOE_TRY(Expression key, expression());
    SMOE_DO(expect_operator(":"));
    SMOE_TRY(Expression value, expression());
    deepest = std::max({deepest, key.depth, value.depth});
    node.entries.push_back({std::move(key), std::move(value)});
    if (!skip_operator(",")) break;
  }
  SMOE_DO(expect_operator("}"));
  return made(at, std::move(node), deepest);
}

}  // namespace smoe::jinja
