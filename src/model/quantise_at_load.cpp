#include "model/quantise_at_load.h"

#include <vector>

#include "base/words.h"
#include "tensor/quantize.h"

namespace anedvd {
namespace {

constexpr DType kTypes[] = {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
                            DType::kQ5_1, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

bool is_plain_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

bool is_matrix(const TensorView& tensor) { return tensor.shape.size() > 1 && tensor.rows() > 1; }

// Values that decide instead of being added up: an expert's logit, the share of a shared expert.
std::vector<bool> deciding_values(const Plan& plan) {
  std::vector<bool> decides(plan.values.size(), false);
  for (const Op& op : plan.ops)
    if ((op.kind == OpKind::kMoe || op.kind == OpKind::kGateBy) && op.in[1] >= 0) decides[size_t(op.in[1])] = true;
  return decides;
}

}  // namespace

Result<DType> quant_type(std::string_view name) {
  const auto type = dtype_from_name(name);
  for (const DType known : kTypes)
    if (type == known) return known;
  return fail(ErrorCode::kUsage,
              "--quant {}: not a type to load as; one of q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k",
              visible(name, 40));
}

int quantise_at_load(Plan& plan, DType type, const TensorSource& source) {
  int marked = 0;
  const auto mark = [&](WeightId id) {
    WeightRef& ref = plan.weights[size_t(id)];
    const TensorView* tensor = source.find(ref.tensor);
    const DType legal = legal_type(type, ref.cols);
    if (tensor == nullptr || !is_plain_float(tensor->dtype) || ref.layout == StackLayout::kSplitMxfp4) return;
    if (format_of(legal).block_elements == 1 || ref.pack_as) return;
    ref.pack_as = legal;
    ++marked;
  };
  const std::vector<bool> decides = deciding_values(plan);
  for (const Op& op : plan.ops)
    if (op.kind == OpKind::kLinear && !decides[size_t(op.out)]) mark(op.weight);
  for (const PlanMoe& moe : plan.moes)
    for (const auto* list : {&moe.gate, &moe.up, &moe.down})
      for (const WeightId id : *list) mark(id);
  return marked;
}

uint64_t bytes_at_load(const TensorSource& source, std::optional<DType> type) {
  uint64_t bytes = 0;
  for (const TensorView& tensor : source.tensors()) {
    const bool changes = type && is_matrix(tensor) && is_plain_float(tensor.dtype);
    const QuantFormat& format = format_of(changes ? legal_type(*type, tensor.cols()) : tensor.dtype);
    bytes += uint64_t(tensor.elements() / format.block_elements * format.block_bytes);
  }
  return bytes;
}

}  // namespace anedvd
