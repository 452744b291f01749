#include "ane/program_spec.h"

#include <algorithm>
#include <utility>

namespace anedvd {
namespace {

constexpr int64_t kHalfBytes = 2;
constexpr int64_t kSmallestSlice = 64;  // rows; a slice below this is not worth a launch

bool is_linear(const Plan& plan, int op) { return plan.ops[size_t(op)].kind == OpKind::kLinear; }

int linears_of(const Plan& plan, const std::vector<int>& ops) {
  return int(std::count_if(ops.begin(), ops.end(), [&](int op) { return is_linear(plan, op); }));
}

bool is_unary_elementwise(OpKind kind) {
  return kind == OpKind::kScale || kind == OpKind::kSilu || kind == OpKind::kGeluTanh || kind == OpKind::kSoftCap;
}

// One linear, then nothing but elementwise steps, each reading only the one before: its rows can be cut anywhere.
bool is_sliceable(const Plan& plan, const ProgramSpec& spec) {
  if (spec.ops.empty() || !is_linear(plan, spec.ops.front()) || spec.outputs.size() != 1) return false;
  for (size_t i = 1; i < spec.ops.size(); ++i) {
    const Op& op = plan.ops[size_t(spec.ops[i])];
    if (!is_unary_elementwise(op.kind) || op.in[0] != plan.ops[size_t(spec.ops[i - 1])].out) return false;
  }
  return spec.outputs[0] == plan.ops[size_t(spec.ops.back())].out;
}

int64_t rows_of(const Plan& plan, const ProgramSpec& spec) {
  return spec.is_sliced() ? spec.rows : plan.values[size_t(spec.outputs[0])].dim;
}

void add_once(std::vector<ValueId>& list, ValueId id) {
  if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
}

// Whether a step outside of `ops` reads the value (or it is the plan's result).
bool is_read_elsewhere(const Plan& plan, const std::vector<int>& ops, ValueId value) {
  if (value == plan.logits) return true;
  for (int i = 0; i < int(plan.ops.size()); ++i) {
    if (std::binary_search(ops.begin(), ops.end(), i)) continue;
    for (const ValueId in : plan.ops[size_t(i)].in)
      if (in == value) return true;
  }
  return false;
}

// A program of these steps with its borders, or host steps if there is no linear among them.
void append_part(const Plan& plan, std::vector<int> ops, std::vector<SpecPart>& parts) {
  if (ops.empty()) return;
  if (linears_of(plan, ops) == 0) {
    for (const int op : ops) parts.emplace_back(HostOp{op});
    return;
  }
  ProgramSpec spec;
  spec.ops = std::move(ops);
  std::vector<ValueId> written;
  for (const int i : spec.ops) {
    const Op& op = plan.ops[size_t(i)];
    for (const ValueId in : op.in)
      if (in >= 0 && std::find(written.begin(), written.end(), in) == written.end()) add_once(spec.inputs, in);
    written.push_back(op.out);
    if (is_read_elsewhere(plan, spec.ops, op.out)) add_once(spec.outputs, op.out);
  }
  parts.emplace_back(std::move(spec));
}

int64_t largest_rows(const Plan& plan, const ProgramSpec& spec) {
  int64_t rows = 0;
  for (const int op : spec.ops)
    if (is_linear(plan, op)) rows = std::max<int64_t>(rows, plan.values[size_t(plan.ops[size_t(op)].out)].dim);
  return spec.is_sliced() ? spec.rows : rows;
}

int weight_tensors(const Plan& plan, const ProgramSpec& spec, int slots_per_matrix) {
  int count = 0;
  for (const int i : spec.ops) {
    const Op& op = plan.ops[size_t(i)];
    if (op.kind == OpKind::kLinear) count += slots_per_matrix + (op.bias >= 0 ? 1 : 0);
    if (op.kind == OpKind::kRmsNorm) count += op.weight >= 0 ? 2 : 1;  // the ones that sum, the gain
  }
  return count;
}

// Equal slices of at most `rows` rows.
std::vector<SpecPart> slices_of(const Plan& plan, const ProgramSpec& spec, int64_t count) {
  std::vector<SpecPart> parts;
  const int64_t total = rows_of(plan, spec);
  for (int64_t i = 0; i < count; ++i) {
    ProgramSpec slice = spec;
    const int64_t first = total * i / count, last = total * (i + 1) / count;
    slice.first_row = spec.first_row + first;
    slice.rows = last - first;
    parts.emplace_back(std::move(slice));
  }
  return parts;
}

void fit(const Plan& plan, ProgramSpec spec, const ProgramLimits& limits, std::vector<SpecPart>& parts) {
  const int64_t bytes = weight_bytes(plan, spec), rows = largest_rows(plan, spec);
  const bool fits = bytes <= limits.weight_bytes && rows <= limits.out_channels &&
                    weight_tensors(plan, spec, limits.slots_per_matrix) <= limits.weight_tensors;
  if (fits) {
    parts.emplace_back(std::move(spec));
    return;
  }
  if (is_sliceable(plan, spec)) {
    // Whole rows: ceil(rows / count) stays within what both limits leave.
    const int64_t most = std::min(limits.weight_bytes / std::max<int64_t>(bytes / rows, 1), limits.out_channels);
    const int64_t count = most > 0 ? (rows + most - 1) / most : 1;
    if (count > 1) {
      for (SpecPart& slice : slices_of(plan, spec, count)) parts.push_back(std::move(slice));
      return;
    }
  }
  for (SpecPart& part : split(plan, spec)) {
    if (auto* smaller = std::get_if<ProgramSpec>(&part))
      fit(plan, std::move(*smaller), limits, parts);
    else
      parts.push_back(std::move(part));
  }
}

}  // namespace

bool is_writable(const Plan& plan, const Op& op) {
  switch (op.kind) {
    case OpKind::kLinear:
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kScale:
    case OpKind::kSilu:
    case OpKind::kGeluTanh:
    case OpKind::kSoftCap: return true;
    case OpKind::kRmsNorm: return op.group == 0 || op.group == plan.values[size_t(op.out)].dim;
    default: return false;
  }
}

std::vector<SpecPart> lower_partition(const Plan& plan, const Partition& partition, const ProgramLimits& limits) {
  std::vector<SpecPart> parts;
  for (const auto& part : partition.parts) {
    if (const auto* host = std::get_if<HostOp>(&part)) {
      parts.emplace_back(*host);
      continue;
    }
    std::vector<SpecPart> pieces;
    std::vector<int> pending;
    for (const int op : std::get<Program>(part).ops) {
      if (is_writable(plan, plan.ops[size_t(op)])) {
        pending.push_back(op);
        continue;
      }
      append_part(plan, std::exchange(pending, {}), pieces);
      pieces.emplace_back(HostOp{op});
    }
    append_part(plan, std::move(pending), pieces);
    for (SpecPart& piece : pieces) {
      if (auto* spec = std::get_if<ProgramSpec>(&piece))
        fit(plan, std::move(*spec), limits, parts);
      else
        parts.push_back(std::move(piece));
    }
  }
  return parts;
}

std::vector<SpecPart> split(const Plan& plan, const ProgramSpec& spec) {
  std::vector<SpecPart> parts;
  if (is_sliceable(plan, spec)) {
    if (rows_of(plan, spec) >= 2 * kSmallestSlice) return slices_of(plan, spec, 2);
    if (spec.is_sliced()) return parts;  // the host takes the whole linear: the caller has the other slices to undo
    for (const int op : spec.ops) parts.emplace_back(HostOp{op});
    return parts;
  }
  const int linears = linears_of(plan, spec.ops);
  const auto cut_before = [&](auto at) {
    append_part(plan, {spec.ops.begin(), at}, parts);
    append_part(plan, {at, spec.ops.end()}, parts);
  };
  if (linears > 1) {
    int seen = 0;
    cut_before(std::find_if(spec.ops.begin(), spec.ops.end(),
                            [&](int op) { return is_linear(plan, op) && seen++ == (linears + 1) / 2; }));
    return parts;
  }
  // One linear with steps around it that keep its rows together: alone it can be sliced.
  const auto linear = std::find_if(spec.ops.begin(), spec.ops.end(), [&](int op) { return is_linear(plan, op); });
  append_part(plan, {spec.ops.begin(), linear}, parts);
  append_part(plan, {linear, linear + 1}, parts);
  append_part(plan, {linear + 1, spec.ops.end()}, parts);
  return parts;
}

int64_t weight_bytes(const Plan& plan, const ProgramSpec& spec) {
  int64_t elements = 0;
  for (const int i : spec.ops) {
    const Op& op = plan.ops[size_t(i)];
    if (op.kind != OpKind::kLinear) continue;
    const WeightRef& weight = plan.weights[size_t(op.weight)];
    elements += (spec.is_sliced() ? spec.rows : weight.rows) * weight.cols;
  }
  return elements * kHalfBytes;
}

}  // namespace anedvd
