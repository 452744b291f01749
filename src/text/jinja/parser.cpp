#include "text/jinja/parser.h"

#include <array>

#include "base/words.h"
#include "text/jinja/parser_state.h"

namespace anedvd::jinja {
namespace {

constexpr std::array<std::string_view, 6> kOtherTemplates = {"include", "import", "from",
                                                             "extends", "block",  "autoescape"};

}  // namespace

bool Parser::skip_if(std::string_view op) {
  const bool found = current().is(op);
  if (found) next();
  return found;
}

bool Parser::skip_if_name(std::string_view name) {
  const bool found = current().is_name(name);
  if (found) next();
  return found;
}

std::string Parser::describe(const Token& token) const {
  switch (token.kind) {
    case TokenKind::kName:
    case TokenKind::kOperator: return fmt::format("'{}'", visible(token.text, 60));
    case TokenKind::kString: return "a string";
    case TokenKind::kInteger:
    case TokenKind::kFloat: return "a number";
    case TokenKind::kBlockEnd: return "'%}'";
    case TokenKind::kVariableEnd: return "'}}'";
    case TokenKind::kBlockBegin: return "'{%'";
    case TokenKind::kVariableBegin: return "'{{'";
    case TokenKind::kData: return "text";
    case TokenKind::kEnd: break;
  }
  return "the end of the template";
}

Result<> Parser::expect(std::string_view op) {
  if (!skip_if(op)) return error_at(current().offset, "expected '{}', found {}", op, describe(current()));
  return {};
}

Result<> Parser::expect_kind(TokenKind kind, std::string_view words) {
  if (current().kind != kind) return error_at(current().offset, "expected {}, found {}", words, describe(current()));
  next();
  return {};
}

Result<std::string> Parser::expect_name() {
  if (current().kind != TokenKind::kName)
    return error_at(current().offset, "expected a name, found {}", describe(current()));
  return next().text;
}

Result<> Parser::check_nesting() {
  if (nesting_ > kMaxNesting)
    return error_at(current().offset, "nested more than {} deep; anedvd stops here", kMaxNesting);
  return {};
}

int Parser::name_id(const std::string& name) {
  const auto [it, is_new] = ids_.try_emplace(name, static_cast<int>(names_.size()));
  if (is_new) names_.push_back(name);
  return it->second;
}

NodePtr Parser::make(NodeKind kind, size_t offset) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->offset = static_cast<uint32_t>(offset);
  return node;
}

void Parser::add(Node& parent, NodePtr child) {
  if (child) parent.depth = std::max(parent.depth, child->depth + 1);
  parent.children.push_back(std::move(child));
}

Result<NodePtr> Parser::finish(NodePtr node) {
  for (const ArgumentNode& argument : node->arguments) node->depth = std::max(node->depth, argument.value->depth + 1);
  if (node->depth > kMaxTreeDepth)
    return error_at(node->offset, "this chain is more than {} long; anedvd stops here", kMaxTreeDepth);
  return node;
}

Result<NodePtr> Parser::parse_all() {
  ANEDVD_TRY(auto root, parse_body({}));
  ANEDVD_TRY_VOID(refuse_unknown_since(0));
  return root;
}

Result<> Parser::refuse_unknown_since(size_t start) {
  if (unknown_.size() > start) return error_at(unknown_[start].offset, "{}", unknown_[start].words);
  return {};
}

// Statements up to a block that begins with one of `end_tags`, whose name is then current. No tags: to the end.
Result<NodePtr> Parser::parse_body(std::initializer_list<std::string_view> end_tags) {
  auto body = make(NodeKind::kBlock, current().offset);
  while (current().kind != TokenKind::kEnd) {
    const Token& token = current();
    if (token.kind == TokenKind::kData) {
      auto data = make(NodeKind::kData, token.offset);
      auto string = std::make_shared<String>();
      string->text.bytes = token.text;
      string->text.length = count_characters(token.text);
      data->value = Value(Kind::kString, std::move(string));
      add(*body, std::move(data));
      next();
    } else if (token.kind == TokenKind::kVariableBegin) {
      auto output = make(NodeKind::kOutput, token.offset);
      next();
      ANEDVD_TRY(auto expression, parse_tuple(true, "", false));
      ANEDVD_TRY_VOID(expect_kind(TokenKind::kVariableEnd, "'}}'"));
      add(*output, std::move(expression));
      add(*body, std::move(output));
    } else {
      next();  // kBlockBegin
      if (std::any_of(end_tags.begin(), end_tags.end(), [&](auto tag) { return current().is_name(tag); }))
        return finish(std::move(body));
      ANEDVD_TRY(auto statement, parse_statement());
      ANEDVD_TRY_VOID(expect_kind(TokenKind::kBlockEnd, "'%}'"));
      add(*body, std::move(statement));
    }
  }
  if (end_tags.size() != 0)
    return error_at(current().offset, "the template ends, but {{% {} %}} is missing", *(end_tags.end() - 1));
  return finish(std::move(body));
}

Result<NodePtr> Parser::parse_statements(std::initializer_list<std::string_view> end_tags) {
  skip_if(":");
  ANEDVD_TRY_VOID(expect_kind(TokenKind::kBlockEnd, "'%}'"));
  return parse_body(end_tags);
}

// The body of something that opens a scope of its own: unknown filters in it can't hide behind an `if` further out.
Result<NodePtr> Parser::parse_inner_body(std::initializer_list<std::string_view> end_tags) {
  const size_t start = unknown_.size();
  ANEDVD_TRY(auto body, parse_statements(end_tags));
  ANEDVD_TRY_VOID(refuse_unknown_since(start));
  return body;
}

Result<NodePtr> Parser::parse_statement() {
  const Level level(*this);
  ANEDVD_TRY_VOID(check_nesting());
  const Token& tag = current();
  if (tag.kind != TokenKind::kName) return error_at(tag.offset, "expected the name of a tag, found {}", describe(tag));
  using Parse = Result<NodePtr> (Parser::*)();
  static constexpr std::array<std::pair<std::string_view, Parse>, 11> kStatements = {{
      {"set", &Parser::parse_set},
      {"if", &Parser::parse_if},
      {"for", &Parser::parse_for},
      {"macro", &Parser::parse_macro},
      {"call", &Parser::parse_call_block},
      {"filter", &Parser::parse_filter_block},
      {"with", &Parser::parse_with},
      {"generation", &Parser::parse_generation},
      {"print", &Parser::parse_print},
      {"break", &Parser::parse_loop_control},
      {"continue", &Parser::parse_loop_control},
  }};
  for (const auto& [name, parse] : kStatements) {
    if (tag.text == name) return (this->*parse)();
  }
  if (std::find(kOtherTemplates.begin(), kOtherTemplates.end(), tag.text) != kOtherTemplates.end()) {
    error_offset_ = tag.offset;
    return fail(ErrorCode::kUnsupported, "{{% {} %}} is not supported; a chat template must stand alone", tag.text);
  }
  return error_at(tag.offset, "unknown tag '{}'", visible(tag.text, 60));
}

Result<NodePtr> Parser::parse_target_name(bool with_namespace) {
  const size_t offset = current().offset;
  ANEDVD_TRY(auto name, expect_name());
  constexpr std::array<std::string_view, 6> kConstants = {"true", "false", "none", "True", "False", "None"};
  if (std::find(kConstants.begin(), kConstants.end(), name) != kConstants.end())
    return error_at(offset, "can't assign to {}", name);
  if (name == "loop" && loops_ > 0) return error_at(offset, "can't assign to loop inside a for");
  auto node = make(NodeKind::kName, offset);
  node->name = name_id(name);
  if (with_namespace && skip_if(".")) {
    node->kind = NodeKind::kNamespaceAttribute;
    ANEDVD_TRY(node->text, expect_name());
  }
  return node;
}

// a | a, b | (a, b) | ns.a: what `set` and `for` assign to.
Result<NodePtr> Parser::parse_target(bool with_namespace, std::string_view end_name) {
  const Level level(*this);
  ANEDVD_TRY_VOID(check_nesting());
  auto tuple = make(NodeKind::kTuple, current().offset);
  bool is_tuple = false;
  while (true) {
    const auto kind = current().kind;
    if (kind == TokenKind::kBlockEnd || current().is(")") || (!end_name.empty() && current().is_name(end_name))) break;
    if (skip_if("(")) {
      ANEDVD_TRY(auto inner, parse_target(with_namespace, ""));
      ANEDVD_TRY_VOID(expect(")"));
      add(*tuple, std::move(inner));
    } else {
      ANEDVD_TRY(auto name, parse_target_name(with_namespace));
      add(*tuple, std::move(name));
    }
    if (!skip_if(",")) break;
    is_tuple = true;
  }
  if (tuple->children.empty()) return error_at(current().offset, "expected a name, found {}", describe(current()));
  if (!is_tuple) return std::move(tuple->children[0]);
  return finish(std::move(tuple));
}

Result<NodePtr> Parser::parse_set() {
  auto node = make(NodeKind::kSet, next().offset);
  ANEDVD_TRY(auto target, parse_target(true, ""));
  add(*node, std::move(target));
  if (skip_if("=")) {
    ANEDVD_TRY(auto value, parse_tuple(true, "", false));
    add(*node, std::move(value));
    return finish(std::move(node));
  }
  node->kind = NodeKind::kSetBlock;
  const size_t start = unknown_.size();
  NodePtr filter;
  if (current().is("|")) {
    ANEDVD_TRY(filter, parse_filter(nullptr, false));
  }
  add(*node, std::move(filter));
  ANEDVD_TRY(auto body, parse_statements({"endset"}));
  ANEDVD_TRY_VOID(refuse_unknown_since(start));
  add(*node, std::move(body));
  next();
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_if() {
  auto node = make(NodeKind::kIf, next().offset);
  const size_t start = unknown_.size();
  while (true) {
    ANEDVD_TRY(auto condition, parse_tuple(false, "", false));
    add(*node, std::move(condition));
    ANEDVD_TRY(auto body, parse_statements({"elif", "else", "endif"}));
    add(*node, std::move(body));
    if (skip_if_name("elif")) continue;
    if (skip_if_name("else")) {
      add(*node, nullptr);
      ANEDVD_TRY(auto rest, parse_statements({"endif"}));
      add(*node, std::move(rest));
    }
    break;
  }
  next();
  unknown_.resize(start);  // refused when reached
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_for() {
  auto node = make(NodeKind::kFor, next().offset);
  ++loops_;  // the targets too may not be called `loop`
  auto target = parse_target(false, "in");
  --loops_;
  if (!target) return tl::unexpected(std::move(target).error());
  add(*node, std::move(*target));
  if (!skip_if_name("in")) return error_at(current().offset, "expected 'in', found {}", describe(current()));
  ANEDVD_TRY(auto iterable, parse_tuple(false, "recursive", false));
  add(*node, std::move(iterable));
  const size_t start = unknown_.size();
  NodePtr filter;
  if (skip_if_name("if")) {
    ANEDVD_TRY(filter, parse_expression());
  }
  add(*node, std::move(filter));
  node->flag = skip_if_name("recursive");
  ++loops_;
  auto body = parse_statements({"else", "endfor"});
  --loops_;
  if (!body) return body;
  add(*node, std::move(*body));
  NodePtr otherwise;
  if (next().text == "else") {
    ANEDVD_TRY(otherwise, parse_statements({"endfor"}));
    next();
  }
  ANEDVD_TRY_VOID(refuse_unknown_since(start));
  add(*node, std::move(otherwise));
  return finish(std::move(node));
}

Result<> Parser::parse_signature(Node& node, std::vector<NodePtr>& defaults) {
  ANEDVD_TRY_VOID(expect("("));
  while (!current().is(")")) {
    if (!node.parameters.empty()) ANEDVD_TRY_VOID(expect(","));
    ANEDVD_TRY(auto parameter, parse_target_name(false));
    node.parameters.push_back(parameter->name);
    if (skip_if("=")) {
      ANEDVD_TRY(auto value, parse_expression());
      defaults.push_back(std::move(value));
    } else if (!defaults.empty()) {
      return error_at(parameter->offset, "a parameter without default follows one that has it");
    }
  }
  next();
  return {};
}

// The body of a macro or call block: loops outside can't be left from within.
Result<NodePtr> Parser::parse_function_body(Node& node, std::string_view end_tag) {
  const int loops = std::exchange(loops_, 0);
  functions_.push_back(&node);
  auto body = parse_inner_body({end_tag});
  functions_.pop_back();
  loops_ = loops;
  if (body) next();
  return body;
}

Result<NodePtr> Parser::parse_macro() {
  auto node = make(NodeKind::kMacro, next().offset);
  ANEDVD_TRY(auto name, parse_target_name(false));
  node->name = name->name;
  std::vector<NodePtr> defaults;
  const size_t start = unknown_.size();
  ANEDVD_TRY_VOID(parse_signature(*node, defaults));
  ANEDVD_TRY_VOID(refuse_unknown_since(start));
  ANEDVD_TRY(auto body, parse_function_body(*node, "endmacro"));
  add(*node, std::move(body));
  for (NodePtr& value : defaults) add(*node, std::move(value));
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_call_block() {
  auto node = make(NodeKind::kCallBlock, next().offset);
  std::vector<NodePtr> defaults;
  if (current().is("(")) ANEDVD_TRY_VOID(parse_signature(*node, defaults));
  ANEDVD_TRY(auto call, parse_expression());
  if (call->kind != NodeKind::kCall) return error_at(call->offset, "a call block needs a call");
  add(*node, std::move(call));
  ANEDVD_TRY(auto body, parse_function_body(*node, "endcall"));
  add(*node, std::move(body));
  for (NodePtr& value : defaults) add(*node, std::move(value));
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_filter_block() {
  auto node = make(NodeKind::kFilterBlock, next().offset);
  const size_t start = unknown_.size();
  ANEDVD_TRY(auto filter, parse_filter(nullptr, true));
  add(*node, std::move(filter));
  ANEDVD_TRY(auto body, parse_statements({"endfilter"}));
  ANEDVD_TRY_VOID(refuse_unknown_since(start));
  add(*node, std::move(body));
  next();
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_with() {
  auto node = make(NodeKind::kWith, next().offset);
  std::vector<NodePtr> pairs;
  while (current().kind != TokenKind::kBlockEnd) {
    if (!pairs.empty()) ANEDVD_TRY_VOID(expect(","));
    ANEDVD_TRY(auto target, parse_target_name(false));
    ANEDVD_TRY_VOID(expect("="));
    ANEDVD_TRY(auto value, parse_expression());
    pairs.push_back(std::move(target));
    pairs.push_back(std::move(value));
  }
  ANEDVD_TRY(auto body, parse_inner_body({"endwith"}));
  next();
  add(*node, std::move(body));
  for (NodePtr& part : pairs) add(*node, std::move(part));
  return finish(std::move(node));
}

// transformers marks the assistant's own text with it; rendering shows just the body.
Result<NodePtr> Parser::parse_generation() {
  auto node = make(NodeKind::kScope, next().offset);
  ANEDVD_TRY(auto body, parse_function_body(*node, "endgeneration"));
  add(*node, std::move(body));
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_print() {
  auto node = make(NodeKind::kOutput, next().offset);
  while (current().kind != TokenKind::kBlockEnd) {
    if (!node->children.empty()) ANEDVD_TRY_VOID(expect(","));
    ANEDVD_TRY(auto expression, parse_expression());
    add(*node, std::move(expression));
  }
  return finish(std::move(node));
}

Result<NodePtr> Parser::parse_loop_control() {
  const Token& tag = next();
  if (loops_ == 0) return error_at(tag.offset, "{{% {} %}} stands outside a loop", tag.text);
  return make(tag.text == "break" ? NodeKind::kBreak : NodeKind::kContinue, tag.offset);
}

Result<Tree> parse_template(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return fail(ErrorCode::kUnsupported, "the template has {} bytes; anedvd reads up to {}",
                with_commas(static_cast<int64_t>(source.size())), with_commas(static_cast<int64_t>(kMaxSourceBytes)));
  }
  Tree tree;
  tree.source = normalise_source(source);
  size_t error_offset = 0;
  auto tokens = tokenize(tree.source, error_offset);
  if (!tokens) return fail_in(place_words(tree.source, error_offset), std::move(tokens).error());
  Parser parser(std::move(*tokens), tree.names);
  auto root = parser.parse_all();
  if (!root) return fail_in(place_words(tree.source, parser.error_offset()), std::move(root).error());
  tree.root = std::move(*root);
  return tree;
}

}  // namespace anedvd::jinja
