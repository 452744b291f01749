// Constants of MIL text: literals, records of the weight file, and weights that are stored compressed.
#pragma once

#include <memory>

#include "ane/sim/graph.h"

namespace anedvd::sim {

// `const()` with this value. A weight record must hold exactly the elements of the type, stored as the type says.
DriverResult<std::shared_ptr<const Constant>> read_constant(const MilLiteral& literal, const FileFinder& files);

// Dense fp16 weights of shape `shape` from the operands of a constexpr operation, rounded once an element.
//   constexpr_affine_dequantize      data, scale, zero point, all constants: scalars or one a position of `axis`
//   constexpr_blockwise_shift_scale  data, scale: of the data's rank, each extent dividing the data's
//   constexpr_lut_to_dense           indices, table [groups, 1, …, 1, entries, 1], as many entries as an index can name
//   constexpr_sparse_to_dense        the values that are not zero, a mask of one bit each
DriverResult<std::shared_ptr<const Constant>> expand_affine(const GraphValue& data, const GraphValue& scale,
                                                            const GraphValue& zero_point, int64_t axis);
DriverResult<std::shared_ptr<const Constant>> expand_blockwise(const GraphValue& data, const GraphValue& scale,
                                                               const Profile& profile);
DriverResult<std::shared_ptr<const Constant>> expand_table(const GraphValue& indices, const GraphValue& table,
                                                           const Profile& profile);
DriverResult<std::shared_ptr<const Constant>> expand_sparse(const GraphValue& values, const GraphValue& mask);

// Bits of one element of this type in a weight file; nullopt: no weight can have it.
std::optional<int> stored_bits(std::string_view element);

// The constant's value as a number, for scalar operands; nullopt if it is none.
std::optional<double> scalar_of(const GraphValue& value);
// The same if it is a whole number of 32 bits.
std::optional<int64_t> whole_of(const GraphValue& value);

}  // namespace anedvd::sim
