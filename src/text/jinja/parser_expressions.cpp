// Expressions, loosest first: a if b else c · or · and · not · comparisons and in · + - · ~ · * / // % · ** · unary · primary with
// .name [index] (call), then |filter and `is test`. Chains of one level become one node, so a long sum costs no depth.
#include "base/words.h"
#include "text/jinja/library/builtins.h"
#include "text/jinja/parser_state.h"

namespace anedvd::jinja {
namespace {

NodePtr constant(NodePtr node, Value value) {
  node->kind = NodeKind::kConstant;
  node->value = std::move(value);
  return node;
}

Value literal(std::string bytes) {
  auto string = std::make_shared<String>();
  string->text.length = count_characters(bytes);
  string->text.bytes = std::move(bytes);
  return Value(Kind::kString, std::move(string));
}

}  // namespace

Result<NodePtr> Parser::parse_tuple(bool with_condition, std::string_view end_name, bool in_parentheses) {
  const size_t offset = current().offset;
  auto tuple = make(NodeKind::kTuple, offset);
  bool is_tuple = false;
  while (true) {
    const TokenKind kind = current().kind;
    const bool at_end = kind == TokenKind::kVariableEnd || kind == TokenKind::kBlockEnd || current().is(")") ||
                        (!end_name.empty() && current().is_name(end_name));
    if (at_end) break;
    ANEDVD_TRY(auto item, parse_expression(with_condition));
    add(*tuple, std::move(item));
    if (!skip_if(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return finish(std::move(tuple));
  if (!tuple->children.empty()) return std::move(tuple->children[0]);
  if (!in_parentheses) return error_at(offset, "expected an expression, found {}", describe(current()));
  return tuple;
}

Result<NodePtr> Parser::parse_expression(bool with_condition) {
  const Level level(*this);
  ANEDVD_TRY_VOID(check_nesting());
  if (!with_condition) return parse_logic(true);
  const size_t start = unknown_.size();
  ANEDVD_TRY(auto node, parse_logic(true));
  while (current().is_name("if")) {
    auto conditional = make(NodeKind::kConditional, next().offset);
    add(*conditional, std::move(node));
    ANEDVD_TRY(auto condition, parse_logic(true));
    add(*conditional, std::move(condition));
    NodePtr otherwise;
    if (skip_if_name("else")) {
      ANEDVD_TRY(otherwise, parse_expression());
    }
    add(*conditional, std::move(otherwise));
    unknown_.resize(start);  // refused when reached
    ANEDVD_TRY(node, finish(std::move(conditional)));
  }
  return node;
}

Result<NodePtr> Parser::parse_logic(bool is_or) {
  const std::string_view word = is_or ? "or" : "and";
  const auto operand = [&] { return is_or ? parse_logic(false) : parse_not(); };
  ANEDVD_TRY(auto first, operand());
  if (!current().is_name(word)) return first;
  auto node = make(is_or ? NodeKind::kOr : NodeKind::kAnd, current().offset);
  add(*node, std::move(first));
  while (skip_if_name(word)) {
    ANEDVD_TRY(auto right, operand());
    add(*node, std::move(right));
  }
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_not() {
  if (!current().is_name("not")) return parse_compare();
  const Level level(*this);
  ANEDVD_TRY_VOID(check_nesting());
  auto node = make(NodeKind::kNot, next().offset);
  ANEDVD_TRY(auto operand, parse_not());
  add(*node, std::move(operand));
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_compare() {
  ANEDVD_TRY(auto first, parse_sum());
  NodePtr node;
  constexpr std::pair<std::string_view, Operator> kTable[] = {
      {"==", Operator::kEqual},     {"!=", Operator::kNotEqual}, {"<", Operator::kLess},
      {"<=", Operator::kLessEqual}, {">", Operator::kGreater},   {">=", Operator::kGreaterEqual}};
  while (true) {
    const size_t offset = current().offset;
    const auto* known =
        std::find_if(std::begin(kTable), std::end(kTable), [&](const auto& row) { return current().is(row.first); });
    Operator op = Operator::kIn;
    if (known != std::end(kTable)) {
      op = known->second;
    } else if (current().is_name("not") && ahead().is_name("in")) {
      op = Operator::kNotIn;
      next();
    } else if (!current().is_name("in")) {
      break;
    }
    next();
    if (!node) {
      node = make(NodeKind::kCompare, offset);
      add(*node, std::move(first));
    }
    node->operators.push_back(op);
    ANEDVD_TRY(auto right, parse_sum());
    add(*node, std::move(right));
  }
  if (!node) return first;
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_chain(ParseLevel operand,
                                    std::initializer_list<std::pair<std::string_view, Operator>> table) {
  ANEDVD_TRY(auto first, (this->*operand)());
  NodePtr node;
  while (true) {
    const auto* row = std::find_if(table.begin(), table.end(), [&](const auto& r) { return current().is(r.first); });
    if (row == table.end()) break;
    if (!node) {
      node = make(NodeKind::kArithmetic, current().offset);
      add(*node, std::move(first));
    }
    next();
    node->operators.push_back(row->second);
    ANEDVD_TRY(auto right, (this->*operand)());
    add(*node, std::move(right));
  }
  if (!node) return first;
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_sum() {
  return parse_chain(&Parser::parse_concat, {{"+", Operator::kAdd}, {"-", Operator::kSubtract}});
}

Result<NodePtr> Parser::parse_concat() {
  ANEDVD_TRY(auto first, parse_product());
  if (!current().is("~")) return first;
  auto node = make(NodeKind::kConcat, current().offset);
  add(*node, std::move(first));
  while (skip_if("~")) {
    ANEDVD_TRY(auto right, parse_product());
    add(*node, std::move(right));
  }
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_product() {
  return parse_chain(
      &Parser::parse_power,
      {{"*", Operator::kMultiply}, {"/", Operator::kDivide}, {"//", Operator::kFloorDivide}, {"%", Operator::kModulo}});
}

Result<NodePtr> Parser::parse_power() {
  ANEDVD_TRY(auto first, parse_unary(true));
  if (!current().is("**")) return first;
  auto node = make(NodeKind::kArithmetic, current().offset);
  add(*node, std::move(first));
  while (skip_if("**")) {
    node->operators.push_back(Operator::kPower);
    ANEDVD_TRY(auto right, parse_unary(true));
    add(*node, std::move(right));
  }
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_unary(bool with_filter) {
  NodePtr node;
  if (current().is("-") || current().is("+")) {
    const Level level(*this);
    ANEDVD_TRY_VOID(check_nesting());
    node = make(current().is("-") ? NodeKind::kNegate : NodeKind::kPlus, current().offset);
    next();
    ANEDVD_TRY(auto operand, parse_unary(false));
    add(*node, std::move(operand));
    ANEDVD_TRY(node, finish(std::move(node)));
  } else {
    ANEDVD_TRY(node, parse_primary());
  }
  ANEDVD_TRY(node, parse_postfix(std::move(node)));
  if (!with_filter) return node;
  return parse_filters_and_tests(std::move(node));
}

Result<NodePtr> Parser::parse_primary() {
  const Token& token = current();
  auto node = make(NodeKind::kName, token.offset);
  switch (token.kind) {
    case TokenKind::kName: {
      const std::string& name = token.text;
      next();
      if (name == "true" || name == "True") return constant(std::move(node), Value::boolean(true));
      if (name == "false" || name == "False") return constant(std::move(node), Value::boolean(false));
      if (name == "none" || name == "None") return constant(std::move(node), Value::none());
      node->name = name_id(name);
      for (Node* function : functions_) {
        function->uses_caller |= name == "caller";
        function->uses_kwargs |= name == "kwargs";
        function->uses_varargs |= name == "varargs";
      }
      return node;
    }
    case TokenKind::kString: {
      std::string text = next().text;
      while (current().kind == TokenKind::kString) text += next().text;
      return constant(std::move(node), literal(std::move(text)));
    }
    case TokenKind::kInteger: return constant(std::move(node), Value::integer(next().integer));
    case TokenKind::kFloat: return constant(std::move(node), Value::real(next().real));
    default: break;
  }
  if (skip_if("(")) {
    ANEDVD_TRY(auto inner, parse_tuple(true, "", true));
    ANEDVD_TRY_VOID(expect(")"));
    return inner;
  }
  if (token.is("[")) return parse_list();
  if (token.is("{")) return parse_dict();
  return error_at(token.offset, "expected an expression, found {}", describe(token));
}

Result<NodePtr> Parser::parse_list() {
  auto node = make(NodeKind::kList, next().offset);
  while (!current().is("]")) {
    if (!node->children.empty()) ANEDVD_TRY_VOID(expect(","));
    if (current().is("]")) break;
    ANEDVD_TRY(auto item, parse_expression());
    add(*node, std::move(item));
  }
  next();
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_dict() {
  auto node = make(NodeKind::kDict, next().offset);
  while (!current().is("}")) {
    if (!node->children.empty()) ANEDVD_TRY_VOID(expect(","));
    if (current().is("}")) break;
    ANEDVD_TRY(auto key, parse_expression());
    ANEDVD_TRY_VOID(expect(":"));
    ANEDVD_TRY(auto value, parse_expression());
    add(*node, std::move(key));
    add(*node, std::move(value));
  }
  next();
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_postfix(NodePtr node) {
  while (true) {
    if (current().is(".") || current().is("[")) {
      ANEDVD_TRY(node, parse_subscript(std::move(node)));
    } else if (current().is("(")) {
      ANEDVD_TRY(node, parse_call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<NodePtr> Parser::parse_filters_and_tests(NodePtr node) {
  while (true) {
    if (current().is("|")) {
      ANEDVD_TRY(node, parse_filter(std::move(node), false));
    } else if (current().is_name("is")) {
      ANEDVD_TRY(node, parse_test(std::move(node)));
    } else if (current().is("(")) {
      ANEDVD_TRY(node, parse_call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<NodePtr> Parser::parse_subscript(NodePtr object) {
  const size_t offset = current().offset;
  if (!skip_if(".")) return parse_index(std::move(object));
  const Token& token = next();
  if (token.kind == TokenKind::kName) {
    auto node = make(NodeKind::kAttribute, offset);
    node->text = token.text;
    add(*node, std::move(object));
    return finish(std::move(node));
  }
  if (token.kind != TokenKind::kInteger)
    return error_at(token.offset, "expected a name or number, found {}", describe(token));
  auto node = make(NodeKind::kItem, offset);
  add(*node, std::move(object));
  add(*node, constant(make(NodeKind::kConstant, token.offset), Value::integer(token.integer)));
  return finish(std::move(node));
}

// [index] or [start:stop:step]; [a, b] is an index that is a tuple.
Result<NodePtr> Parser::parse_index(NodePtr object) {
  auto node = make(NodeKind::kItem, next().offset);
  add(*node, std::move(object));
  const auto at_part_end = [&] { return current().is(":") || current().is("]"); };
  NodePtr first;
  if (!at_part_end()) {
    ANEDVD_TRY(first, parse_expression());
  }
  if (current().is(",")) {
    auto tuple = make(NodeKind::kTuple, first ? first->offset : current().offset);
    add(*tuple, std::move(first));
    while (skip_if(",")) {
      ANEDVD_TRY(auto item, parse_expression());
      add(*tuple, std::move(item));
    }
    ANEDVD_TRY(first, finish(std::move(tuple)));
  }
  if (!current().is(":")) {
    if (!first) return error_at(current().offset, "expected an index, found ']'");
    ANEDVD_TRY_VOID(expect("]"));
    add(*node, std::move(first));
    return finish(std::move(node));
  }
  node->kind = NodeKind::kSlice;
  add(*node, std::move(first));
  for (int part = 0; part < 2; ++part) {
    NodePtr value;
    if (skip_if(":") && !at_part_end()) {
      ANEDVD_TRY(value, parse_expression());
    }
    add(*node, std::move(value));
  }
  ANEDVD_TRY_VOID(expect("]"));
  return finish(std::move(node));
}

Result<> Parser::parse_arguments(Node& node) {
  ANEDVD_TRY_VOID(expect("("));
  bool named = false, star = false, double_star = false;
  while (!current().is(")")) {
    if (!node.arguments.empty()) {
      ANEDVD_TRY_VOID(expect(","));
      if (current().is(")")) break;
    }
    ArgumentNode argument;
    const size_t offset = current().offset;
    bool in_order = !double_star;
    if (skip_if("*")) {
      in_order = in_order && !star;
      star = true;
      argument.name = "*";
    } else if (skip_if("**")) {
      double_star = true;
      argument.name = "**";
    } else if (current().kind == TokenKind::kName && ahead().is("=")) {
      argument.name = next().text;
      next();
      named = true;
      const auto same = [&](const ArgumentNode& other) { return other.name == argument.name; };
      if (std::any_of(node.arguments.begin(), node.arguments.end(), same)) {
        return error_at(offset, "the argument '{}' is given twice", visible(argument.name, 60));
      }
    } else {
      in_order = in_order && !star && !named;
    }
    if (!in_order) return error_at(offset, "arguments are out of order; positional, then named, then ** is the order");
    ANEDVD_TRY(argument.value, parse_expression());
    node.arguments.push_back(std::move(argument));
  }
  next();
  return {};
}

Result<NodePtr> Parser::parse_call(NodePtr callee) {
  auto node = make(NodeKind::kCall, current().offset);
  add(*node, std::move(callee));
  ANEDVD_TRY_VOID(parse_arguments(*node));
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_filter(NodePtr input, bool inline_start) {
  while (inline_start || skip_if("|")) {
    inline_start = false;
    auto node = make(NodeKind::kFilter, current().offset);
    ANEDVD_TRY(node->text, expect_name());
    while (skip_if(".")) {
      ANEDVD_TRY(auto part, expect_name());
      node->text += "." + part;
    }
    if (!find_filter(node->text)) unknown_.push_back({node->offset, no_filter_words(node->text)});
    add(*node, std::move(input));
    if (current().is("(")) ANEDVD_TRY_VOID(parse_arguments(*node));
    ANEDVD_TRY(input, finish(std::move(node)));
  }
  return input;
}

Result<NodePtr> Parser::parse_test(NodePtr input) {
  next();  // is
  const size_t offset = current().offset;
  const bool negated = skip_if_name("not");
  auto node = make(NodeKind::kTest, current().offset);
  ANEDVD_TRY(node->text, expect_name());
  while (skip_if(".")) {
    ANEDVD_TRY(auto part, expect_name());
    node->text += "." + part;
  }
  if (!find_test(node->text)) unknown_.push_back({node->offset, no_test_words(node->text)});
  add(*node, std::move(input));
  const Token& token = current();
  const bool is_operand =
      token.kind == TokenKind::kString || token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat ||
      token.is("[") || token.is("{") ||
      (token.kind == TokenKind::kName && token.text != "else" && token.text != "or" && token.text != "and");
  if (token.is("(")) {
    ANEDVD_TRY_VOID(parse_arguments(*node));
  } else if (is_operand) {
    if (token.is_name("is")) return error_at(token.offset, "tests with 'is' cannot be chained");
    const Level level(*this);
    ANEDVD_TRY_VOID(check_nesting());
    ANEDVD_TRY(auto operand, parse_primary());
    ANEDVD_TRY(operand, parse_postfix(std::move(operand)));
    node->arguments.push_back({"", std::move(operand)});
  }
  ANEDVD_TRY(auto test, finish(std::move(node)));
  if (!negated) return test;
  auto opposite = make(NodeKind::kNot, offset);
  add(*opposite, std::move(test));
  return finish(std::move(opposite));
}

}  // namespace anedvd::jinja
