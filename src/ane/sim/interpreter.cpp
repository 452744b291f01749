#include "ane/sim/interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>

#include "ane/sim/elementwise.h"
#include "ane/sim/numerics.h"
#include "base/half.h"

namespace anedvd::sim {
namespace {

// Columns that differ, and for each column which of them it equals.
struct Distinct {
  std::vector<int64_t> first;  // a column of each kind
  std::vector<int64_t> kind;   // by column
};

Distinct distinct_columns(const std::vector<Columns>& inputs) {
  Distinct found;
  const int64_t columns = inputs[0].columns;
  const auto equal = [&](int64_t a, int64_t b) {
    return std::all_of(inputs.begin(), inputs.end(), [&](const Columns& input) {
      return std::memcmp(input.column(a), input.column(b), size_t(input.channels) * sizeof(float)) == 0;
    });
  };
  for (int64_t column = 0; column < columns; ++column) {
    const auto same =
        std::find_if(found.first.rbegin(), found.first.rend(), [&](int64_t f) { return equal(f, column); });
    found.kind.push_back(same == found.first.rend() ? int64_t(found.first.size()) : found.first.rend() - same - 1);
    if (same == found.first.rend()) found.first.push_back(column);
  }
  return found;
}

Columns pick(const Columns& from, const std::vector<int64_t>& columns) {
  Columns picked{from.channels, int64_t(columns.size()), {}};
  picked.values.resize(size_t(picked.channels * picked.columns));
  for (int64_t i = 0; i < picked.columns; ++i)
    std::copy_n(from.column(columns[size_t(i)]), picked.channels, picked.column(i));
  return picked;
}

bool is_across_columns(const GraphNode& node) {
  return ((node.op.starts_with("reduce_") || node.op == "softmax") && node.parameters[0] == 3) || node.op == "matmul";
}

bool is_conv(const GraphNode& node) { return node.op == "conv"; }

Columns reduce(const GraphNode& node, const Columns& x, const Numerics& numerics) {
  const bool over_channels = node.parameters[0] == 1;
  Columns y{over_channels ? 1 : x.channels, over_channels ? x.columns : 1, {}};
  y.values.assign(size_t(y.channels * y.columns), node.op == "reduce_max" ? -HUGE_VALF : 0.0f);
  const auto add = [&](float& into, float value) {
    // Partial sums are fp16: exact up to 2048 only (docs/ane.md#reductions).
    const float sum = into + value;
    into = node.op == "reduce_max" ? std::max(into, value) : numerics.half_reductions ? leave_elementwise(sum) : sum;
  };
  for (int64_t column = 0; column < x.columns; ++column)
    for (int64_t c = 0; c < x.channels; ++c) add(y.values[size_t(over_channels ? column : c)], x.column(column)[c]);
  if (!numerics.half_reductions)
    for (float& value : y.values) value = leave_elementwise(value);
  const float count = float(over_channels ? x.channels : x.columns);
  if (node.op == "reduce_mean")
    for (float& value : y.values) value = leave_elementwise(value / count);
  return y;
}

// Row c of x with row c of y.
Columns row_products(const Columns& x, const Columns& y) {
  Columns z{x.channels, 1, {}};
  for (int64_t c = 0; c < x.channels; ++c) {
    float sum = 0;
    for (int64_t w = 0; w < x.columns; ++w) sum += leave_elementwise(x.column(w)[c] * y.column(w)[c]);
    z.values.push_back(leave_elementwise(sum));
  }
  return z;
}

Columns softmax(const GraphNode& node, const Columns& x) {
  const bool over_channels = node.parameters[0] == 1;
  Columns y = x;
  const int64_t lines = over_channels ? x.columns : x.channels, length = over_channels ? x.channels : x.columns;
  const int64_t step = over_channels ? 1 : x.channels;
  for (int64_t line = 0; line < lines; ++line) {
    float* values = y.values.data() + line * (over_channels ? x.channels : 1);
    float largest = -HUGE_VALF, sum = 0;
    for (int64_t i = 0; i < length; ++i) largest = std::max(largest, values[i * step]);
    for (int64_t i = 0; i < length; ++i) {
      values[i * step] = leave_elementwise(std::exp(values[i * step] - largest));
      sum += values[i * step];
    }
    for (int64_t i = 0; i < length; ++i) values[i * step] = leave_elementwise(values[i * step] / sum);
  }
  return y;
}

}  // namespace

Interpreter::Interpreter(Graph graph, const Numerics& numerics) : graph_(std::move(graph)), numerics_(numerics) {}

DriverResult<std::unique_ptr<Interpreter>> Interpreter::make(Graph graph, const Profile& profile) {
  std::unique_ptr<Interpreter> made(new Interpreter(std::move(graph), profile.numerics));
  std::set<int> read_elsewhere;  // weights that something other than a convolution reads too
  for (const GraphNode& node : made->graph_.nodes) {
    made->mixes_columns_ = made->mixes_columns_ || is_across_columns(node);
    const auto known = profile.ops.find(node.op);
    const OpVerdict verdict = known == profile.ops.end() ? OpVerdict::kTaken : known->second;
    if (verdict == OpVerdict::kFailsAtRun || verdict == OpVerdict::kPoisonous) {
      made->is_computable_ = made->is_computable_ && has_arithmetic(node.op);
      made->fails_at_run_ = true;
      made->is_poisonous_ = made->is_poisonous_ || verdict == OpVerdict::kPoisonous;
    } else if (!has_arithmetic(node.op)) {
      return tl::unexpected(cannot_lower(fmt::format("line {}: the simulator has no {}", node.line, node.op)));
    }
    if (!is_conv(node)) {
      read_elsewhere.insert(node.inputs.begin(), node.inputs.end());
      continue;
    }
    const int id = node.inputs[1];
    const GraphValue& weight = made->graph_.values[size_t(id)];
    if (!made->weights_.contains(id))
      made->weights_.emplace(id, pack_weight(weight.constant->halves, weight.type.shape[0], weight.type.shape[1],
                                             profile.numerics.flush_denormals));
    made->macs_per_column_ += weight.type.shape[0] * weight.type.shape[1];
  }
  for (const auto& [id, packed] : made->weights_)
    if (!read_elsewhere.contains(id)) made->graph_.values[size_t(id)].constant = std::make_shared<Constant>();
  return made;
}

Columns Interpreter::constant_columns(const GraphValue& value, int64_t columns) const {
  const Constant& constant = *value.constant;
  const auto at = [&](int64_t i) {
    return constant.halves.empty() ? float(constant.numbers[size_t(i)]) : half_to_float(constant.halves[size_t(i)]);
  };
  Columns made{value.channels(), value.width() == 1 ? 1 : columns, {}};
  made.values.resize(size_t(made.channels * made.columns));
  for (int64_t column = 0; column < made.columns; ++column)
    for (int64_t c = 0; c < made.channels; ++c) made.column(column)[c] = at(c * value.width() + column);
  return made;
}

Columns Interpreter::run(const GraphNode& node, const std::vector<Columns>& values, SpinPool& pool) const {
  const Columns& x = values[size_t(node.inputs[0])];
  if (is_conv(node)) {
    const PackedWeight& weight = weights_.at(node.inputs[1]);
    Columns flushed, y{weight.rows, x.columns, {}};
    const Columns* input = &x;
    if (numerics_.flush_denormals) {
      flushed = x;
      for (float& value : flushed.values)
        if (std::abs(value) < 0x1p-14f) value = 0;
      input = &flushed;
    }
    y.values.resize(size_t(y.channels * y.columns));
    pool.run([&](int thread) {
      const int64_t panels = weight.panel_count(), threads = pool.threads();
      convolve(weight, input->values.data(), y.values.data(), x.columns, numerics_, panels * thread / threads,
               panels * (thread + 1) / threads);
    });
    return y;
  }
  if (node.op.starts_with("reduce_")) return reduce(node, x, numerics_);
  if (node.op == "softmax") return softmax(node, x);
  if (node.op == "matmul") return row_products(x, values[size_t(node.inputs[1])]);
  if (node.op == "slice_by_size") {
    Columns y{graph_.values[size_t(node.out)].channels(), x.columns, {}};
    for (int64_t column = 0; column < x.columns; ++column) {
      const float* from = x.column(column) + int64_t(node.parameters[0]);
      y.values.insert(y.values.end(), from, from + y.channels);
    }
    return y;
  }
  if (node.op == "concat") {
    Columns y{graph_.values[size_t(node.out)].channels(), x.columns, {}};
    for (int64_t column = 0; column < x.columns; ++column)
      for (const int part : node.inputs) {
        const Columns& from = values[size_t(part)];
        y.values.insert(y.values.end(), from.column(column), from.column(column) + from.channels);
      }
    return y;
  }
  if (node.inputs.size() == 2 && is_binary(node.op)) return run_binary(node.op, x, values[size_t(node.inputs[1])]);
  return run_unary(node.op, x, node.parameters, numerics_);
}

std::vector<Columns> Interpreter::evaluate(std::vector<Columns> inputs, SpinPool& pool) const {
  for (Columns& input : inputs)
    for (float& value : input.values) value = enter(value);
  // Constants that vary along the width make columns differ too; none of ours do.
  const bool has_wide_constant = std::any_of(graph_.values.begin(), graph_.values.end(), [](const GraphValue& value) {
    return value.constant != nullptr && value.type.shape.size() == 4 && value.width() > 1;
  });
  Distinct distinct;
  const bool is_shared = !mixes_columns_ && !has_wide_constant && !inputs.empty() &&
                         std::all_of(inputs.begin(), inputs.end(),
                                     [&](const Columns& input) { return input.columns == inputs[0].columns; });
  if (is_shared) {
    distinct = distinct_columns(inputs);
    for (Columns& input : inputs) input = pick(input, distinct.first);
  }
  const int64_t columns = inputs.empty() ? 1 : inputs[0].columns;
  std::vector<Columns> values(graph_.values.size());
  for (size_t i = 0; i < graph_.inputs.size(); ++i) values[size_t(graph_.inputs[i])] = std::move(inputs[i]);
  for (size_t i = 0; i < graph_.values.size(); ++i) {
    const GraphValue& value = graph_.values[i];
    const bool is_number =
        value.constant != nullptr && (!value.constant->numbers.empty() || !value.constant->halves.empty());
    if (is_number && (value.elements() == 1 || value.type.shape.size() == 4))
      values[i] = constant_columns(value, columns);
  }
  for (const GraphNode& node : graph_.nodes) values[size_t(node.out)] = run(node, values, pool);
  std::vector<Columns> outputs;
  for (const int id : graph_.outputs) {
    const Columns& value = values[size_t(id)];
    outputs.push_back(is_shared && value.columns == int64_t(distinct.first.size()) ? pick(value, distinct.kind)
                                                                                   : value);
  }
  return outputs;
}

}  // namespace anedvd::sim
