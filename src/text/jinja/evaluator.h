// Runs a parsed template: walks the tree, keeps scopes, and gives built-ins what they need.
//
// Scopes follow Jinja: `for`, macros, call, filter, set-block and with bodies have their own; `if` has not. Assigning is always local to
// the innermost one. A macro sees the scope it was defined in. One evaluator serves one render and one thread.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/budget.h"
#include "text/jinja/library/builtins.h"
#include "text/jinja/value.h"

namespace anedvd::jinja {

struct Scope {
  std::shared_ptr<Scope> parent;  // shared: macros keep the scope of their definition
  std::vector<std::pair<int, Value>> variables;
};

// A macro, or the body of a call block.
struct Macro : Object {
  const Node* node = nullptr;
  std::shared_ptr<Scope> scope;
  std::string_view name;
};

struct LoopState : Object {
  const Node* node = nullptr;
  std::shared_ptr<Scope> scope;  // around the loop
  std::vector<Value> source;
  size_t taken = 0;            // of the source
  std::vector<Value> waiting;  // pulled but not yet current, first one last
  int64_t index0 = -1;         // before the first item
  int depth0 = 0;
  bool over = false;
  std::optional<size_t> length;
  Value before, current;
  std::optional<Value> last_changed;
};

class Evaluator {
 public:
  Evaluator(const Tree& tree, const Limits& limits, const std::tm& now);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Makes a variable of the template's context.
  void define(std::string_view name, Value value);
  // The rendered text. Errors begin with line and column.
  Result<Text> run();

  // For built-ins ---------------------------------------------------------------------------------------------------------------------
  Budget& budget() { return budget_; }
  const std::tm& now() const { return now_; }
  Result<> spend(uint64_t steps);
  Result<Value> make_text(TextBuilder& builder, bool markup = false);
  Result<Value> make_text(std::string_view bytes, Trust trust = Trust::kTemplate);
  Result<Value> make_slice(const Text& text, size_t begin, size_t end);  // by bytes
  Result<Value> make_list(std::vector<Value> items, ListStyle style = ListStyle::kList);
  Result<Value> make_dict(std::shared_ptr<Dict> dict);
  Result<Value> make_namespace(const Dict* attributes);
  // All that iterating over a value gives; reads a generator to its end.
  Result<std::vector<Value>> iterate(const Value& value);
  // Python's str(x) and repr(x), appended.
  Result<> print(TextBuilder& out, const Value& value);
  Result<> print_repr(TextBuilder& out, const Value& value);
  // str(x) as a value; strings pass through.
  Result<Value> to_text(const Value& value);
  Result<Value> get_attribute(const Value& object, std::string_view name);
  Result<Value> get_item(const Value& object, const Value& key);
  Result<Value> filter(std::string_view name, const Value& input, const Arguments& arguments);
  Result<Value> test(std::string_view name, const Value& input, const Arguments& arguments);
  Result<Value> call(const Value& callee, const Arguments& arguments);
  Result<bool> contains(const Value& container, const Value& item);
  Result<Value> calculate(Operator op, const Value& a, const Value& b);

 private:
  enum class Flow { kNext, kBreak, kContinue };
  class OutputGuard;

  // Expressions (evaluator_expressions.cpp).
  Result<Value> evaluate(const Node& node);
  Result<Value> evaluate_kind(const Node& node);
  Result<Value> look_up(const Node& node);
  Result<Value> evaluate_dict(const Node& node);
  Result<Value> evaluate_slice(const Node& node);
  Result<Value> evaluate_call(const Node& node);
  Result<Value> evaluate_test(const Node& node);
  Result<Value> evaluate_compare(const Node& node);
  Result<Value> evaluate_arithmetic(const Node& node);
  Result<Value> evaluate_concat(const Node& node);
  Result<bool> compare(Operator op, const Node& node, const Value& a, const Value& b);
  Result<std::vector<Value>> evaluate_all(const std::vector<NodePtr>& nodes);
  Result<Arguments> evaluate_arguments(const Node& node);
  Result<Value> apply_filters(const Node& node, const Value& innermost);
  Result<> check_defined(const Node& node, const Value& value);
  std::string undefined_words(const Node& node) const;
  Result<> enter(const Node& node);
  void note_place(const Node& node);
  Result<Value> loop_attribute(LoopState& loop, std::string_view name, bool& found);

  // Statements (evaluator.cpp).
  Result<Flow> execute(const Node& node);
  Result<Flow> execute_kind(const Node& node);
  Result<Flow> execute_block(const Node& node);
  Result<Flow> execute_if(const Node& node);
  Result<Flow> execute_for(const Node& node);
  Result<Flow> run_loop(const Node& node, const Value& iterable, int depth0);
  Result<Flow> execute_set_block(const Node& node);
  Result<Flow> execute_call_block(const Node& node);
  Result<Flow> execute_filter_block(const Node& node);
  Result<Flow> execute_with(const Node& node);
  Result<Flow> execute_scope(const Node& node);
  Result<Flow> execute_inner(const Node& body);
  Result<> assign(const Node& target, const Value& value);
  void store(Scope& scope, int name, Value value);
  Value make_macro(const Node& node, std::string_view name);
  Result<Value> call_macro(const Macro& macro, const Arguments& arguments);
  Result<> bind_macro(const Macro& macro, const Arguments& arguments);
  Result<Value> call_loop(LoopState& loop, const Arguments& arguments);
  Result<std::optional<Value>> pull(LoopState& loop);
  Result<std::optional<Value>> next_item(LoopState& loop);
  Result<bool> peek(LoopState& loop);
  Result<size_t> loop_length(LoopState& loop);
  Result<> write(const Value& value);

  const Tree& tree_;
  std::tm now_;
  Budget budget_;  // before every value below: they give their bytes back to it
  std::shared_ptr<Scope> globals_, scope_;
  TextBuilder* output_ = nullptr;
  std::optional<uint32_t> error_offset_;  // of the innermost node that failed
  int name_loop_, name_caller_, name_kwargs_, name_varargs_;
  int macro_depth_ = 0;
  // What could form rings lives until the render ends and is then emptied one by one (value.h).
  std::vector<std::shared_ptr<Scope>> kept_scopes_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
};

}  // namespace anedvd::jinja
