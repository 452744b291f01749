// A folder's tensors under their GGUF names: the family's table of roles read from one container to the other.
#include <algorithm>
#include <array>

#include "base/words.h"
#include "convert/hf_parts.h"

namespace anedvd {
namespace {

// In the order in which llama.cpp's converter finds them.
constexpr std::array kMatrices = {
    Role::kQkv, Role::kQuery, Role::kKey,    Role::kValue,      Role::kAttentionOutput, Role::kGateUp,    Role::kGate,
    Role::kUp,  Role::kDown,  Role::kRouter, Role::kSharedGate, Role::kSharedUp,        Role::kSharedDown};

class TensorList {
 public:
  TensorList(const HfModel& model, Outline& outline)
      : model_(model), gguf_(model.target.gguf_family()), outline_(outline) {}

  Result<> add_all() {
    ANEDVD_TRY_VOID(add_matrix(Role::kEmbedding));
    ANEDVD_TRY_VOID(add_norm(Role::kOutputNorm));
    if (!model_.spec.tied_head) ANEDVD_TRY_VOID(add_matrix(Role::kOutput));
    for (layer_ = 0; layer_ < int(model_.spec.layers.size()); ++layer_) {
      const LayerSpec& layer = model_.spec.layers[size_t(layer_)];
      if (layer.pre_norm) {
        ANEDVD_TRY_VOID(add_norm(Role::kAttentionNorm));
        ANEDVD_TRY_VOID(add_norm(Role::kFfnNorm));
      }
      if (layer.sandwich_norm) {
        ANEDVD_TRY_VOID(add_norm(Role::kPostAttentionNorm));
        ANEDVD_TRY_VOID(add_norm(Role::kPostFfnNorm));
      }
      if (layer.qk_norm != QkNorm::kNone) {
        ANEDVD_TRY_VOID(add_norm(Role::kQueryNorm));
        ANEDVD_TRY_VOID(add_norm(Role::kKeyNorm));
      }
      for (const Role role : kMatrices) ANEDVD_TRY_VOID(add_matrix(role));
      if (layer.moe) ANEDVD_TRY_VOID(add_experts(*layer.moe));
    }
    return {};
  }

 private:
  std::string stored_name(Role role, int expert = -1) const {
    return tensor_name(model_.family, SourceKind::kHuggingFace, role, layer_, expert);
  }
  std::string gguf_name(Role role) const { return tensor_name(gguf_, SourceKind::kGguf, role, layer_); }

  // The weight of a role, whose name may come without ".weight"; null: this model has none.
  const TensorView* find(Role role, int expert = -1) const {
    const std::string name = stored_name(role, expert);
    if (name.empty()) return nullptr;
    const TensorView* found = model_.source.find(name + ".weight");
    return found != nullptr ? found : model_.source.find(name);
  }

  // How many heads' rows change places; 0: none.
  int reordered_heads(Role role) const {
    if (!model_.target.adjacent_rows || layer_ < 0) return 0;
    const LayerSpec& layer = model_.spec.layers[size_t(layer_)];
    return role == Role::kQuery ? layer.heads : role == Role::kKey ? layer.kv_heads : 0;
  }

  Result<> check_rows(const TensorView& tensor, int heads) const {
    const int64_t rows = tensor.shape.size() == 1 ? tensor.cols() : tensor.rows();
    if (heads == 0 || rows % (2 * heads) == 0) return {};
    return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" has {} rows for {} heads; use another model",
                model_.source.path().string(), visible(tensor.name), rows, heads);
  }

  std::vector<float> floats(const TensorView& tensor, float add, int heads) const {
    std::vector<float> stored(size_t(tensor.elements()));
    dequantize(tensor, 0, tensor.rows(), stored);
    const RowPart order{nullptr, 0, int64_t(stored.size()), heads};
    std::vector<float> values(stored.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = stored[size_t(order.stored_row(int64_t(i)))] + add;
    return values;
  }

  void add_vector(std::string name, std::vector<float> values) {
    const Shape shape = {int64_t(values.size())};
    outline_.tensors.push_back({std::move(name), shape, DType::kF32, {}, std::move(values)});
  }

  Result<> add_norm(Role role) {
    const TensorView* tensor = find(role);
    if (tensor == nullptr)
      return fail(ErrorCode::kNotFound, "{}: tensor \"{}.weight\" is missing; use another model",
                  model_.source.path().string(), stored_name(role));
    add_vector(gguf_name(role) + ".weight", floats(*tensor, model_.spec.norm_offset, 0));
    return {};
  }

  Result<> add_matrix(Role role) {
    const TensorView* tensor = find(role);
    const std::string name = gguf_name(role);
    if (tensor == nullptr || name.empty()) return {};
    const int heads = reordered_heads(role);
    ANEDVD_TRY_VOID(check_rows(*tensor, heads));
    outline_.tensors.push_back(
        {name + ".weight", tensor->shape, DType::kF32, {{tensor, 0, tensor->rows(), heads}}, {}});
    if (const TensorView* bias = model_.source.find(stored_name(role) + ".bias")) {
      ANEDVD_TRY_VOID(check_rows(*bias, heads));
      add_vector(name + ".bias", floats(*bias, 0, heads));
    }
    return {};
  }

  // One matrix an expert, or parts of a stack, as one stack.
  void add_stack(Role role, int64_t rows, int64_t cols, std::vector<RowPart> parts) {
    const int64_t experts = int64_t(parts.size());
    outline_.tensors.push_back({gguf_name(role) + ".weight", {experts, rows, cols}, DType::kF32, std::move(parts), {}});
  }

  Result<> add_expert_role(const MoeSpec& moe, Role stack, Role single, int64_t rows, int64_t cols, int64_t first,
                           int64_t stride) {
    std::vector<RowPart> parts;
    const TensorView* whole = find(stack == Role::kExpertDown ? Role::kExpertDown : Role::kExpertGateUp);
    for (int e = 0; e < moe.experts; ++e) {
      const TensorView* tensor = whole != nullptr ? whole : find(single, e);
      const int64_t begin = whole != nullptr ? first + e * stride : 0;
      const int64_t needed = whole != nullptr ? begin + rows : rows;
      if (tensor == nullptr)
        return fail(ErrorCode::kNotFound, "{}: tensor \"{}.weight\" is missing; use another model",
                    model_.source.path().string(), stored_name(single, e));
      if (tensor->cols() != cols || tensor->rows() < needed)
        return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" has shape {}, expected [{}, {}]; use another model",
                    model_.source.path().string(), visible(tensor->name), shape_words(tensor->shape), needed, cols);
      parts.push_back({tensor, begin, rows});
    }
    add_stack(stack, rows, cols, std::move(parts));
    return {};
  }

  Result<> add_experts(const MoeSpec& moe) {
    const int64_t width = moe.ffn_width, hidden = model_.spec.hidden;
    if (const TensorView* share = find(Role::kSharedRouter))
      add_vector(gguf_name(Role::kSharedRouter) + ".weight", floats(*share, 0, 0));
    ANEDVD_TRY_VOID(add_expert_role(moe, Role::kExpertGate, Role::kOneExpertGate, width, hidden, 0, 2 * width));
    ANEDVD_TRY_VOID(add_expert_role(moe, Role::kExpertUp, Role::kOneExpertUp, width, hidden, width, 2 * width));
    return add_expert_role(moe, Role::kExpertDown, Role::kOneExpertDown, hidden, width, 0, hidden);
  }

  const HfModel& model_;
  const Family& gguf_;
  Outline& outline_;
  int layer_ = -1;
};

}  // namespace

Result<> add_tensors(const HfModel& model, Outline& outline) { return TensorList(model, outline).add_all(); }

}  // namespace anedvd
