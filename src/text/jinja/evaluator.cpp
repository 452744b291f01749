// Statements, scopes, loops and macros. Expressions are in evaluator_expressions.cpp.
#include "text/jinja/evaluator.h"

#include <algorithm>

#include "base/words.h"
#include "text/jinja/lexer.h"

namespace anedvd::jinja {
namespace {

constexpr int kMaxMacroDepth = 200;

int find_name(const Tree& tree, std::string_view name) {
  const auto it = std::find(tree.names.begin(), tree.names.end(), name);
  return it == tree.names.end() ? -2 : static_cast<int>(it - tree.names.begin());  // -2: the template never says it
}

}  // namespace

// Sends output to a builder of its own for as long as it lives.
class Evaluator::OutputGuard {
 public:
  OutputGuard(Evaluator& evaluator, TextBuilder& builder)
      : evaluator_(evaluator), outer_(std::exchange(evaluator.output_, &builder)) {}
  ~OutputGuard() { evaluator_.output_ = outer_; }
  OutputGuard(const OutputGuard&) = delete;
  OutputGuard& operator=(const OutputGuard&) = delete;

 private:
  Evaluator& evaluator_;
  TextBuilder* outer_;
};

namespace {

// Puts the scope back at the end of a block.
class ScopeGuard {
 public:
  ScopeGuard(std::shared_ptr<Scope>& current, std::shared_ptr<Scope> inner)
      : current_(current), outer_(std::move(current)) {
    current_ = std::move(inner);
  }
  ~ScopeGuard() { current_ = std::move(outer_); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  std::shared_ptr<Scope>& current_;
  std::shared_ptr<Scope> outer_;
};

// Empties a loop when it ends, so that a template which kept `loop` holds no ring.
class LoopGuard {
 public:
  explicit LoopGuard(LoopState& loop) : loop_(loop) {}
  ~LoopGuard() {
    loop_.over = true;
    loop_.source.clear();
    loop_.waiting.clear();
    loop_.before = loop_.current = Value();
    loop_.last_changed.reset();
    loop_.scope.reset();
  }
  LoopGuard(const LoopGuard&) = delete;
  LoopGuard& operator=(const LoopGuard&) = delete;

 private:
  LoopState& loop_;
};

std::shared_ptr<Scope> inside(const std::shared_ptr<Scope>& parent) {
  auto scope = std::make_shared<Scope>();
  scope->parent = parent;
  return scope;
}

}  // namespace

Evaluator::Evaluator(const Tree& tree, const Limits& limits, const std::tm& now)
    : tree_(tree),
      now_(now),
      budget_(limits),
      globals_(std::make_shared<Scope>()),
      scope_(globals_),
      name_loop_(find_name(tree, "loop")),
      name_caller_(find_name(tree, "caller")),
      name_kwargs_(find_name(tree, "kwargs")),
      name_varargs_(find_name(tree, "varargs")) {}

Evaluator::~Evaluator() {
  scope_.reset();
  for (auto& space : namespaces_) space->attributes.clear();
  for (auto& scope : kept_scopes_) {
    scope->variables.clear();
    scope->parent.reset();
  }
}

void Evaluator::define(std::string_view name, Value value) {
  if (const int id = find_name(tree_, name); id >= 0) store(*globals_, id, std::move(value));
}

Result<Text> Evaluator::run() {
  budget_.mark_stack();
  TextBuilder out;
  const OutputGuard guard(*this, out);
  auto flow = execute(*tree_.root);
  if (!flow) return fail_in(place_words(tree_.source, error_offset_.value_or(0)), std::move(flow).error());
  return out.finish();
}

Result<> Evaluator::spend(uint64_t steps) {
  if (!budget_.spend(steps)) {
    return fail(ErrorCode::kUnsupported, "the template runs too long; anedvd stops after {} steps",
                with_commas(static_cast<int64_t>(budget_.limits().steps)));
  }
  return {};
}

Result<> Evaluator::enter(const Node& node) {
  if (budget_.out_of_stack()) {
    note_place(node);
    return fail(ErrorCode::kUnsupported, "calls are nested too deep; a macro calls itself without end?");
  }
  if (budget_.out_of_memory()) {
    note_place(node);
    return fail(ErrorCode::kNoMemory, "the template uses more than {} of memory",
                size_words(budget_.limits().memory_bytes));
  }
  auto spent = spend(1);
  if (!spent) note_place(node);
  return spent;
}

void Evaluator::note_place(const Node& node) {
  if (!error_offset_) error_offset_ = node.offset;
}

Result<Evaluator::Flow> Evaluator::execute(const Node& node) {
  ANEDVD_TRY_VOID(enter(node));
  auto flow = execute_kind(node);
  if (!flow) note_place(node);
  return flow;
}

Result<Evaluator::Flow> Evaluator::execute_kind(const Node& node) {
  switch (node.kind) {
    case NodeKind::kBlock: return execute_block(node);
    case NodeKind::kData: ANEDVD_TRY_VOID(write(node.value)); return Flow::kNext;
    case NodeKind::kOutput:
      for (const NodePtr& child : node.children) {
        ANEDVD_TRY(auto value, evaluate(*child));
        ANEDVD_TRY_VOID(write(value));
      }
      return Flow::kNext;
    case NodeKind::kSet: {
      ANEDVD_TRY(auto value, evaluate(*node.children[1]));
      ANEDVD_TRY_VOID(assign(*node.children[0], value));
      return Flow::kNext;
    }
    case NodeKind::kSetBlock: return execute_set_block(node);
    case NodeKind::kIf: return execute_if(node);
    case NodeKind::kFor: return execute_for(node);
    case NodeKind::kMacro: store(*scope_, node.name, make_macro(node, tree_.names[node.name])); return Flow::kNext;
    case NodeKind::kCallBlock: return execute_call_block(node);
    case NodeKind::kFilterBlock: return execute_filter_block(node);
    case NodeKind::kWith: return execute_with(node);
    case NodeKind::kScope: return execute_inner(*node.children[0]);
    case NodeKind::kBreak: return Flow::kBreak;
    case NodeKind::kContinue: return Flow::kContinue;
    default: ANEDVD_CHECK(false, "an expression stands as a statement"); return Flow::kNext;
  }
}

Result<Evaluator::Flow> Evaluator::execute_block(const Node& node) {
  for (const NodePtr& statement : node.children) {
    ANEDVD_TRY(const Flow flow, execute(*statement));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<> Evaluator::write(const Value& value) {
  ANEDVD_TRY_VOID(print(*output_, value));
  if (output_->overflowed() || output_->size() > budget_.limits().output_bytes) {
    return fail(ErrorCode::kNoMemory, "the template writes more than {}", size_words(budget_.limits().output_bytes));
  }
  return {};
}

Result<Evaluator::Flow> Evaluator::execute_if(const Node& node) {
  for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
    if (node.children[i]) {
      ANEDVD_TRY(auto condition, evaluate(*node.children[i]));
      if (!truth(condition)) continue;
    }
    return execute(*node.children[i + 1]);
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::execute_inner(const Node& body) {
  const ScopeGuard guard(scope_, inside(scope_));
  return execute(body);
}

Result<Evaluator::Flow> Evaluator::execute_set_block(const Node& node) {
  TextBuilder out;
  {
    const OutputGuard guard(*this, out);
    ANEDVD_TRY(const Flow flow, execute_inner(*node.children[2]));
    if (flow != Flow::kNext) return flow;
  }
  ANEDVD_TRY(auto value, make_text(out));
  if (node.children[1]) {
    ANEDVD_TRY(value, apply_filters(*node.children[1], value));
  }
  ANEDVD_TRY_VOID(assign(*node.children[0], value));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::execute_filter_block(const Node& node) {
  TextBuilder out;
  const ScopeGuard scope(scope_, inside(scope_));
  {
    const OutputGuard guard(*this, out);
    ANEDVD_TRY(const Flow flow, execute(*node.children[1]));
    if (flow != Flow::kNext) return flow;
  }
  ANEDVD_TRY(auto text, make_text(out));
  ANEDVD_TRY(auto value, apply_filters(*node.children[0], text));
  ANEDVD_TRY_VOID(write(value));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::execute_with(const Node& node) {
  auto scope = inside(scope_);
  for (size_t i = 1; i < node.children.size(); i += 2) {
    ANEDVD_TRY(auto value, evaluate(*node.children[i + 1]));
    store(*scope, node.children[i]->name, std::move(value));
  }
  const ScopeGuard guard(scope_, std::move(scope));
  return execute(*node.children[0]);
}

void Evaluator::store(Scope& scope, int name, Value value) {
  for (auto& [id, present] : scope.variables) {
    if (id == name) {
      present = std::move(value);
      return;
    }
  }
  scope.variables.emplace_back(name, std::move(value));
}

Result<> Evaluator::assign(const Node& target, const Value& value) {
  if (target.kind == NodeKind::kName) {
    store(*scope_, target.name, value);
    return {};
  }
  if (target.kind == NodeKind::kNamespaceAttribute) {
    ANEDVD_TRY(auto object, look_up(target));
    if (object.kind() != Kind::kNamespace) {
      note_place(target);
      return fail(ErrorCode::kUnsupported, "'{}' is no namespace; only those can be assigned to with a dot",
                  visible(tree_.names[target.name], 60));
    }
    auto& attributes = object.object<Namespace>().attributes;
    for (auto& [name, present] : attributes) {
      if (name == target.text) {
        present = value;
        return {};
      }
    }
    attributes.emplace_back(target.text, value);
    return {};
  }
  ANEDVD_TRY(auto items, iterate(value));
  if (items.size() != target.children.size()) {
    note_place(target);
    return fail(ErrorCode::kUnsupported, "{} values for {} names", items.size(), target.children.size());
  }
  for (size_t i = 0; i < items.size(); ++i) ANEDVD_TRY_VOID(assign(*target.children[i], items[i]));
  return {};
}

// Loops -----------------------------------------------------------------------------------------------------------------------------

Result<Evaluator::Flow> Evaluator::execute_for(const Node& node) {
  ANEDVD_TRY(auto iterable, evaluate(*node.children[1]));
  return run_loop(node, iterable, 0);
}

Result<Evaluator::Flow> Evaluator::run_loop(const Node& node, const Value& iterable, int depth0) {
  auto items = iterate(iterable);
  if (!items) {
    note_place(*node.children[1]);
    return tl::unexpected(std::move(items).error());
  }
  auto loop = std::make_shared<LoopState>();
  const LoopGuard loop_guard(*loop);
  loop->node = &node;
  loop->scope = scope_;
  loop->source = std::move(*items);
  loop->depth0 = depth0;
  const Value loop_value(Kind::kLoop, loop);
  const auto outer = scope_;
  bool any = false;
  std::shared_ptr<Scope> scope;
  while (true) {
    ANEDVD_TRY(auto item, next_item(*loop));
    if (!item) break;
    any = true;
    // A macro may have kept the scope of the pass before.
    if (!scope || scope.use_count() > 1) scope = inside(outer);
    scope->variables.clear();
    const ScopeGuard guard(scope_, scope);
    ANEDVD_TRY_VOID(assign(*node.children[0], *item));
    store(*scope, name_loop_, loop_value);
    ANEDVD_TRY(const Flow flow, execute(*node.children[3]));
    if (flow == Flow::kBreak) break;
  }
  if (any || !node.children[4]) return Flow::kNext;
  return execute_inner(*node.children[4]);
}

// The next item of the source that the loop's `if` lets through. Asked for one at a time: the `if` may look at what the body changed.
Result<std::optional<Value>> Evaluator::pull(LoopState& loop) {
  const Node* filter = loop.node->children[2].get();
  while (loop.taken < loop.source.size()) {
    ANEDVD_TRY_VOID(spend(1));
    Value item = loop.source[loop.taken++];
    if (!filter) return std::optional(std::move(item));
    const ScopeGuard guard(scope_, inside(loop.scope));
    ANEDVD_TRY_VOID(assign(*loop.node->children[0], item));
    ANEDVD_TRY(auto passes, evaluate(*filter));
    if (truth(passes)) return std::optional(std::move(item));
  }
  return std::optional<Value>();
}

Result<std::optional<Value>> Evaluator::next_item(LoopState& loop) {
  std::optional<Value> item;
  if (!loop.waiting.empty()) {
    item = std::move(loop.waiting.back());
    loop.waiting.pop_back();
  } else {
    ANEDVD_TRY(item, pull(loop));
  }
  if (!item) return item;
  ++loop.index0;
  loop.before = std::move(loop.current);
  loop.current = *item;
  return item;
}

Result<bool> Evaluator::peek(LoopState& loop) {
  if (loop.waiting.empty()) {
    ANEDVD_TRY(auto item, pull(loop));
    if (item) loop.waiting.push_back(std::move(*item));
  }
  return !loop.waiting.empty();
}

Result<size_t> Evaluator::loop_length(LoopState& loop) {
  if (!loop.length) {
    if (!loop.node->children[2]) {
      loop.length = loop.source.size();
    } else {
      std::vector<Value> rest;
      std::reverse(loop.waiting.begin(), loop.waiting.end());
      while (true) {
        ANEDVD_TRY(auto item, pull(loop));
        if (!item) break;
        rest.push_back(std::move(*item));
      }
      loop.waiting.insert(loop.waiting.end(), rest.begin(), rest.end());
      std::reverse(loop.waiting.begin(), loop.waiting.end());
      loop.length = static_cast<size_t>(loop.index0 + 1) + loop.waiting.size();
    }
  }
  return *loop.length;
}

Result<Value> Evaluator::call_loop(LoopState& loop, const Arguments& arguments) {
  if (loop.over || !loop.node->flag)
    return fail(ErrorCode::kUnsupported, "only the loop of a recursive for can be called");
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    return fail(ErrorCode::kUnsupported, "loop() takes one list");
  if (++macro_depth_ > kMaxMacroDepth) {
    --macro_depth_;
    return fail(ErrorCode::kUnsupported, "loops call themselves more than {} deep", kMaxMacroDepth);
  }
  TextBuilder out;
  const OutputGuard output(*this, out);
  const ScopeGuard guard(scope_, loop.scope);
  auto flow = run_loop(*loop.node, arguments.positional[0], loop.depth0 + 1);
  --macro_depth_;
  if (!flow) return tl::unexpected(std::move(flow).error());
  return make_text(out);
}

// Macros ----------------------------------------------------------------------------------------------------------------------------

Value Evaluator::make_macro(const Node& node, std::string_view name) {
  auto macro = std::make_shared<Macro>();
  macro->node = &node;
  macro->scope = scope_;
  macro->name = name;
  macro->budget = &budget_;
  macro->charged = sizeof(Macro) + sizeof(Scope) + 64;
  budget_.take(macro->charged);
  if (kept_scopes_.empty() || kept_scopes_.back() != scope_) kept_scopes_.push_back(scope_);
  return Value(Kind::kMacro, std::move(macro));
}

// Fills the macro's own scope, which is current.
Result<> Evaluator::bind_macro(const Macro& macro, const Arguments& arguments) {
  const Node& node = *macro.node;
  const size_t count = node.parameters.size();
  const size_t first_default =
      node.kind == NodeKind::kMacro ? 1 : 2;  // children: body, defaults; a call block has its call before
  const size_t defaults = node.children.size() - first_default;
  auto named = arguments.named;
  bool caller_is_parameter = false;
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = tree_.names[node.parameters[i]];
    caller_is_parameter |= name == "caller";
    if (i < arguments.positional.size()) {
      store(*scope_, node.parameters[i], arguments.positional[i]);
      continue;
    }
    const auto given =
        std::find_if(named.begin(), named.end(), [&](const auto& argument) { return argument.first == name; });
    Value value;
    if (given != named.end()) {
      value = std::move(given->second);
      named.erase(given);
    } else if (i + defaults >= count) {
      ANEDVD_TRY(value, evaluate(*node.children[first_default + i + defaults - count]));
    }
    store(*scope_, node.parameters[i], std::move(value));
  }
  if (node.uses_caller && !caller_is_parameter) {
    const auto given =
        std::find_if(named.begin(), named.end(), [](const auto& argument) { return argument.first == "caller"; });
    store(*scope_, name_caller_, given == named.end() ? Value() : given->second);
    if (given != named.end()) named.erase(given);
  }
  if (node.uses_kwargs) {
    auto dict = std::make_shared<Dict>();
    for (auto& [name, value] : named) {
      ANEDVD_TRY(auto key, make_text(name));
      dict->put(std::move(key), std::move(value));
    }
    ANEDVD_TRY(auto kwargs, make_dict(std::move(dict)));
    store(*scope_, name_kwargs_, std::move(kwargs));
  } else if (!named.empty()) {
    return fail(ErrorCode::kUnsupported, "macro '{}' takes no argument '{}'", visible(macro.name, 60),
                visible(named[0].first, 60));
  }
  if (node.uses_varargs) {
    std::vector<Value> rest;
    for (size_t i = count; i < arguments.positional.size(); ++i) rest.push_back(arguments.positional[i]);
    ANEDVD_TRY(auto varargs, make_list(std::move(rest), ListStyle::kTuple));
    store(*scope_, name_varargs_, std::move(varargs));
  } else if (arguments.positional.size() > count) {
    return fail(ErrorCode::kUnsupported, "macro '{}' takes {} arguments, {} are given", visible(macro.name, 60), count,
                arguments.positional.size());
  }
  return {};
}

Result<Value> Evaluator::call_macro(const Macro& macro, const Arguments& arguments) {
  struct Depth {
    int& depth;
    ~Depth() { --depth; }
  } const depth{macro_depth_};
  if (++macro_depth_ > kMaxMacroDepth) {
    return fail(ErrorCode::kUnsupported, "macro '{}' calls itself more than {} deep", visible(macro.name, 60),
                kMaxMacroDepth);
  }
  TextBuilder out;
  const OutputGuard output(*this, out);
  const ScopeGuard guard(scope_, inside(macro.scope));
  ANEDVD_TRY_VOID(bind_macro(macro, arguments));
  ANEDVD_TRY_VOID(execute(*macro.node->children[macro.node->kind == NodeKind::kMacro ? 0 : 1]));
  return make_text(out);
}

Result<Evaluator::Flow> Evaluator::execute_call_block(const Node& node) {
  const Node& call_node = *node.children[0];
  ANEDVD_TRY(auto callee, evaluate(*call_node.children[0]));
  ANEDVD_TRY_VOID(check_defined(*call_node.children[0], callee));
  ANEDVD_TRY(auto arguments, evaluate_arguments(call_node));
  arguments.named.emplace_back("caller", make_macro(node, "caller"));
  ANEDVD_TRY(auto value, call(callee, arguments));
  ANEDVD_TRY_VOID(write(value));
  return Flow::kNext;
}

}  // namespace anedvd::jinja
