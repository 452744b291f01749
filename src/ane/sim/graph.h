// MIL text made sense of: typed values, operations with their operands, constants with their bytes.
//
// Simulated are activations of shape [1, channels, 1, width]; everything else that MIL can say is refused as not lowerable, and says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ane/driver_failure.h"
#include "ane/sim/mil_syntax.h"
#include "ane/sim/profile.h"

namespace anedvd::sim {

// What a constant holds: exactly one of these is in use, by the value's type.
struct Constant {
  std::string text;
  bool flag = false;
  std::vector<double> numbers;   // written in the text
  std::vector<uint16_t> halves;  // fp16 tensors of the weight file
  std::vector<int32_t> codes;    // integer tensors of the weight file, sub-byte ones unpacked
};

struct GraphValue {
  std::string name;
  MilType type;
  std::shared_ptr<const Constant> constant;  // none: computed, or a function's input

  int64_t channels() const { return type.shape.size() == 4 ? type.shape[1] : 1; }
  int64_t width() const { return type.shape.size() == 4 ? type.shape[3] : 1; }
  int64_t elements() const;
};

struct GraphNode {
  std::string op;
  int line = 0;
  std::vector<int> inputs;         // values, in the order of the op's signature
  std::vector<double> parameters;  // numbers of the op's signature (bounds, epsilon, an axis)
  int out = -1;
};

struct Graph {
  std::string name;  // of the function
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;
  std::vector<int> inputs, outputs;
  int weight_tensors = 0;                 // BLOBFILE constants
  int64_t weight_bytes = 0;               // of them, as stored
  int64_t int8_weights = 0;               // bytes among them that some chips turn into fp16 at compile
  bool has_scalar_operand = false;        // an elementwise operation with a scalar constant
  std::vector<std::string> weight_paths;  // distinct
};

// The bytes of a file that the text names ("@model_path/…"); failure: kBadFile or kNotFound.
using FileFinder = std::function<Result<std::span<const std::byte>>(const std::string& path)>;

// Failures are InvalidMILProgram or CompilationFailure, with the line and the reason.
DriverResult<Graph> build_graph(const MilFunctionText& function, const Profile& profile, const FileFinder& files);

DriverFailure invalid_program(const std::string& why);
DriverFailure cannot_lower(const std::string& why);

}  // namespace anedvd::sim
