// The parser's shared part: tokens, names, nesting, and errors with their place. parser.cpp holds statements, parser_expressions.cpp
// expressions.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace anedvd::jinja {

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::vector<std::string>& names) : tokens_(std::move(tokens)), names_(names) {}

  Result<NodePtr> parse_all();
  size_t error_offset() const { return error_offset_; }

 private:
  // Counts one level of nesting for as long as it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~Level() { --parser_.nesting_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };
  // A filter or test that does not exist: an error unless it stands in an `if`.
  struct Unknown {
    size_t offset;
    std::string words;
  };

  // Tokens.
  const Token& current() const { return tokens_[position_]; }
  const Token& ahead() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[position_ + 1 < tokens_.size() ? position_++ : position_]; }
  bool skip_if(std::string_view op);
  bool skip_if_name(std::string_view name);
  Result<> expect(std::string_view op);
  Result<> expect_kind(TokenKind kind, std::string_view words);
  Result<std::string> expect_name();
  std::string describe(const Token& token) const;

  template <class... Args>
  tl::unexpected<Error> error_at(size_t offset, fmt::format_string<Args...> format, Args&&... args) {
    error_offset_ = offset;
    return fail(ErrorCode::kBadFile, format, std::forward<Args>(args)...);
  }
  Result<> check_nesting();

  // Nodes.
  int name_id(const std::string& name);
  static NodePtr make(NodeKind kind, size_t offset);
  // Adds a child and keeps the depth; a tree too deep is reported when its node is finished.
  static void add(Node& parent, NodePtr child);
  Result<NodePtr> finish(NodePtr node);

  // Statements.
  Result<NodePtr> parse_body(std::initializer_list<std::string_view> end_tags);
  Result<NodePtr> parse_inner_body(
      std::initializer_list<std::string_view> end_tags);  // after the tag's own %}; may open a scope
  Result<NodePtr> parse_statements(std::initializer_list<std::string_view> end_tags);
  Result<NodePtr> parse_statement();
  Result<NodePtr> parse_set();
  Result<NodePtr> parse_if();
  Result<NodePtr> parse_for();
  Result<NodePtr> parse_macro();
  Result<NodePtr> parse_call_block();
  Result<NodePtr> parse_filter_block();
  Result<NodePtr> parse_with();
  Result<NodePtr> parse_generation();
  Result<NodePtr> parse_print();
  Result<NodePtr> parse_loop_control();
  Result<> parse_signature(Node& node, std::vector<NodePtr>& defaults);
  Result<NodePtr> parse_function_body(Node& node, std::string_view end_tag);
  Result<NodePtr> parse_target(bool with_namespace, std::string_view end_name);
  Result<NodePtr> parse_target_name(bool with_namespace);
  Result<> refuse_unknown_since(size_t start);

  // Expressions.
  Result<NodePtr> parse_tuple(bool with_condition, std::string_view end_name, bool in_parentheses);
  Result<NodePtr> parse_expression(bool with_condition = true);
  Result<NodePtr> parse_logic(bool is_or);
  Result<NodePtr> parse_not();
  Result<NodePtr> parse_compare();
  Result<NodePtr> parse_sum();
  Result<NodePtr> parse_concat();
  Result<NodePtr> parse_product();
  Result<NodePtr> parse_power();
  Result<NodePtr> parse_unary(bool with_filter);
  Result<NodePtr> parse_primary();
  Result<NodePtr> parse_list();
  Result<NodePtr> parse_dict();
  Result<NodePtr> parse_postfix(NodePtr node);
  Result<NodePtr> parse_filters_and_tests(NodePtr node);
  Result<NodePtr> parse_subscript(NodePtr object);
  Result<NodePtr> parse_index(NodePtr object);
  Result<NodePtr> parse_call(NodePtr callee);
  Result<NodePtr> parse_filter(NodePtr input, bool inline_start);
  Result<NodePtr> parse_test(NodePtr input);
  Result<> parse_arguments(Node& node);
  using ParseLevel = Result<NodePtr> (Parser::*)();
  Result<NodePtr> parse_chain(ParseLevel operand, std::initializer_list<std::pair<std::string_view, Operator>> table);

  std::vector<Token> tokens_;
  std::vector<std::string>& names_;
  std::unordered_map<std::string, int> ids_;
  size_t position_ = 0;
  size_t error_offset_ = 0;
  int nesting_ = 0;
  int loops_ = 0;                 // how many the current function body stands in
  std::vector<Node*> functions_;  // macros and call blocks around, to note `caller`, `kwargs`, `varargs`
  std::vector<Unknown> unknown_;
};

}  // namespace anedvd::jinja
