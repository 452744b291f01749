// Small plans with random weights, for self-tests and measurements: a linear of any size, or a transformer of Llama's shape.
//
// The weights lie in a mapped temporary file, as a model's do: whoever reads them gives the pages back. Every number is a half, so that reading and
// writing them as fp16 loses nothing. The same seed gives the same plan.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "device/plan.h"
#include "device/step.h"

namespace anedvd {

class RandomPlan {
 public:
  // embedding [tokens, cols] → linear [rows, cols] → logits. Embeddings are spread by 1, weights by 1/√cols. Error: kIo (the temporary file).
  static Result<RandomPlan> linear(int rows, int cols, int tokens, uint32_t seed);

  // `layers` layers of attention and SwiGLU between an embedding and a head. What they add to the residual stream is 1/√(2 · layers) of its size, as
  // models begin before they are trained.
  static Result<RandomPlan> transformer(int layers, int hidden, int ffn, int vocab, uint32_t seed);

  const Plan& plan() const { return plan_; }
  TensorFinder finder() const;

 private:
  explicit RandomPlan(uint32_t seed) : random_(seed) {}

  WeightId weight(int64_t rows, int64_t cols, float spread);
  ValueId emit(Op op, int dim);
  ValueId linear_on(ValueId in, int rows, float size = 1);
  ValueId norm_on(ValueId in);
  void add_layer(int index, ValueId& x, int heads, int kv_heads, int ffn, float size);
  Result<> store();

  std::mt19937 random_;
  Plan plan_;
  std::vector<std::vector<float>> data_;  // until they are stored
  std::shared_ptr<MappedFile> file_;
  std::vector<TensorView> tensors_;
};

}  // namespace anedvd
