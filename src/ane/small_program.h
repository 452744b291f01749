// A program of a few operations for one question to the chip: text in, floats in and out, no model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ane/driver.h"
#include "ane/mil_text.h"
#include "ane/weight_blob.h"

namespace anedvd {

// [channels][width], a channel contiguous.
using Plane = std::vector<float>;

class SmallProgram {
 public:
  // Each surface exactly as large as its tensor asks, in place of sizes that please every report of a minimum (docs/ane.md#surface-sizes).
  static constexpr size_t kExactSurfaces = ~size_t(0);

  // Stages, compiles and loads. `surface_bytes`: of each surface; 0: large enough and all of one size.
  static DriverResult<std::unique_ptr<SmallProgram>> make(Driver& driver, const std::string& text, WeightFile weights,
                                                          std::vector<DeclaredTensor> inputs,
                                                          std::vector<DeclaredTensor> outputs, size_t surface_bytes = 0,
                                                          std::string_view function = "main");

  // A program that is loaded already.
  static DriverResult<std::unique_ptr<SmallProgram>> of(Driver& driver, std::unique_ptr<LoadedProgram> loaded,
                                                        std::vector<DeclaredTensor> inputs,
                                                        std::vector<DeclaredTensor> outputs, size_t surface_bytes = 0,
                                                        std::string_view function = "main");

  DriverResult<std::vector<Plane>> run(const std::vector<Plane>& inputs);

  // The same, made again while the request meets a power transition (docs/ane.md#retries).
  DriverResult<std::vector<Plane>> run_patiently(const std::vector<Plane>& inputs);

  // The last inputs once more, nothing read.
  DriverResult<> evaluate_again();

  // Microseconds of the last run: the chip's where it is simulated, else the evaluation's without its copies.
  double microseconds() const { return microseconds_; }
  const ModelAttributes& attributes() const { return loaded_->attributes(); }
  const ProgramLayout& layout() const { return layout_; }

 private:
  ProgramLayout layout_;
  std::vector<std::unique_ptr<Surface>> inputs_, outputs_;
  std::unique_ptr<LoadedProgram> loaded_;
  double microseconds_ = 0;
};

// Records as they are to stand in a weight file.
struct BlobRecordData {
  BlobType type = BlobType::kFp16;
  uint64_t elements = 0;
  std::vector<std::byte> bytes;
};

// A weight file of matrices, one record each, and the offset of each.
struct SmallWeights {
  WeightFile file;
  std::vector<uint64_t> offsets;
};
Result<SmallWeights> write_records(const Driver& driver, const std::vector<BlobRecordData>& records);
Result<SmallWeights> write_matrices(const Driver& driver, const std::vector<std::vector<float>>& matrices);

// o00 = weight · i00, weight [rows, cols] at `offset`.
std::string conv_text(MilDialect dialect, int rows, int cols, int width, uint64_t offset);

// o00 = op(i00) with further arguments from `more`, which may add constants to the function.
std::string unary_text(MilDialect dialect, std::string_view op, int channels, int width,
                       const std::vector<std::pair<std::string_view, float>>& halves = {});

}  // namespace anedvd
