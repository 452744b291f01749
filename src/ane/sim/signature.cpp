#include "ane/sim/signature.h"

#include <algorithm>

namespace anedvd::sim {
namespace {

constexpr std::string_view kX[] = {"x"};
constexpr std::string_view kXY[] = {"x", "y"};
constexpr std::string_view kClip[] = {"x", "alpha", "beta"};
constexpr std::string_view kEpsilon[] = {"x", "epsilon"};
constexpr std::string_view kMode[] = {"x", "mode"};
constexpr std::string_view kConv[] = {"x", "weight", "dilations", "groups", "pad", "pad_type", "strides"};
constexpr std::string_view kReduce[] = {"x", "axes", "keep_dims"};
constexpr std::string_view kAxis[] = {"x", "axis"};
constexpr std::string_view kConcat[] = {"values", "axis", "interleave"};
constexpr std::string_view kSlice[] = {"x", "begin", "size"};
constexpr std::string_view kMatmul[] = {"x", "y", "transpose_x", "transpose_y"};
constexpr std::string_view kQuantize[] = {"input", "scale", "output_dtype"};
constexpr std::string_view kDequantize[] = {"input", "scale"};
constexpr std::string_view kTile[] = {"x", "reps"};
constexpr std::string_view kReshape[] = {"x", "shape"};
constexpr std::string_view kPermute[] = {"x", "perm"};
constexpr std::string_view kAffine[] = {"quantized_data", "scale", "zero_point", "axis"};
constexpr std::string_view kBlockwise[] = {"data", "scale"};
constexpr std::string_view kTable[] = {"indices", "lut"};
constexpr std::string_view kSparse[] = {"nonzero_data", "mask"};

constexpr Signature kSignatures[] = {
    {"abs", kX, Shape::kSame},
    {"add", kXY, Shape::kBroadcast},
    {"clip", kClip, Shape::kSame},
    {"concat", kConcat, Shape::kConcat},
    {"constexpr_affine_dequantize", kAffine, Shape::kConstant},
    {"constexpr_blockwise_shift_scale", kBlockwise, Shape::kConstant},
    {"constexpr_lut_to_dense", kTable, Shape::kConstant},
    {"constexpr_sparse_to_dense", kSparse, Shape::kConstant},
    {"conv", kConv, Shape::kConv},
    {"dequantize", kDequantize, Shape::kFromInt8},
    {"erf", kX, Shape::kSame},
    {"exp", kX, Shape::kSame},
    {"gelu", kMode, Shape::kSame},
    {"log", kEpsilon, Shape::kSame},
    {"matmul", kMatmul, Shape::kMatmul},
    {"maximum", kXY, Shape::kBroadcast},
    {"minimum", kXY, Shape::kBroadcast},
    {"mul", kXY, Shape::kBroadcast},
    {"pow", kXY, Shape::kBroadcast},
    {"quantize", kQuantize, Shape::kToInt8},
    {"real_div", kXY, Shape::kBroadcast},
    {"reduce_max", kReduce, Shape::kReduced},
    {"reduce_mean", kReduce, Shape::kReduced},
    {"reduce_sum", kReduce, Shape::kReduced},
    {"reshape", kReshape, Shape::kAsDeclared},
    {"rsqrt", kEpsilon, Shape::kSame},
    {"sigmoid", kX, Shape::kSame},
    {"silu", kX, Shape::kSame},
    {"slice_by_size", kSlice, Shape::kSlice},
    {"softmax", kAxis, Shape::kSame},
    {"sqrt", kX, Shape::kSame},
    {"square", kX, Shape::kSame},
    {"sub", kXY, Shape::kBroadcast},
    {"tanh", kX, Shape::kSame},
    {"tile", kTile, Shape::kAsDeclared},
    {"transpose", kPermute, Shape::kAsDeclared},
};

}  // namespace

const Signature* signature_of(std::string_view op) {
  const auto found = std::find_if(std::begin(kSignatures), std::end(kSignatures),
                                  [&](const Signature& signature) { return signature.op == op; });
  return found == std::end(kSignatures) ? nullptr : found;
}

std::span<const Signature> all_signatures() { return kSignatures; }

}  // namespace anedvd::sim
