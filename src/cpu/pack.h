// Repacks quantised rows into panels of 16 outputs, the one form that all SIMD levels read.
//
// A panel holds, for each block of 32 inputs: the 16 scales (fp16), the 16 minima if the type has them, then 64-byte chunks. Byte 4·column + j of
// chunk c belongs to input 4c + j, so that one 64-byte load meets one 32-bit word of activations broadcast to all columns.
//
//   Q8_0          32 scales + 512: chunk c (0…7), stored as quant + 128
//   Q4_0, Q4_1    32 (+ 32 minima) + 256: chunk c (0…3), low nibble input 4c + j, high nibble input 16 + 4c + j
//   Q5_0, Q5_1    the same + 64: for each of the 8 groups of 4 inputs a 64-bit mask of fifth bits
//   Q4_K, Q5_K    per 256 inputs 64 (d and dmin, fp16), then 8 × (16 scales + 16 minima as bytes + the quants as above)
//   Q6_K          per 256 inputs 32 (d), then 8 × (2 × 16 signed scales + 256 low nibbles + 128: two bits each, 4 groups of 4 inputs in a byte)
//   IQ4_NL, MXFP4 as Q4_0; MXFP4's scale as bfloat16
//   IQ4_XS        per 256 inputs 32 (d), then 8 × (16 signed scales + 256 nibbles)
//   Q2_K          per 256 inputs 64 (d and dmin), then 8 × (2 × 16 scales, 2 × 16 minima + 128 of bit pairs as Q6_K's)
//   Q3_K          per 256 inputs 32 (d), then 8 × (2 × 16 signed scales + 256 nibbles: a third more than in the file, and fast)
//   F16 BF16 F32  per input: the 16 numbers
//
// The size is the file's, K-quants 2.8 % more (Q3_K apart): decode reads no more bytes than the file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cpu/kernels/kernel_table.h"
#include "tensor/dtype.h"

namespace anedvd {

// The packed form of a type; nullopt: it has none, rows are dequantised when they are used.
std::optional<PackFormat> pack_format(DType dtype);

// Whether the kernel of this form reads activations as floats (the others read them quantised).
bool reads_floats(PackFormat format);

// Bytes of one panel of `cols` inputs.
int64_t packed_panel_bytes(PackFormat format, int64_t cols);

// Packs up to 16 rows; rows[i] is null beyond the last output (zeros are packed). cols is a whole number of the type's blocks.
void pack_panel(PackFormat format, std::span<const std::byte* const, kLanes> rows, int64_t cols, std::byte* out);

}  // namespace anedvd
