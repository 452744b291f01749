#include "ane/model_attributes.h"

#include <algorithm>

namespace anedvd {
namespace {

constexpr int64_t kRowAlignment = 64;           // docs/ane.md#planar-law
constexpr int64_t kElementBytes = 2;            // fp16
constexpr int64_t kLargestSurface = 1ll << 32;  // far above any surface of ours: a guard of the sums below

std::string_view without_suffix(std::string_view symbol) {
  constexpr std::string_view kSuffix = "@output";
  return symbol.ends_with(kSuffix) ? symbol.substr(0, symbol.size() - kSuffix.size()) : symbol;
}

class Finder {
 public:
  Finder(const std::vector<std::string>& symbols, const std::vector<int>& indices, const std::vector<LiveTensor>& live)
      : symbols_(symbols), indices_(indices), live_(live) {}

  Result<TensorLayout> find(const DeclaredTensor& declared) const {
    const LiveTensor* tensor = nullptr;
    for (const LiveTensor& candidate : live_) {
      if (without_suffix(candidate.symbol.empty() ? candidate.name : candidate.symbol) != declared.name) continue;
      if (tensor != nullptr) return wrong(declared, "stands twice in the live list");
      tensor = &candidate;
    }
    if (tensor == nullptr) return wrong(declared, "is not in the live list");
    ANEDVD_TRY_VOID(check_shape(declared, *tensor));
    TensorLayout layout{declared.name, 0, declared.channels, declared.width, tensor->plane_stride, 0};
    ANEDVD_TRY(layout.symbol, symbol_of(declared));
    layout.bytes = tensor->batch_stride * std::max<int64_t>(tensor->batches, 1);
    return layout;
  }

 private:
  static tl::unexpected<Error> wrong(const DeclaredTensor& declared, const std::string& what) {
    return fail(ErrorCode::kDevice, "tensor \"{}\": {}; the framework's attributes contradict the program",
                declared.name, what);
  }

  Result<int> symbol_of(const DeclaredTensor& declared) const {
    int found = -1;
    for (const int index : indices_) {
      if (index < 0 || index >= int(symbols_.size())) return wrong(declared, fmt::format("symbol index {}", index));
      if (without_suffix(symbols_[size_t(index)]) != declared.name) continue;
      if (found >= 0) return wrong(declared, "has two symbols");
      found = index;
    }
    if (found < 0) return wrong(declared, "has no symbol");
    return found;
  }

  static Result<> check_shape(const DeclaredTensor& declared, const LiveTensor& tensor) {
    const auto says = [&](const char* what, int64_t value) {
      return wrong(declared, fmt::format("{} {}", what, value));
    };
    if (!tensor.type.empty() && tensor.type != "Float16") return wrong(declared, "type " + tensor.type);
    if (tensor.channels != declared.channels) return says("channels", tensor.channels);
    if (tensor.width != declared.width) return says("width", tensor.width);
    if (tensor.height > 1) return says("height", tensor.height);
    if (tensor.depth > 1) return says("depth", tensor.depth);
    if (tensor.batches > 1) return says("batches", tensor.batches);
    if (tensor.interleave > 1) return says("interleave", tensor.interleave);
    if (tensor.plane_count != 0 && tensor.plane_count != declared.channels)
      return says("plane count", tensor.plane_count);
    if (tensor.row_stride < declared.width * kElementBytes || tensor.row_stride % kRowAlignment != 0)
      return says("row stride", tensor.row_stride);
    if (tensor.plane_stride < tensor.row_stride || tensor.plane_stride % kRowAlignment != 0)
      return says("plane stride", tensor.plane_stride);
    if (tensor.plane_stride > kLargestSurface / std::max<int64_t>(declared.channels, 1))
      return says("plane stride", tensor.plane_stride);
    if (tensor.batch_stride < tensor.plane_stride * declared.channels || tensor.batch_stride > kLargestSurface)
      return says("batch stride", tensor.batch_stride);
    return {};
  }

  const std::vector<std::string>& symbols_;
  const std::vector<int>& indices_;
  const std::vector<LiveTensor>& live_;
};

}  // namespace

Result<ProgramLayout> find_layout(const ModelAttributes& attributes, std::string_view function,
                                  std::span<const DeclaredTensor> inputs, std::span<const DeclaredTensor> outputs) {
  const auto procedure = std::find_if(attributes.procedures.begin(), attributes.procedures.end(),
                                      [&](const ProcedureAttributes& p) { return p.name == function; });
  if (procedure == attributes.procedures.end())
    return fail(ErrorCode::kDevice, "function \"{}\": the framework's attributes lack it", function);
  if (procedure->inputs.size() != inputs.size() || procedure->outputs.size() != outputs.size())
    return fail(ErrorCode::kDevice, "function \"{}\": {} inputs and {} outputs declared, {} and {} reported", function,
                inputs.size(), outputs.size(), procedure->inputs.size(), procedure->outputs.size());
  ProgramLayout layout{procedure->id, {}, {}};
  const Finder in(attributes.input_symbols, procedure->input_indices, procedure->inputs);
  const Finder out(attributes.output_symbols, procedure->output_indices, procedure->outputs);
  for (const DeclaredTensor& declared : inputs) {
    ANEDVD_TRY(TensorLayout found, in.find(declared));
    layout.inputs.push_back(std::move(found));
  }
  for (const DeclaredTensor& declared : outputs) {
    ANEDVD_TRY(TensorLayout found, out.find(declared));
    layout.outputs.push_back(std::move(found));
  }
  return layout;
}

}  // namespace anedvd
