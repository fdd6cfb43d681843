// Tokens to a tree, by recursive descent. Two halves: expressions, and on top of them statements.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/template/name_check.h"
#include "text/template/syntax.h"

namespace smoe::jinja {

class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, std::string_view name);

 protected:
  using Parsed = Result<Expression>;

  enum class Choices : uint8_t { kAllowed, kNotAllowed };  // `a if b else c`

  const Token& current() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void skip() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool skip_operator(std::string_view sign);
  bool skip_name(std::string_view name);
  Status expect_operator(std::string_view sign);
  Status expect_kind(Token::Kind kind, std::string_view what);
  Result<std::string> expect_name(std::string_view what);

  Error fail(Position at, std::string_view message, Code code = Code::kCorrupt) const;
  Error unexpected(std::string_view wanted) const;

  Symbol intern(std::string_view name);
  // Counts nested brackets and tags.
  template <class Parse>
  auto nested(const Parse& parse) -> decltype(parse()) {
    if (depth_ >= kMaxSyntaxDepth) return fail(current().at, "nested too deeply");
    ++depth_;
    auto result = parse();
    --depth_;
    return result;
  }

  Parsed expression(Choices choices = Choices::kAllowed);
  // Also `a, b` without brackets.
  Parsed tuple(Choices choices, const std::function<bool()>& ends, bool empty_allowed);
  // Filters behind an operand; `started` when the name of the first is next.
  Parsed filters(Expression operand, bool started);
  Result<ArgumentList> arguments();

  NameCheck& names() { return check_; }
  const std::string& template_name() const { return name_; }
  std::deque<std::string> take_names() { return std::move(symbols_); }
  std::vector<Macro*>& open_macros() { return open_macros_; }

 private:
  // Completes a node; `deepest` is the depth of its deepest part.
  template <class Node>
  Parsed made(Position at, Node node, int deepest) const;

  Parsed choice();
  Parsed either();
  Parsed both();
  Parsed negation();
  Parsed comparison();
  Parsed sum();
  Parsed concatenation();
  Parsed product();
  Parsed power();
  Parsed unary(bool with_filters);
  Parsed primary();
  Parsed literal_string();
  Parsed name();
  Parsed bracketed();
  Parsed list();
  Parsed dict();
  Parsed postfix(Expression operand);
  Parsed filters_and_tests(Expression operand);
  Parsed subscript(Expression object);
  Parsed bracket_subscript(Expression object, Position at);
  Parsed call(Expression callee);
  Parsed filter(Expression operand);
  Parsed test(Expression operand);
  Status check_delegate(const Routine& routine, const ArgumentList& arguments);
  void note_callee(const Expression& callee, const ArgumentList& arguments);
  Result<std::string> dotted_name();
  Status one_argument(ArgumentList& to);

  std::vector<Token> tokens_;
  std::string name_;
  size_t at_ = 0;
  int depth_ = 0;
  std::deque<std::string> symbols_;
  std::unordered_map<std::string, Symbol> symbol_of_;
  NameCheck check_;
  std::vector<Macro*> open_macros_;
};

class StatementParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<Template> run();

 private:
  using Ends = std::initializer_list<std::string_view>;

  // Statements up to a tag whose name is among `ends`, which becomes the current token.
  Result<Body> body(Ends ends);
  // Expects the end of the open tag, then a body, then skips the name of its end tag.
  Result<Body> block(Ends ends);
  Result<Statement> statement();
  Result<Statement> print();
  Result<Statement> for_loop(Position at);
  Result<Statement> conditional(Position at);
  Result<Statement> set(Position at);
  Result<Statement> with(Position at);
  Result<Statement> macro(Position at);
  Result<Statement> call_block(Position at);
  Result<Statement> filter_block(Position at);
  Result<Statement> generation(Position at);
  Result<Statement> jump(Position at, bool is_break);
  Status signature(Macro& macro);
  Status macro_body(Macro& macro, Ends ends);
  Result<Target> target(bool with_attribute, const std::function<bool()>& ends);
  Result<Target> single_target();
  Result<Target> attribute_target();

  int loops_ = 0;
};

}  // namespace smoe::jinja
