// The parsed template: a tree of one node type. What `children` hold is said beside each kind; a null child was left out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace anedvd::jinja {

enum class NodeKind : uint8_t {
  // expressions
  kConstant,     // value
  kName,         // name
  kList,         // items
  kTuple,        // items
  kDict,         // key, value, key, value …
  kAttribute,    // object; text = attribute
  kItem,         // object, index
  kSlice,        // object, start, stop, step
  kCall,         // callee; arguments
  kFilter,       // input (null: of a filter block); text; arguments
  kTest,         // input; text; arguments
  kNegate,       // operand
  kPlus,         // operand
  kNot,          // operand
  kAnd,          // operands
  kOr,           // operands
  kArithmetic,   // operands, left to right; operators[i] stands between i and i + 1
  kConcat,       // operands of ~
  kCompare,      // operands; operators
  kConditional,  // then, condition, else
  // statements
  kBlock,        // statements
  kData,         // value
  kOutput,       // expressions
  kSet,          // target, value
  kSetBlock,     // target, filter or null, body
  kIf,           // condition, body, condition, body …, null, else body
  kFor,          // target, iterable, filter or null, body, else or null; flag: recursive
  kMacro,        // body, then the defaults; name; parameters
  kCallBlock,    // call, body, then the defaults; parameters
  kFilterBlock,  // filter, body
  kWith,         // body, then target, value, target, value …
  kScope,        // body: generation
  kBreak,
  kContinue,
  // only as the target of `set` and `for`, beside kName and kTuple
  kNamespaceAttribute,  // name, text = attribute
};

enum class Operator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

struct Node;
using NodePtr = std::unique_ptr<Node>;

// One argument of a call. `name` is empty when positional; "*" and "**" unpack.
struct ArgumentNode {
  std::string name;
  NodePtr value;
};

struct Node {
  NodeKind kind;
  uint32_t offset = 0;  // byte of the source, for errors
  int depth = 1;        // of the tree below; bounded by the parser, so walking and freeing it needs no guard
  int name = -1;        // id of a variable
  bool flag = false;
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;  // macros and call blocks
  std::string text;
  Value value;
  std::vector<NodePtr> children;
  std::vector<Operator> operators;
  std::vector<ArgumentNode> arguments;
  std::vector<int> parameters;
};

struct Tree {
  std::string source;  // normalised
  NodePtr root;
  std::vector<std::string> names;  // id → variable
};

}  // namespace anedvd::jinja
