// Small helpers of both halves of the expression parser.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "text/template/parser.h"
#include "text/template/syntax.h"

namespace smoe::jinja {

inline ExpressionPtr boxed(Expression expression) {
  return std::make_unique<Expression>(std::move(expression));
}

inline int depth_of(const ExpressionPtr& expression) { return expression ? expression->depth : 0; }

inline int depth_of(const std::vector<Expression>& expressions) {
  int depth = 0;
  for (const Expression& each : expressions) depth = std::max(depth, each.depth);
  return depth;
}

inline int depth_of(const ArgumentList& arguments) {
  int depth = std::max(depth_of(arguments.positional), depth_of(arguments.spread));
  for (const auto& [name, value] : arguments.keywords) depth = std::max(depth, value.depth);
  return std::max(depth, depth_of(arguments.spread_keywords));
}

template <class Node>
Result<Expression> ExpressionParser::made(Position at, Node node, int deepest) const {
  if (deepest >= kMaxSyntaxDepth) return fail(at, "this expression is nested too deeply");
  Expression expression{at, deepest + 1, std::move(node)};
  return expression;
}

}  // namespace smoe::jinja
