#include "cpu/pack.h"

#include <array>
#include <cstring>

#include "base/result.h"

namespace anedvd {
namespace {

struct Form {
  DType dtype;
  int64_t super_elements;  // inputs that a packed super-block covers
  int64_t super_bytes;
};

constexpr std::array<Form, kPackFormats> kForms = {{
    {DType::kQ4_0, 32, 32 + 256},
    {DType::kQ4_1, 32, 64 + 256},
    {DType::kQ5_0, 32, 32 + 256 + 64},
    {DType::kQ5_1, 32, 64 + 256 + 64},
    {DType::kQ8_0, 32, 32 + 512},
    {DType::kQ4_K, 256, 64 + 8 * (32 + 256)},
    {DType::kQ5_K, 256, 64 + 8 * (32 + 256 + 64)},
    {DType::kQ6_K, 256, 32 + 8 * (32 + 256 + 128)},
    {DType::kF16, 1, 32},
    {DType::kBF16, 1, 32},
    {DType::kF32, 1, 64},
}};

uint32_t word_at(const std::byte* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  return word;
}

void put_word(std::byte* p, uint32_t word) { std::memcpy(p, &word, 4); }

// Nibbles of one row's block: words[c] holds inputs 4c…4c+3 low and 16+4c… high, as the file's Q4_0 family stores them.
void put_nibbles(std::byte* quants, int column, const uint32_t (&words)[4]) {
  for (int c = 0; c < 4; ++c) put_word(quants + 64 * c + 4 * column, words[c]);
}

// The fifth bits of one row's block, bit k for input k.
void put_fifth_bits(std::byte* masks, int column, uint32_t bits) {
  for (int group = 0; group < 8; ++group) {
    const uint32_t four = (bits >> (4 * group)) & 15u;
    auto* byte = reinterpret_cast<uint8_t*>(masks) + 8 * group + column / 2;
    *byte = uint8_t(*byte | (four << (4 * (column % 2))));
  }
}

void copy_nibbles(const std::byte* source, std::byte* quants, int column) {
  const uint32_t words[4] = {word_at(source), word_at(source + 4), word_at(source + 8), word_at(source + 12)};
  put_nibbles(quants, column, words);
}

// One row's super-block into `out`, which was zeroed. `column` is the row's place in the panel.
using PackBlock = void (*)(const std::byte* block, int column, std::byte* out);

void pack_q4_0(const std::byte* block, int column, std::byte* out) {
  std::memcpy(out + 2 * column, block, 2);
  copy_nibbles(block + 2, out + 32, column);
}
void pack_q4_1(const std::byte* block, int column, std::byte* out) {
  std::memcpy(out + 2 * column, block, 2);
  std::memcpy(out + 32 + 2 * column, block + 2, 2);
  copy_nibbles(block + 4, out + 64, column);
}
void pack_q5_0(const std::byte* block, int column, std::byte* out) {
  std::memcpy(out + 2 * column, block, 2);
  copy_nibbles(block + 6, out + 32, column);
  put_fifth_bits(out + 32 + 256, column, word_at(block + 2));
}
void pack_q5_1(const std::byte* block, int column, std::byte* out) {
  std::memcpy(out + 2 * column, block, 2);
  std::memcpy(out + 32 + 2 * column, block + 2, 2);
  copy_nibbles(block + 8, out + 64, column);
  put_fifth_bits(out + 64 + 256, column, word_at(block + 4));
}
void pack_q8_0(const std::byte* block, int column, std::byte* out) {
  std::memcpy(out + 2 * column, block, 2);
  for (int c = 0; c < 8; ++c) put_word(out + 32 + 64 * c + 4 * column, word_at(block + 2 + 4 * c) ^ 0x80808080u);
}

// Six-bit scales and minima of Q4_K and Q5_K: 12 bytes, sub-block s < 4 in the low six bits of bytes s and s + 4; the others' low four bits
// in byte s + 4 and their top two in the high bits of bytes s − 4 and s (ggml's k-quants).
void unpack_scales(const uint8_t* packed, int s, uint8_t* scale, uint8_t* minimum) {
  if (s < 4) {
    *scale = packed[s] & 63;
    *minimum = packed[s + 4] & 63;
  } else {
    *scale = uint8_t((packed[s + 4] & 15) | ((packed[s - 4] >> 6) << 4));
    *minimum = uint8_t((packed[s + 4] >> 4) | ((packed[s] >> 6) << 4));
  }
}

// 32 quants of one sub-block, lowest four bits each, into nibble words.
void put_quants(std::byte* quants, int column, const uint8_t (&q)[32]) {
  uint32_t words[4] = {};
  for (int k = 0; k < 16; ++k) words[k / 4] |= uint32_t((q[k] & 15) | ((q[16 + k] & 15) << 4)) << (8 * (k % 4));
  put_nibbles(quants, column, words);
}

// Q4_K: d, dmin, 12 bytes of scales, 128 of nibbles. Q5_K: 32 bytes of fifth bits (bit s of byte k: sub-block s, input k) before the nibbles.
template <bool kFifth>
void pack_q45_k(const std::byte* block, int column, std::byte* out) {
  constexpr int64_t kSub = 32 + 256 + (kFifth ? 64 : 0);
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  const uint8_t* scales = bytes + 4;
  const uint8_t* fifth = bytes + 16;
  const uint8_t* nibbles = bytes + 16 + (kFifth ? 32 : 0);
  std::memcpy(out + 2 * column, block, 2);
  std::memcpy(out + 32 + 2 * column, block + 2, 2);
  for (int s = 0; s < 8; ++s) {
    std::byte* sub = out + 64 + s * kSub;
    unpack_scales(scales, s, reinterpret_cast<uint8_t*>(sub) + column, reinterpret_cast<uint8_t*>(sub) + 16 + column);
    uint8_t q[32];
    uint32_t bits = 0;
    for (int k = 0; k < 32; ++k) {
      q[k] = uint8_t(nibbles[32 * (s / 2) + k] >> (s % 2 == 0 ? 0 : 4));
      if (kFifth) bits |= uint32_t((fifth[k] >> s) & 1) << k;
    }
    put_quants(sub + 32, column, q);
    if (kFifth) put_fifth_bits(sub + 32 + 256, column, bits);
  }
}

// Q6_K: 128 bytes of low nibbles, 64 of top bit pairs, 16 signed scales, d. Two halves of 128 inputs; in each, quarter t of 32 inputs takes its
// nibbles from bytes 32·(t % 2) (low for t < 2, else high) and its top bits from bits 2t of the half's 32 bytes.
void pack_q6_k(const std::byte* block, int column, std::byte* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  std::memcpy(out + 2 * column, block + 208, 2);
  for (int s = 0; s < 8; ++s) {
    const int half = s / 4, quarter = s % 4;
    std::byte* sub = out + 32 + s * (32 + 256 + 128);
    sub[column] = block[192 + 2 * s];
    sub[16 + column] = block[192 + 2 * s + 1];
    uint8_t q[32];
    auto* tops = reinterpret_cast<uint8_t*>(sub) + 32 + 256;
    for (int k = 0; k < 32; ++k) {
      q[k] = uint8_t(bytes[64 * half + 32 * (quarter % 2) + k] >> (quarter < 2 ? 0 : 4));
      const uint8_t top = (bytes[128 + 32 * half + k] >> (2 * quarter)) & 3;
      // Inputs 0…15 in the first 64 bytes, 16…31 in the second; group of four g in bits 2g of a byte.
      const int within = k % 16;
      uint8_t& byte = tops[64 * (k / 16) + 4 * column + within % 4];
      byte = uint8_t(byte | (top << (2 * (within / 4))));
    }
    put_quants(sub + 32, column, q);
  }
}

// The transpose of 16 rows of numbers: [cols][16].
template <class Word>
void pack_numbers(std::span<const std::byte* const, kLanes> rows, int64_t cols, std::byte* out) {
  auto* words = reinterpret_cast<Word*>(out);
  for (int column = 0; column < kLanes; ++column) {
    const std::byte* row = rows[size_t(column)];
    for (int64_t k = 0; k < cols; ++k) {
      Word word = 0;
      if (row != nullptr) std::memcpy(&word, row + k * int64_t(sizeof(Word)), sizeof(Word));
      words[k * kLanes + column] = word;
    }
  }
}

// The number formats have none: pack_numbers.
constexpr std::array<PackBlock, kPackFormats> kPackers = {pack_q4_0, pack_q4_1,         pack_q5_0,        pack_q5_1,
                                                          pack_q8_0, pack_q45_k<false>, pack_q45_k<true>, pack_q6_k,
                                                          nullptr,   nullptr,           nullptr};

}  // namespace

std::optional<PackFormat> pack_format(DType dtype) {
  for (int i = 0; i < kPackFormats; ++i)
    if (kForms[size_t(i)].dtype == dtype) return PackFormat(i);
  return std::nullopt;
}

bool reads_floats(PackFormat format) { return kForms[size_t(format)].super_elements == 1; }

int64_t packed_panel_bytes(PackFormat format, int64_t cols) {
  const Form& form = kForms[size_t(format)];
  return cols / form.super_elements * form.super_bytes;
}

void pack_panel(PackFormat format, std::span<const std::byte* const, kLanes> rows, int64_t cols, std::byte* out) {
  const Form& form = kForms[size_t(format)];
  const QuantFormat& file = format_of(form.dtype);
  ANEDVD_CHECK(cols % form.super_elements == 0, "{} inputs are no whole blocks of {}", cols, file.name);
  if (reads_floats(format)) {
    file.block_bytes == 4 ? pack_numbers<uint32_t>(rows, cols, out) : pack_numbers<uint16_t>(rows, cols, out);
    return;
  }
  const int64_t supers = cols / form.super_elements;
  for (int64_t s = 0; s < supers; ++s, out += form.super_bytes) {
    std::memset(out, 0, size_t(form.super_bytes));
    for (int column = 0; column < kLanes; ++column)
      if (rows[size_t(column)] != nullptr)
        kPackers[size_t(format)](rows[size_t(column)] + s * file.block_bytes, column, out);
  }
}

}  // namespace anedvd
