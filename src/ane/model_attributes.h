// What `modelAttributes` says after load, as plain data, and the rules by which tensors are found in it (docs/ane.md#binding).
//
// Symbols are listed over all procedures of a program in the compiler's own order (sorted by name wherever it was reported; never to be assumed).
// A request names tensors by their position in these lists.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace anedvd {

// One entry of LiveInputList or LiveOutputList. Numbers that the dictionary lacks stay 0.
struct LiveTensor {
  std::string name;    // "Name"
  std::string symbol;  // "Symbol": the same string as in the symbol arrays; outputs end in "@output"
  std::string type;    // "Float16"
  int64_t batches = 0, channels = 0, depth = 0, height = 0, width = 0;
  int64_t batch_stride = 0, depth_stride = 0, plane_stride = 0, row_stride = 0;  // bytes
  int64_t plane_count = 0, interleave = 0;
};

// One entry of ANEFModelProcedures, with the lists of NetworkStatusList that belong to it.
struct ProcedureAttributes {
  int id = 0;        // ANEFModelProcedureID
  std::string name;  // by kANEFModelProcedureNameToIDMapKey; "main" if that is absent and there is one procedure
  std::vector<int> input_indices, output_indices;  // ANEFModelInputSymbolIndexArray, …Output…
  std::vector<LiveTensor> inputs, outputs;
};

struct ModelAttributes {
  std::vector<std::string> input_symbols, output_symbols;
  std::vector<ProcedureAttributes> procedures;
};

// What our program declared.
struct DeclaredTensor {
  std::string name;
  int64_t channels = 0, width = 0;
};

// Where one tensor lies in its surface: element (c, w) at c · plane_stride + w · 2.
struct TensorLayout {
  std::string name;
  int symbol = 0;  // position in the symbol list
  int64_t channels = 0, width = 0;
  int64_t plane_stride = 0;  // bytes
  int64_t bytes = 0;         // the surface must hold at least this many: batch stride × batches
};

struct ProgramLayout {
  int procedure = 0;
  std::vector<TensorLayout> inputs, outputs;  // in the order they were declared
};

// Finds the declared tensors by name. Everything that contradicts the declaration is an error (kDevice): unknown or doubled name, other shape
// or type, strides that overlap or are no multiple of 64, an interleave factor, an index outside the procedure's lists.
Result<ProgramLayout> find_layout(const ModelAttributes& attributes, std::string_view function,
                                  std::span<const DeclaredTensor> inputs, std::span<const DeclaredTensor> outputs);

}  // namespace anedvd
