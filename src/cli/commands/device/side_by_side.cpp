#include "cli/commands/device/side_by_side.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/devices.h"
#include "cpu/cpu_host_ops.h"

namespace anedvd {
namespace {

constexpr int kMostColumns = 32;  // every value is kept for this many columns

int layers_of(const Plan& plan) {
  int layers = 0;
  for (const Op& op : plan.ops) layers = std::max(layers, op.layer + 1);
  return layers;
}

// Rows of every value, not shared.
void make_rows(const Plan& plan, int columns, std::vector<std::vector<float>>& rows, std::vector<float*>& values) {
  for (const Value& value : plan.values) {
    rows.emplace_back(size_t(column_floats(value.dim) * columns));
    values.push_back(rows.back().data());
  }
}

}  // namespace

void Difference::add(std::span<const float> got, std::span<const float> want) {
  double worst = 0, row_largest = 1e-30;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) ++not_finite;
    const double difference = std::abs(double(got[i]) - double(want[i]));
    worst = std::isnan(difference) ? HUGE_VAL : std::max(worst, difference);
    row_largest = std::max(row_largest, std::abs(double(want[i])));
  }
  max_abs = std::max(max_abs, worst);
  largest = std::max(largest, row_largest);
  worst_row = std::max(worst_row, worst / row_largest);
}

std::string program_name(const Plan& plan, const ProgramSpec& spec) {
  std::string name, prefix;
  for (const int index : spec.ops) {
    const Op& op = plan.ops[size_t(index)];
    if (op.kind != OpKind::kLinear) continue;
    std::string tensor = plan.weights[size_t(op.weight)].tensor;
    if (tensor.ends_with(".weight")) tensor.resize(tensor.size() - 7);
    if (name.empty()) {
      name = tensor;
      prefix = tensor.substr(0, tensor.rfind('.') + 1);
    } else {
      name += "+" + (tensor.starts_with(prefix) ? tensor.substr(prefix.size()) : tensor);
    }
  }
  if (spec.is_sliced()) name += fmt::format("[{}:{}]", spec.first_row, spec.first_row + spec.rows);
  return name;
}

Plan first_layers(const Plan& plan, int layers) {
  ValueId last = -1, cut = -1;  // the residual behind all layers, and behind the first ones
  for (const Op& op : plan.ops) {
    if (op.layer >= 0) last = op.out;
    if (op.layer >= 0 && op.layer < layers) cut = op.out;
  }
  Plan result = plan;
  if (cut < 0 || cut == last) return result;
  result.ops.clear();
  for (Op op : plan.ops) {
    if (op.layer >= layers) continue;
    if (op.layer < 0)
      for (ValueId& in : op.in)
        if (in == last) in = cut;
    result.ops.push_back(op);
  }
  return result;
}

DeviceCompiler SideBySide::compiler(DeviceCompiler device, int layers, SideBySide** made) {
  return [=](const Plan& plan, const KvLayout& layout, const TensorFinder& find,
             const DeviceRequest& request) -> Result<DeviceProgram> {
    std::unique_ptr<SideBySide> both(new SideBySide(layers > 0 ? first_layers(plan, layers) : plan, layout));
    ANEDVD_TRY_VOID(both->prepare(find, device, request));
    *made = both.get();
    DeviceProgram program{nullptr, both->device_.device, both->device_.simd, both->device_.weight_bytes};
    program.executable = std::move(both);
    return program;
  };
}

Result<> SideBySide::prepare(const TensorFinder& find, const DeviceCompiler& device, const DeviceRequest& request) {
  // The host's own steps are exact on both sides: what differs is the device's.
  DeviceRequest exact = request;
  exact.exact = true;
  ANEDVD_TRY(device_, device(plan_, layout_, find, exact));
  ane_ = ane_model_of(*device_.executable);
  layers_ = layers_of(plan_);
  for (size_t i = 0; i < plan_.ops.size(); ++i)
    if (plan_.ops[i].layer >= 0) last_layered_ = int(i);
  columns_ = std::min(kMostColumns, device_.executable->max_columns());
  ANEDVD_TRY(reference_, make_host_ops(plan_, layout_, find, {request.threads, columns_, true}));
  std::vector<int> all(plan_.ops.size());
  std::iota(all.begin(), all.end(), 0);
  ANEDVD_TRY_VOID(reference_->prepare(all));
  make_rows(plan_, columns_, rows_, values_);
  if (ane_ != nullptr)
    ane_->executable().observe(
        [this](const AnePart& part, std::span<float* const> values, int columns) { compare(part, values, columns); });
  return {};
}

void SideBySide::forget() {
  entering_.clear();
  programs_.clear();
}

std::span<const float> SideBySide::reference_logits(int i) const {
  return {values_[size_t(plan_.logits)] + wanted_[size_t(i)] * column_floats(plan_.vocab), size_t(plan_.vocab)};
}

double SideBySide::uncapped(double logit) const {
  const Op& last = plan_.ops.back();
  if (last.kind != OpKind::kSoftCap) return logit;
  const double cap = double(last.param);
  return cap * std::atanh(std::clamp(logit / cap, -0.999999, 0.999999));
}

Result<> SideBySide::run_reference(const Slice& slice) {
  const size_t pages = size_t(slice.first_position + int(slice.tokens.size()) + kPageTokens - 1) / kPageTokens;
  while (pages_.size() < pages) {
    pages_.emplace_back(size_t(layout_.page_bytes() / 2));
    page_table_.push_back(pages_.back().data());
  }
  at_.clear();
  wanted_.clear();
  for (int i = 0; i < int(slice.tokens.size()); ++i) {
    const bool is_last = i + 1 == int(slice.tokens.size());
    if (slice.want_all_logits || (is_last && slice.want_last_logits)) wanted_.push_back(i);
    at_.push_back({0, slice.first_position + i, slice.tokens[size_t(i)]});
  }
  Slice own = slice;
  own.kv.pages = page_table_;
  std::vector<int> ops(plan_.ops.size());
  std::iota(ops.begin(), ops.end(), 0);
  return reference_->run(ops, {{&own, 1}, at_}, values_);
}

Result<> SideBySide::run(std::span<const Slice> slices) {
  ANEDVD_CHECK(slices.size() == 1, "{} sequences side by side with the reference", slices.size());
  ANEDVD_TRY_VOID(run_reference(slices[0]));
  seen_layer_ = -1;
  if (slices[0].first_position == 0) first_flip_ = INT32_MAX;
  ANEDVD_TRY_VOID(device_.executable->run(slices));
  if (error_) return tl::unexpected(*error_);
  return {};
}

void SideBySide::find_flips(const Op& op, std::span<float* const> values, int columns) {
  const PlanMoe& moe = plan_.moes[size_t(op.spec)];
  const int64_t stride = column_floats(moe.experts);
  const auto chosen = [&](const float* logits) {
    std::vector<int> experts(size_t(moe.experts));
    std::iota(experts.begin(), experts.end(), 0);
    std::stable_sort(experts.begin(), experts.end(), [&](int a, int b) { return logits[a] > logits[b]; });
    experts.resize(size_t(moe.used));
    std::sort(experts.begin(), experts.end());
    return experts;
  };
  for (int c = 0; c < columns; ++c) {
    const float* given = values[size_t(op.in[1])] + c * stride;
    const float* wanted = values_[size_t(op.in[1])] + c * stride;
    const std::vector<int> ours = chosen(given), right = chosen(wanted);
    if (ours == right || is_routed_otherwise(at_[size_t(c)].position)) continue;
    ++flips_;
    first_flip_ = std::min(first_flip_, at_[size_t(c)].position);
    // By how much the reference preferred the least of its own to the best of the others that were taken.
    float least = HUGE_VALF, most = -HUGE_VALF, largest = 1e-30f;
    for (const int e : right)
      if (!std::binary_search(ours.begin(), ours.end(), e)) least = std::min(least, wanted[e]);
    for (const int e : ours)
      if (!std::binary_search(right.begin(), right.end(), e)) most = std::max(most, wanted[e]);
    for (int e = 0; e < moe.experts; ++e) largest = std::max(largest, std::abs(wanted[e]));
    flip_margin_ = std::max(flip_margin_, double(least - most) / double(largest));
  }
}

void SideBySide::compare(const AnePart& part, std::span<float* const> values, int columns) {
  if (part.host_op >= 0) {
    const Op& op = plan_.ops[size_t(part.host_op)];
    if (op.kind == OpKind::kMoe && columns == int(at_.size())) find_flips(op, values, columns);
    return;
  }
  if (part.program == nullptr) return;
  const int layer = plan_.ops[size_t(part.spec.ops[0])].layer;
  const bool is_head = layer < 0 && part.spec.ops[0] > last_layered_;
  // The first program of a layer reads what the layers before it left. Behind the last attention columns may be missing: not compared then.
  if (columns == int(at_.size()) && !part.spec.inputs.empty() && (is_head || layer >= 0)) {
    const int key = is_head ? layers_ : layer;
    const ValueId input = part.spec.inputs[0];
    if (seen_layer_ != key) {
      seen_layer_ = key;
      const int64_t dim = plan_.values[size_t(input)].dim, stride = column_floats(int(dim));
      for (int c = 0; c < columns; ++c)
        if (!is_routed_otherwise(at_[size_t(c)].position))
          entering_[key].add({values[size_t(input)] + c * stride, size_t(dim)},
                             {values_[size_t(input)] + c * stride, size_t(dim)});
    }
  }
  if (layer == compared_layer_ && layer >= 0)
    if (auto done = compare_program(part, values, columns); !done) error_ = done.error();
}

Result<> SideBySide::compare_program(const AnePart& part, std::span<float* const> values, int columns) {
  if (scratch_.empty()) make_rows(plan_, columns_, scratch_rows_, scratch_);
  for (const ValueId in : part.spec.inputs)
    std::copy_n(values[size_t(in)], column_floats(plan_.values[size_t(in)].dim) * columns, scratch_[size_t(in)]);
  const std::vector<HostColumn> columns_of_program(size_t(columns), HostColumn{});
  ANEDVD_TRY_VOID(reference_->run(part.spec.ops, {{}, columns_of_program}, scratch_));
  const std::string name = program_name(plan_, part.spec);
  auto found = std::find_if(programs_.begin(), programs_.end(), [&](const auto& p) { return p.name == name; });
  if (found == programs_.end()) {
    programs_.push_back({name, plan_.ops[size_t(part.spec.ops[0])].layer, {}});
    found = programs_.end() - 1;
  }
  for (const ValueId out : part.spec.outputs) {
    const int64_t stride = column_floats(plan_.values[size_t(out)].dim);
    const int64_t first = part.spec.is_sliced() ? part.spec.first_row : 0;
    const auto rows = size_t(part.spec.is_sliced() ? part.spec.rows : plan_.values[size_t(out)].dim);
    for (int c = 0; c < columns; ++c)
      found->difference.add({values[size_t(out)] + c * stride + first, rows},
                            {scratch_[size_t(out)] + c * stride + first, rows});
  }
  return {};
}

}  // namespace anedvd
