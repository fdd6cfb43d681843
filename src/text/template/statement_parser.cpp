#include <algorithm>

#include "text/template/parser.h"

namespace smoe::jinja {
namespace {

using Kind = Token::Kind;

// What Jinja has and chat templates never use.
constexpr std::string_view kUnsupportedTags[] = {
    "autoescape", "block", "do", "extends", "from", "import", "include", "trans", "debug"};

bool is_one_of(const Token& token, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return token.is_name(name); });
}

Expression piped(Position at) { return {at, 1, Piped{}}; }

}  // namespace

Result<Template> StatementParser::run() {
  SMOE_TRY(Body parsed, body({}));
  SMOE_DO(names().verify(template_name()));
  return Template{template_name(), take_names(), std::move(parsed)};
}

Result<Body> StatementParser::body(Ends ends) {
  Body statements;
  while (current().kind != Kind::kEnd) {
    const Position at = current().at;
    if (current().kind == Kind::kData) {
      statements.push_back(
          {at, Text{std::make_shared<MarkedText>(current().text, Origin::kTemplate)}});
      skip();
    } else if (current().kind == Kind::kVariableBegin) {
      skip();
      SMOE_TRY(Statement printed, print());
      statements.push_back(std::move(printed));
    } else {
      skip();
      if (is_one_of(current(), ends)) return statements;
      SMOE_TRY(Statement parsed, nested([&] { return statement(); }));
      SMOE_DO(expect_kind(Kind::kBlockEnd, "the end of the tag"));
      statements.push_back(std::move(parsed));
    }
  }
  if (ends.size() > 0)
    return fail(current().at, "the template ends before '" + std::string(*(ends.end() - 1)) + "'");
  return statements;
}

Result<Body> StatementParser::block(Ends ends) {
  static_cast<void>(skip_operator(":"));
  SMOE_DO(expect_kind(Kind::kBlockEnd, "the end of the tag"));
  return body(ends);
}

Result<Statement> StatementParser::print() {
  const Position at = current().at;
  SMOE_TRY(Expression value,
           tuple(
               Choices::kAllowed, [this] { return current().kind == Kind::kVariableEnd; }, false));
  SMOE_DO(expect_kind(Kind::kVariableEnd, "the end of the expression"));
  return Statement{at, Print{std::move(value)}};
}

Result<Statement> StatementParser::statement() {
  const Position at = current().at;
  SMOE_TRY(const std::string tag, expect_name("the name of a tag"));
  if (tag == "if") return conditional(at);
  if (tag == "for") return for_loop(at);
  if (tag == "set") return set(at);
  if (tag == "macro") return macro(at);
  if (tag == "call") return call_block(at);
  if (tag == "filter") return filter_block(at);
  if (tag == "with") return with(at);
  if (tag == "generation") return generation(at);
  if (tag == "break" || tag == "continue") return jump(at, tag == "break");
  const bool known = std::find(std::begin(kUnsupportedTags), std::end(kUnsupportedTags), tag) !=
                     std::end(kUnsupportedTags);
  return fail(at, "the tag '" + tag + "' is " + (known ? "not supported" : "unknown"),
              known ? Code::kUnsupported : Code::kCorrupt);
}

Result<Statement> StatementParser::conditional(Position at) {
  Conditional node;
  const auto ends_condition = [this] { return current().kind == Kind::kBlockEnd; };
  for (;;) {
    SMOE_TRY(Expression condition, tuple(Choices::kNotAllowed, ends_condition, false));
    SMOE_TRY(Body branch, block({"elif", "else", "endif"}));
    node.branches.push_back({std::move(condition), std::move(branch)});
    if (skip_name("elif")) continue;
    if (skip_name("else")) {
      SMOE_TRY(node.otherwise, block({"endif"}));
    }
    skip();
    return Statement{at, std::move(node)};
  }
}

Result<Statement> StatementParser::for_loop(Position at) {
  ForLoop node;
  SMOE_TRY(node.target, target(false, [this] { return current().is_name("in"); }));
  if (!skip_name("in")) return unexpected("'in'");
  const auto ends_items = [this] {
    return current().kind == Kind::kBlockEnd || current().is_name("recursive");
  };
  SMOE_TRY(node.items, tuple(Choices::kNotAllowed, ends_items, false));
  if (skip_name("if")) {
    SMOE_TRY(Expression condition, expression());
    node.condition = std::make_unique<Expression>(std::move(condition));
  }
  node.recursive = skip_name("recursive");
  ++loops_;
  auto inside = block({"else", "endfor"});
  --loops_;
  SMOE_TRY(node.body, std::move(inside));
  if (skip_name("else")) {
    SMOE_TRY(node.otherwise, block({"endfor"}));
  }
  skip();
  return Statement{at, std::move(node)};
}

Result<Target> StatementParser::single_target() {
  Target result;
  result.at = current().at;
  if (skip_operator("(")) {
    SMOE_TRY(result,
             nested([&] { return target(false, [this] { return current().is_operator(")"); }); }));
    SMOE_DO(expect_operator(")"));
    return result;
  }
  SMOE_TRY(const std::string name, expect_name("a name"));
  for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"})
    if (name == constant) return fail(result.at, "cannot assign to '" + name + "'");
  names().note_set(name);
  result.symbol = intern(name);
  return result;
}

Result<Target> StatementParser::attribute_target() {
  Target result;
  result.at = current().at;
  SMOE_TRY(const std::string space, expect_name("a name"));
  skip();
  SMOE_TRY(result.attribute, expect_name("the name of an attribute"));
  names().note_set_attribute(result.attribute);
  result.symbol = intern(space);
  return result;
}

Result<Target> StatementParser::target(bool with_attribute, const std::function<bool()>& ends) {
  if (with_attribute && next().is_operator(".")) return attribute_target();
  Target tuple_target;
  tuple_target.at = current().at;
  tuple_target.is_tuple = true;
  bool has_comma = false;
  while (!ends()) {
    SMOE_TRY(Target part, single_target());
    tuple_target.parts.push_back(std::move(part));
    if (!skip_operator(",")) break;
    has_comma = true;
  }
  if (tuple_target.parts.empty()) return unexpected("a name");
  if (has_comma) return tuple_target;
  return std::move(tuple_target.parts.front());
}

Result<Statement> StatementParser::set(Position at) {
  const auto ends = [this] {
    return current().is_operator("=") || current().kind == Kind::kBlockEnd;
  };
  SMOE_TRY(Target assigned, target(true, ends));
  if (skip_operator("=")) {
    SMOE_TRY(Expression value,
             tuple(
                 Choices::kAllowed, [this] { return current().kind == Kind::kBlockEnd; }, false));
    return Statement{at, Assignment{std::move(assigned), std::move(value)}};
  }
  SMOE_TRY(Expression filtered, filters(piped(at), false));
  SMOE_TRY(Body captured, block({"endset"}));
  skip();
  return Statement{at,
                   AssignmentBlock{std::move(assigned), std::move(filtered), std::move(captured)}};
}

Result<Statement> StatementParser::with(Position at) {
  With node;
  while (current().kind != Kind::kBlockEnd) {
    if (!node.assignments.empty()) SMOE_DO(expect_operator(","));
    SMOE_TRY(Target assigned, single_target());
    SMOE_DO(expect_operator("="));
    SMOE_TRY(Expression value, expression());
    node.assignments.push_back({std::move(assigned), std::move(value)});
  }
  SMOE_TRY(node.body, block({"endwith"}));
  skip();
  return Statement{at, std::move(node)};
}

// Marks what the model itself wrote, for training; it only has a scope of its own.
Result<Statement> StatementParser::generation(Position at) {
  With node;
  SMOE_TRY(node.body, block({"endgeneration"}));
  skip();
  return Statement{at, std::move(node)};
}

Status StatementParser::signature(Macro& macro) {
  SMOE_DO(expect_operator("("));
  while (!current().is_operator(")")) {
    const Position at = current().at;
    SMOE_TRY(const std::string name, expect_name("the name of a parameter"));
    names().note_set(name);
    Macro::Parameter parameter{intern(name), nullptr};
    if (skip_operator("=")) {
      SMOE_TRY(Expression otherwise, expression());
      parameter.otherwise = std::make_unique<Expression>(std::move(otherwise));
    } else if (!macro.parameters.empty() && macro.parameters.back().otherwise) {
      return fail(at, "a parameter without a default behind one with a default");
    }
    macro.parameters.push_back(std::move(parameter));
    if (!skip_operator(",")) break;
  }
  return expect_operator(")");
}

Status StatementParser::macro_body(Macro& macro, Ends ends) {
  // A loop outside of the macro cannot be left from inside.
  const int outer_loops = loops_;
  loops_ = 0;
  open_macros().push_back(&macro);
  auto inside = block(ends);
  open_macros().pop_back();
  loops_ = outer_loops;
  SMOE_TRY(macro.body, std::move(inside));
  skip();
  return {};
}

Result<Statement> StatementParser::macro(Position at) {
  auto macro = std::make_unique<Macro>();
  SMOE_TRY(const std::string name, expect_name("the name of the macro"));
  names().note_set(name);
  macro->name = intern(name);
  SMOE_DO(signature(*macro));
  SMOE_DO(macro_body(*macro, {"endmacro"}));
  return Statement{at, MacroDefinition{std::move(macro)}};
}

Result<Statement> StatementParser::call_block(Position at) {
  auto caller = std::make_unique<Macro>();
  caller->name = kCallerSymbol;
  if (current().is_operator("(")) SMOE_DO(signature(*caller));
  SMOE_TRY(Expression call, expression());
  if (!std::holds_alternative<CallOf>(call.node)) return fail(call.at, "expected a call");
  SMOE_DO(macro_body(*caller, {"endcall"}));
  return Statement{at, CallBlock{std::move(caller), std::move(call)}};
}

Result<Statement> StatementParser::filter_block(Position at) {
  SMOE_TRY(Expression filtered, filters(piped(at), true));
  SMOE_TRY(Body inside, block({"endfilter"}));
  skip();
  return Statement{at, FilterBlock{std::move(filtered), std::move(inside)}};
}

Result<Statement> StatementParser::jump(Position at, bool is_break) {
  if (loops_ == 0) return fail(at, "this stands outside of a loop");
  return Statement{at, Jump{is_break}};
}

Result<Template> parse_template(std::string_view source, std::string_view name) {
  if (source.size() > kMaxSourceBytes)
    return Error{Code::kUnsupported, std::string(name) + ": the template has " +
                                         std::to_string(source.size()) + " bytes, at most " +
                                         std::to_string(kMaxSourceBytes) + " are supported"};
  if (!is_utf8(source)) return Error{Code::kCorrupt, std::string(name) + ": not valid UTF-8"};
  SMOE_TRY(std::vector<Token> tokens, tokenize(source, name));
  return StatementParser(std::move(tokens), name).run();
}

}  // namespace smoe::jinja
