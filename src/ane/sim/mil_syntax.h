// MIL text as a tree: what the words say, before anyone asks whether it makes sense (program_check.h).
//
// The reader knows the grammar that the generators of the field emit (docs/ane.md#mil-text), in both dialects, and shares no code with our own
// writer. The text is untrusted: its size, the length of names, nesting and counts are bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace anedvd::sim {

constexpr size_t kMaxMilBytes = size_t(64) << 20;
constexpr int kMaxNesting = 8;

struct MilType {
  std::string element;  // "fp16", "string", …; "dict" for what buildInfo holds
  bool is_tensor = false;
  std::vector<int64_t> shape;  // of a tensor; empty: a scalar in the verbose dialect

  bool is_scalar() const { return shape.empty(); }
};

struct BlobReference {
  std::string path;
  uint64_t offset = 0;
};

struct MilLiteral {
  MilType type;
  std::variant<std::string, bool, std::vector<double>, BlobReference> value;
};

// NAME = value, NAME = (value, value) or NAME = literal.
struct MilArgument {
  std::string name;
  std::vector<std::string> values;
  std::optional<MilLiteral> literal;
};

struct MilStatement {
  MilType type;
  std::string name, op;
  std::vector<MilArgument> arguments;   // in the parentheses
  std::vector<MilArgument> attributes;  // in the brackets
  int line = 0;
};

struct MilParameter {
  MilType type;
  std::string name;
};

struct MilFunctionText {
  std::string name, opset;
  std::vector<MilParameter> inputs;
  std::vector<MilStatement> statements;
  std::vector<std::string> outputs;
};

struct MilText {
  std::string version;  // "1.3"
  std::vector<MilFunctionText> functions;

  bool is_verbose() const { return version == "1.0"; }
};

// Error (kBadFile): "line N: …".
Result<MilText> parse_mil(std::string_view text);

}  // namespace anedvd::sim
