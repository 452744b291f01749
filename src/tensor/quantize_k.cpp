#include "tensor/quantize_k.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/quant/blocks.h"
#include "tensor/quant/k_scales.h"
#include "tensor/quant/store_half.h"

namespace anedvd {
namespace {

constexpr int kGroup = 32;        // values under one scale and minimum
constexpr int kGroups = 8;        // of them in a block
constexpr int kMostScale = 63;    // six bits
constexpr int kSignedGroup = 16;  // Q6_K's
constexpr int kSignedGroups = 16;
constexpr int kLowestCode = -32, kHighestCode = 31;
constexpr float kTooLarge = 1e9f;  // far beyond what half scales reach, and small enough that no sum below overflows
constexpr int kRefits = 2;  // rounds of "fit the factors, choose the codes again": a third gains nothing measurable

// To the nearest whole number, ties to even, for |x| < 2²²; unlike std::nearbyint it becomes vector code everywhere.
float nearest(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

float nearest_within(float x, float low, float high) { return nearest(std::min(std::max(x, low), high)); }

// value ≈ scale · code − minimum, with scale ≥ 0 and minimum ≥ 0.
struct Line {
  float scale = 0, minimum = 0;
};

// How the first guesses of the search spread: the range of the values is cut into highest + first, + step, … levels.
struct Search {
  int highest;  // code
  float first, step;
  int guesses;
};

// Sums over a group, each value weighted. Kept in eight lanes, so that they become vector code without a change of order.
constexpr int kLanesOfSums = 8;

struct Lanes {
  float lane[kLanesOfSums] = {};
  float total() const {
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
  }
};

struct Sums {
  float w = 0, x = 0, xx = 0, q = 0, qq = 0, qx = 0;
};

// `low` and `inverse` choose the codes.
Sums sums_of(const float* values, const float (&weights)[kGroup], float low, float inverse, float highest) {
  Lanes w, x, xx, q, qq, qx;
  for (int i = 0; i < kGroup; i += kLanesOfSums) {
    for (int l = 0; l < kLanesOfSums; ++l) {
      const float value = values[i + l], weight = weights[i + l];
      const float code = nearest_within((value - low) * inverse, 0, highest);
      const float weighted = weight * value, weighted_code = weight * code;
      w.lane[l] += weight;
      x.lane[l] += weighted;
      xx.lane[l] += weighted * value;
      q.lane[l] += weighted_code;
      qq.lane[l] += weighted_code * code;
      qx.lane[l] += weighted_code * value;
    }
  }
  return {w.total(), x.total(), xx.total(), q.total(), qq.total(), qx.total()};
}

Line fit(const Sums& s) {
  const float determinant = s.w * s.qq - s.q * s.q;
  if (!(determinant > 0)) return {};
  const float minimum = (s.q * s.qx - s.qq * s.x) / determinant;
  if (minimum < 0) return {s.qq > 0 ? std::max(0.0f, s.qx / s.qq) : 0.0f, 0};
  return {std::max(0.0f, (s.w * s.qx - s.x * s.q) / determinant), minimum};
}

float squared_error(const Sums& s, const Line& line) {
  return s.xx + line.scale * line.scale * s.qq + line.minimum * line.minimum * s.w - 2 * line.scale * s.qx +
         2 * line.minimum * s.x - 2 * line.scale * line.minimum * s.q;
}

// Large values matter more than their number says: they meet large activations as often as small ones do and carry more of the sum.
void weigh(const float* values, float (&weights)[kGroup]) {
  float squares = 0;
  for (int i = 0; i < kGroup; ++i) squares += values[i] * values[i];
  const float typical = std::sqrt(squares / kGroup);
  for (int i = 0; i < kGroup; ++i) weights[i] = typical + std::fabs(values[i]);
}

Line search_line(const float* values, const float (&weights)[kGroup], const Search& search) {
  const auto [smallest, largest] = std::minmax_element(values, values + kGroup);
  const float low = std::min(*smallest, 0.0f), range = *largest - low;
  if (range <= 0) return {0, -low};
  const float highest = float(search.highest);
  Line best{range / highest, -low};
  float best_error = INFINITY;
  for (int guess = 0; guess < search.guesses; ++guess) {
    const float inverse = (highest + search.first + search.step * float(guess)) / range;
    if (!std::isfinite(inverse)) break;  // so narrow a range that every scale is zero as a half
    const Sums s = sums_of(values, weights, low, inverse, highest);
    const Line line = fit(s);
    const float error = squared_error(s, line);
    if (line.scale > 0 && error < best_error) {
      best_error = error;
      best = line;
    }
  }
  return best;
}

// A block of eight lines while its numbers are being chosen.
struct LineBlock {
  float d = 0, dmin = 0;  // as halves will hold them
  uint8_t scales[kGroups] = {}, minima[kGroups] = {};
  uint8_t codes[kSuperBlock] = {};
};

float as_half(float value) { return half_to_float(float_to_half(value)); }

uint8_t six_bit_code(float value, float unit) {
  return unit > 0 ? uint8_t(nearest_within(value / unit, 0, float(kMostScale))) : uint8_t(0);
}

// The nearest codes under the block's factors.
void choose_codes(const float* values, int highest, LineBlock& block) {
  for (int group = 0; group < kGroups; ++group) {
    const float scale = block.d * float(block.scales[group]), minimum = block.dmin * float(block.minima[group]);
    const float inverse = scale > 0 ? 1 / scale : 0;
    for (int i = group * kGroup; i < (group + 1) * kGroup; ++i)
      block.codes[i] =
          std::isfinite(inverse) ? uint8_t(nearest_within((values[i] + minimum) * inverse, 0, float(highest))) : 0;
  }
}

// Weighted sums for the fit of both factors: value ≈ d · (scale · code) − dmin · minimum.
struct FactorSums {
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0, xx = 0;

  double error(double d, double dmin) const {
    return xx + d * d * aa + dmin * dmin * bb - 2 * d * ax + 2 * dmin * bx - 2 * d * dmin * ab;
  }
};

FactorSums factor_sums(const float* values, const float (&weights)[kGroups][kGroup], const LineBlock& block) {
  FactorSums s;
  for (int group = 0; group < kGroups; ++group) {
    const float b = block.minima[group];
    for (int i = 0; i < kGroup; ++i) {
      const double w = weights[group][i], x = values[group * kGroup + i];
      const double a = double(block.scales[group]) * block.codes[group * kGroup + i];
      s.aa += w * a * a;
      s.ab += w * a * b;
      s.bb += w * b * b;
      s.ax += w * a * x;
      s.bx += w * b * x;
      s.xx += w * x * x;
    }
  }
  return s;
}

// Fits d and dmin to the codes, then codes to them, as long as that brings the block nearer to its values.
void refit(const float* values, const float (&weights)[kGroups][kGroup], int highest, LineBlock& block) {
  FactorSums now = factor_sums(values, weights, block);
  for (int round = 0; round < kRefits; ++round) {
    const double determinant = now.aa * now.bb - now.ab * now.ab;
    LineBlock next = block;
    if (determinant > 1e-9 * now.aa * now.bb) {
      next.d = as_half(float((now.ax * now.bb - now.bx * now.ab) / determinant));
      next.dmin = as_half(float((now.ax * now.ab - now.bx * now.aa) / determinant));
    } else if (now.aa > 0) {
      next.d = as_half(float((now.ax + block.dmin * now.ab) / now.aa));
    }
    if (!(next.d > 0 && next.dmin >= 0 && std::isfinite(next.d) && std::isfinite(next.dmin))) return;
    choose_codes(values, highest, next);
    const FactorSums then = factor_sums(values, weights, next);
    if (!(then.error(next.d, next.dmin) < now.error(block.d, block.dmin))) return;
    block = next;
    now = then;
  }
}

// False: values that half scales do not reach.
bool fit_block(const float* values, const Search& search, LineBlock& block) {
  float weights[kGroups][kGroup];
  Line lines[kGroups];
  float most_scale = 0, most_minimum = 0;
  for (int i = 0; i < kSuperBlock; ++i)
    if (std::fabs(values[i]) > kTooLarge) return false;
  for (int group = 0; group < kGroups; ++group) {
    weigh(values + group * kGroup, weights[group]);
    lines[group] = search_line(values + group * kGroup, weights[group], search);
    most_scale = std::max(most_scale, lines[group].scale);
    most_minimum = std::max(most_minimum, lines[group].minimum);
  }
  block.d = as_half(most_scale / kMostScale);
  block.dmin = as_half(most_minimum / kMostScale);
  if (!std::isfinite(block.d) || !std::isfinite(block.dmin)) return false;
  for (int group = 0; group < kGroups; ++group) {
    block.scales[group] = six_bit_code(lines[group].scale, block.d);
    block.minima[group] = six_bit_code(lines[group].minimum, block.dmin);
  }
  choose_codes(values, search.highest, block);
  refit(values, weights, search.highest, block);
  return true;
}

// The inverse of scale_min_of_group (tensor/quant/k_scales.h).
void store_scales(const LineBlock& block, uint8_t (&packed)[12]) {
  for (int i = 0; i < 4; ++i) {
    packed[i] = uint8_t(block.scales[i] | block.scales[i + 4] >> 4 << 6);
    packed[i + 4] = uint8_t(block.minima[i] | block.minima[i + 4] >> 4 << 6);
    packed[i + 8] = uint8_t((block.scales[i + 4] & 15) | (block.minima[i + 4] & 15) << 4);
  }
}

// Low nibbles of groups 2j and 2j + 1 share 32 bytes.
void store_nibbles(const uint8_t (&codes)[kSuperBlock], uint8_t (&qs)[128]) {
  for (int pair = 0; pair < kGroups / 2; ++pair)
    for (int i = 0; i < kGroup; ++i)
      qs[pair * kGroup + i] =
          uint8_t((codes[2 * pair * kGroup + i] & 15) | (codes[(2 * pair + 1) * kGroup + i] & 15) << 4);
}

// The factor of 16 signed codes; 0 for a group of zeros.
float search_scale(const float* values) {
  float farthest = 0;
  for (int i = 0; i < kSignedGroup; ++i)
    if (std::fabs(values[i]) > std::fabs(farthest)) farthest = values[i];
  if (farthest == 0) return 0;
  float best = farthest / float(kLowestCode), best_score = -1;
  constexpr int kGuesses = 19;  // from 31.1 to 32.9 levels on the side of the farthest value
  for (int guess = 0; guess < kGuesses; ++guess) {
    const float inverse = -(31.1f + 0.1f * float(guess)) / farthest;
    if (!std::isfinite(inverse)) break;
    Lanes codes, products;
    for (int i = 0; i < kSignedGroup; i += kLanesOfSums) {
      for (int l = 0; l < kLanesOfSums; ++l) {
        const float x = values[i + l], w = x * x;
        const float q = nearest_within(x * inverse, float(kLowestCode), float(kHighestCode));
        codes.lane[l] += w * q * q;
        products.lane[l] += w * q * x;
      }
    }
    const float qq = codes.total(), qx = products.total();
    // By the best factor qx / qq the error falls by qx² / qq.
    if (qq > 0 && qx * qx / qq > best_score) {
      best_score = qx * qx / qq;
      best = qx / qq;
    }
  }
  return best;
}

void choose_signed_codes(const float* values, float d, const int8_t (&scales)[kSignedGroups],
                         int8_t (&codes)[kSuperBlock]) {
  for (int group = 0; group < kSignedGroups; ++group) {
    const float scale = d * float(scales[group]);
    const float inverse = scale != 0 ? 1 / scale : 0;
    for (int i = group * kSignedGroup; i < (group + 1) * kSignedGroup; ++i)
      codes[i] = std::isfinite(inverse)
                     ? int8_t(nearest_within(values[i] * inverse, float(kLowestCode), float(kHighestCode)))
                     : int8_t(0);
  }
}

// value = d · scale · code: the sums from which d follows by least squares, weighted by value².
struct FactorFit {
  double aa = 0, ax = 0, xx = 0;
  double error(double d) const { return xx + d * d * aa - 2 * d * ax; }
};

FactorFit factor_fit(const float* values, const int8_t (&scales)[kSignedGroups], const int8_t (&codes)[kSuperBlock]) {
  FactorFit fit;
  for (int i = 0; i < kSuperBlock; ++i) {
    const double x = values[i], w = x * x, a = double(scales[i / kSignedGroup]) * codes[i];
    fit.aa += w * a * a;
    fit.ax += w * a * x;
    fit.xx += w * x * x;
  }
  return fit;
}

}  // namespace

bool quantize_q4_k(const float* values, void* out) {
  LineBlock fitted;
  if (!fit_block(values, {.highest = 15, .first = -1.0f, .step = 0.1f, .guesses = 21}, fitted)) return false;
  auto& block = *static_cast<BlockQ4K*>(out);
  store_scales(fitted, block.scales);
  store_nibbles(fitted.codes, block.qs);
  return store_half(fitted.d, block.d) && store_half(fitted.dmin, block.dmin);
}

bool quantize_q5_k(const float* values, void* out) {
  LineBlock fitted;
  if (!fit_block(values, {.highest = 31, .first = -0.5f, .step = 0.1f, .guesses = 16}, fitted)) return false;
  auto& block = *static_cast<BlockQ5K*>(out);
  store_scales(fitted, block.scales);
  store_nibbles(fitted.codes, block.qs);
  std::memset(block.qh, 0, sizeof block.qh);
  for (int i = 0; i < kSuperBlock; ++i)
    block.qh[i % kGroup] = uint8_t(block.qh[i % kGroup] | fitted.codes[i] >> 4 << i / kGroup);
  return store_half(fitted.d, block.d) && store_half(fitted.dmin, block.dmin);
}

bool quantize_q6_k(const float* values, void* out) {
  float scales[kSignedGroups], farthest = 0;
  for (int i = 0; i < kSuperBlock; ++i)
    if (std::fabs(values[i]) > kTooLarge) return false;
  for (int group = 0; group < kSignedGroups; ++group) {
    scales[group] = search_scale(values + group * kSignedGroup);
    if (std::fabs(scales[group]) > std::fabs(farthest)) farthest = scales[group];
  }
  // The farthest scale gets −128, of which there is one more than of 127.
  float d = as_half(farthest / -128.0f);
  if (!std::isfinite(d)) return false;
  auto& block = *static_cast<BlockQ6K*>(out);
  for (int group = 0; group < kSignedGroups; ++group)
    block.scales[group] = d != 0 ? int8_t(nearest_within(scales[group] / d, -128, 127)) : int8_t(0);
  int8_t codes[kSuperBlock];
  choose_signed_codes(values, d, block.scales, codes);
  const FactorFit now = factor_fit(values, block.scales, codes);
  if (const float better = now.aa > 0 ? as_half(float(now.ax / now.aa)) : d; std::isfinite(better) && better != 0) {
    int8_t next[kSuperBlock];
    choose_signed_codes(values, better, block.scales, next);
    if (factor_fit(values, block.scales, next).error(better) < now.error(d)) {
      d = better;
      std::memcpy(codes, next, sizeof codes);
    }
  }
  std::memset(block.ql, 0, sizeof block.ql);
  std::memset(block.qh, 0, sizeof block.qh);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int half = i / 128, j = i % 128 / 32, l = i % 32, code = codes[i] - kLowestCode;
    uint8_t& low = block.ql[half * 64 + j % 2 * 32 + l];
    uint8_t& high = block.qh[half * 32 + l];
    low = uint8_t(low | (code & 15) << j / 2 * 4);
    high = uint8_t(high | code >> 4 << 2 * j);
  }
  return store_half(d, block.d);
}

}  // namespace anedvd
