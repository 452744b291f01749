#include "cpu/pack_blocks.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace anedvd {
namespace {

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

// 32 codes of two bits: inputs 0…15 in the first 64 bytes, 16…31 in the second; group of four g in bits 2g of a byte.
void put_bit_pairs(uint8_t* pairs, int column, const uint8_t (&codes)[32]) {
  for (int k = 0; k < 32; ++k) {
    const int within = k % 16;
    uint8_t& byte = pairs[64 * (k / 16) + 4 * column + within % 4];
    byte = uint8_t(byte | (codes[k] << (2 * (within / 4))));
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
    uint8_t q[32], tops[32];
    for (int k = 0; k < 32; ++k) {
      q[k] = uint8_t(bytes[64 * half + 32 * (quarter % 2) + k] >> (quarter < 2 ? 0 : 4));
      tops[k] = (bytes[128 + 32 * half + k] >> (2 * quarter)) & 3;
    }
    put_quants(sub + 32, column, q);
    put_bit_pairs(reinterpret_cast<uint8_t*>(sub) + 32 + 256, column, tops);
  }
}

void pack_iq4_nl(const std::byte* block, int column, std::byte* out) {
  std::memcpy(out + 2 * column, block, 2);
  copy_nibbles(block + 2, out + 32, column);
}

// The power of two e − 128 (the levels are doubled) as a bfloat16: below e = 2 it is subnormal.
void pack_mxfp4(const std::byte* block, int column, std::byte* out) {
  const auto e = uint16_t(block[0]);
  const auto word = uint16_t(e < 2 ? 0x20u << e : unsigned(e - 1) << 7);
  std::memcpy(out + 2 * column, &word, 2);
  copy_nibbles(block + 1, out + 32, column);
}

// IQ4_XS: d, 16 bits of high scale bits (two a sub-block), 4 bytes of low scale nibbles, 128 bytes of codes. Scales are stored plus 32.
void pack_iq4_xs(const std::byte* block, int column, std::byte* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  uint16_t high = 0;
  std::memcpy(&high, block + 2, 2);
  std::memcpy(out + 2 * column, block, 2);
  for (int s = 0; s < 8; ++s) {
    std::byte* sub = out + 32 + s * (16 + 256);
    const int low = (bytes[4 + s / 2] >> (4 * (s % 2))) & 15;
    sub[column] = std::byte(int8_t((low | ((high >> (2 * s)) & 3) << 4) - 32));
    copy_nibbles(block + 8 + 16 * s, sub + 16, column);
  }
}

// Two-bit codes of sub-block s of Q2_K and Q3_K: half s / 4 has 32 bytes, bits 2·(s % 4) of byte k are input k.
void low_codes(const uint8_t* codes, int s, uint8_t (&out)[32]) {
  for (int k = 0; k < 32; ++k) out[k] = (codes[32 * (s / 4) + k] >> (2 * (s % 4))) & 3;
}

// Q2_K: 16 bytes of scales (low nibble) and minima (high), 64 of codes, d, dmin.
void pack_q2_k(const std::byte* block, int column, std::byte* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  std::memcpy(out + 2 * column, block + 80, 2);
  std::memcpy(out + 32 + 2 * column, block + 82, 2);
  for (int s = 0; s < 8; ++s) {
    auto* sub = reinterpret_cast<uint8_t*>(out) + 64 + s * (64 + 128);
    for (int half = 0; half < 2; ++half) {
      sub[16 * half + column] = bytes[2 * s + half] & 15;
      sub[32 + 16 * half + column] = bytes[2 * s + half] >> 4;
    }
    uint8_t codes[32];
    low_codes(bytes + 16, s, codes);
    put_bit_pairs(sub + 64, column, codes);
  }
}

// Q3_K: 32 bytes of third bits (bit s of byte k: sub-block s, input k; clear means 4 less), 64 of codes, 12 of scales, d.
void pack_q3_k(const std::byte* block, int column, std::byte* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  const uint8_t* scales = bytes + 96;
  std::memcpy(out + 2 * column, block + 108, 2);
  for (int s = 0; s < 8; ++s) {
    std::byte* sub = out + 32 + s * (32 + 256);
    for (int half = 0; half < 2; ++half) {
      const int group = 2 * s + half;
      const int low = group < 8 ? scales[group] & 15 : scales[group - 8] >> 4;
      const int high = (scales[8 + group % 4] >> (group / 4 * 2)) & 3;
      sub[16 * half + column] = std::byte(int8_t((low | high << 4) - 32));
    }
    uint8_t codes[32];
    low_codes(bytes + 32, s, codes);
    for (int k = 0; k < 32; ++k) codes[k] = uint8_t(codes[k] | ((bytes[k] >> s) & 1) << 2);
    put_quants(sub + 32, column, codes);
  }
}

constexpr std::array<PackBlock, kPackFormats> kPackers = {
    pack_q4_0,   pack_q4_1,  pack_q5_0, pack_q5_1, pack_q8_0,   pack_q45_k<false>, pack_q45_k<true>, pack_q6_k,
    pack_iq4_nl, pack_mxfp4, pack_q3_k, pack_q2_k, pack_iq4_xs, nullptr,           nullptr,          nullptr};

}  // namespace

PackBlock block_packer(PackFormat format) { return kPackers[size_t(format)]; }

}  // namespace anedvd
