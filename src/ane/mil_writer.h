// A program's steps as MIL text, and which weights its file holds.
//
// Each linear is a 1×1 convolution with baked weights, because that is what the hardware is fastest at and what every known compiler accepts.
// Linears that read one value and whose results all leave the program are one convolution with the rows stacked: one output, one launch of work.
//
//   inputs i00, i01, …   outputs o00, o01, …   in this order by name, so that every order that a compiler may choose is the same one
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ane/mil_text.h"
#include "ane/model_attributes.h"
#include "ane/program_spec.h"
#include "ane/weight_blob.h"
#include "ane/weight_format.h"
#include "base/result.h"
#include "device/step.h"

namespace anedvd {

// How the gates of SiLU and GELU are written. The chip's functions are tables of straight lines; σ(x) = ½ + ½ tanh(x/2) halves the error of tanh's,
// which is itself half as large as sigmoid's (docs/ane.md#activation-tables).
enum class GateForm { kTanh, kSigmoid };

struct MilOptions {
  MilDialect dialect = MilDialect::kTerse;
  int width = 64;  // columns of every activation
  // By position in the spec's ops: a linear's weights are multiplied by 2^exponent (scaling.h). Empty: none are.
  std::vector<int> exponents = {};
  GateForm gates = GateForm::kTanh;
};

// Rows [first_row, first_row + rows) of a stored weight; a vector (a bias, a gain) is one number a row.
struct WeightPart {
  std::optional<WeightRef> ref;  // none: `fill` everywhere
  float fill = 0;
  int64_t first_row = 0, rows = 0, cols = 1;
  int exponent = 0;  // every number is multiplied by 2^exponent
};

// One record of the weight file: parts one below the other.
struct WeightSlot {
  uint64_t offset = 0;  // as the text says
  BlobType type = BlobType::kFp16;
  int64_t elements = 0;
  bool is_matrix = false;         // of a linear: may be stored in fewer bits
  std::vector<WeightPart> parts;  // what the record is made of, or
  std::vector<uint16_t> halves;   // its numbers themselves: scales, a table
  WeightCode code;                // of a record that holds codes
};

// A value, or rows [first_row, first_row + rows) of it, within a tensor of the program.
struct PortPart {
  ValueId value = -1;
  int64_t first_row = 0, rows = 0;
  int exponent = 0;  // the program holds 2^exponent times the value
};

struct Port {
  std::string name;
  int64_t channels = 0;
  std::vector<PortPart> parts;  // their rows follow one another
};

struct MilProgram {
  std::string text;
  std::vector<WeightSlot> weights;
  std::vector<Port> inputs, outputs;
  std::vector<std::string> ops;  // names as in the text, for error messages
  int64_t macs_per_column = 0;
  int64_t weight_bytes = 0;
  double row_norm = 0;  // > 0: linear, each column may have a scale of its own (scaling.h)
};

// Every op of the spec is_writable. `codes`: how the matrices are stored, in the order of the is_matrix slots of the same program in fp16; none:
// all in fp16.
MilProgram write_mil(const Plan& plan, const ProgramSpec& spec, const MilOptions& options,
                     std::span<const WeightCode> codes = {});

// For each matrix of a program in fp16 the first wish whose error is small enough; fp16 where none is. Errors as below.
Result<std::vector<WeightCode>> choose_codes(const MilProgram& program, const TensorFinder& find,
                                             std::span<const WeightWish> wishes);

// The same program's weights as a file in `folder`, read through `find` a slab of rows at a time. Errors: kIo; kNotFound, kBadFile and kNumeric
// name the tensor.
Result<WeightFile> write_weights(const MilProgram& program, const TensorFinder& find,
                                 const std::filesystem::path& folder);

}  // namespace anedvd
