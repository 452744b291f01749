// Evaluates a graph on columns, with the chip's numerics.
//
// A column of a program without operations across the width depends on no other column (docs/ane.md#determinism), so equal columns are computed
// once: 63 columns of padding cost one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ane/sim/conv.h"
#include "ane/sim/graph.h"
#include "base/machine/spin_pool.h"

namespace anedvd::sim {

// Columns of one tensor: [columns][channels], fp16 numbers as floats.
struct Columns {
  int64_t channels = 0, columns = 0;
  std::vector<float> values;

  float* column(int64_t i) { return values.data() + i * channels; }
  const float* column(int64_t i) const { return values.data() + i * channels; }
};

class Interpreter {
 public:
  // Packs the weights of the graph's convolutions and forgets their other form. Fails (CompilationFailure) on operations it has no arithmetic for.
  static DriverResult<std::unique_ptr<Interpreter>> make(Graph graph, const Profile& profile);

  const Graph& graph() const { return graph_; }
  int64_t macs_per_column() const { return macs_per_column_; }

  // Whether operations stand in the graph that the profile lets compile and then fail. evaluate() must not be called when it is not computable.
  bool fails_at_run() const { return fails_at_run_; }
  bool is_computable() const { return is_computable_; }
  bool is_poisonous() const { return is_poisonous_; }

  // Inputs and outputs in the graph's order; every tensor has the graph's width.
  std::vector<Columns> evaluate(std::vector<Columns> inputs, SpinPool& pool) const;

 private:
  Interpreter(Graph graph, const Numerics& numerics);

  Columns run(const GraphNode& node, const std::vector<Columns>& values, SpinPool& pool) const;
  Columns constant_columns(const GraphValue& value, int64_t columns) const;

  Graph graph_;
  Numerics numerics_;
  std::map<int, PackedWeight> weights_;  // by value
  int64_t macs_per_column_ = 0;
  bool mixes_columns_ = false, fails_at_run_ = false, is_poisonous_ = false, is_computable_ = true;
};

}  // namespace anedvd::sim
