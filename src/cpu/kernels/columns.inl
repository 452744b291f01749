// Kernels over one column of activations: norms, elementwise functions, rotation.
#pragma once

namespace anedvd {
namespace {

// exp(x) for x clamped to [−86, 88]: x = n·ln 2 + r, exp(r) by its Taylor polynomial of degree 7 (|r| ≤ 0.347: error below 6e-9 of the value,
// under float's own rounding), scaled by 2^n. ln 2 in two parts keeps r exact for |n| < 2^9.
inline F32x16 f_exp(F32x16 x) {
  x = f_min(f_max(x, f_set(-86.0f)), f_set(88.0f));
  const I32x16 n = i_round(f_mul(x, f_set(1.44269504f)));
  const F32x16 whole = f_from_i(n);
  F32x16 r = f_fma(whole, f_set(-0.693359375f), x);
  r = f_fma(whole, f_set(2.12194440e-4f), r);
  F32x16 p = f_set(1.0f / 5040);
  p = f_fma(p, r, f_set(1.0f / 720));
  p = f_fma(p, r, f_set(1.0f / 120));
  p = f_fma(p, r, f_set(1.0f / 24));
  p = f_fma(p, r, f_set(1.0f / 6));
  p = f_fma(p, r, f_set(0.5f));
  p = f_fma(p, r, f_set(1.0f));
  p = f_fma(p, r, f_set(1.0f));
  return f_scale_exponent(p, n);
}

inline F32x16 f_silu(F32x16 x) { return f_div(x, f_add(f_set(1.0f), f_exp(f_sub(f_set(0.0f), x)))); }

// tanh(x) = 1 − 2 / (exp(2x) + 1); near zero the difference cancels, so below 0.1 the odd series x − x³/3 + 2x⁵/15 − 17x⁷/315 is taken.
inline F32x16 f_tanh(F32x16 x) {
  const F32x16 a = f_abs(x);
  const F32x16 far = f_sub(f_set(1.0f), f_div(f_set(2.0f), f_add(f_exp(f_add(a, a)), f_set(1.0f))));
  const F32x16 square = f_mul(a, a);
  F32x16 series = f_set(-17.0f / 315);
  series = f_fma(series, square, f_set(2.0f / 15));
  series = f_fma(series, square, f_set(-1.0f / 3));
  series = f_fma(f_mul(series, square), a, a);
  // Choose by magnitude, then give the sign back: written through memory, it is not a hot loop.
  float va[kLanes], vx[kLanes], vf[kLanes], vs[kLanes];
  f_store(va, a);
  f_store(vx, x);
  f_store(vf, far);
  f_store(vs, series);
  for (int i = 0; i < kLanes; ++i) vs[i] = __builtin_copysignf(va[i] < 0.1f ? vs[i] : vf[i], vx[i]);
  return f_load(vs);
}

// 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))
inline F32x16 f_gelu(F32x16 x) {
  const F32x16 cube = f_mul(f_mul(x, x), x);
  const F32x16 inner = f_mul(f_set(0.7978845608f), f_fma(f_set(0.044715f), cube, x));
  return f_mul(f_mul(f_set(0.5f), x), f_add(f_set(1.0f), f_tanh(inner)));
}

// The last, partial vector of n floats: lanes beyond n are zero, nothing beyond n is read.
inline F32x16 f_load_tail(const float* p, int64_t count) {
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = p[i];
  return f_load(lanes);
}

float dot(const float* a, const float* b, int64_t n) {
  F32x16 sum[4] = {f_set(0), f_set(0), f_set(0), f_set(0)};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    for (int j = 0; j < 4; ++j) sum[j] = f_fma(f_load(a + i + kLanes * j), f_load(b + i + kLanes * j), sum[j]);
  for (int j = 0; i < n; i += kLanes, ++j) {
    const int64_t left = n - i < kLanes ? n - i : kLanes;
    sum[j] = f_fma(f_load_tail(a + i, left), f_load_tail(b + i, left), sum[j]);
  }
  return f_reduce_add(f_add(f_add(sum[0], sum[1]), f_add(sum[2], sum[3])));
}

void rms_norm(const float* x, const float* weight, float eps, int n, float* out) {
  F32x16 squares = f_set(0);
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const F32x16 v = f_load(x + i);
    squares = f_fma(v, v, squares);
  }
  if (i < n) {
    const F32x16 v = f_load_tail(x + i, n - i);
    squares = f_fma(v, v, squares);
  }
  const float factor = 1.0f / __builtin_sqrtf(f_reduce_add(squares) / float(n) + eps);
  const F32x16 f = f_set(factor);
  for (i = 0; i + kLanes <= n; i += kLanes) {
    F32x16 v = f_mul(f_load(x + i), f);
    if (weight != nullptr) v = f_mul(v, f_load(weight + i));
    f_store(out + i, v);
  }
  for (; i < n; ++i) out[i] = x[i] * factor * (weight != nullptr ? weight[i] : 1.0f);
}

void add(const float* a, const float* b, int n, float* out) {
  for (int i = 0; i < n; i += kLanes) f_store(out + i, f_add(f_load(a + i), f_load(b + i)));
}
void mul(const float* a, const float* b, int n, float* out) {
  for (int i = 0; i < n; i += kLanes) f_store(out + i, f_mul(f_load(a + i), f_load(b + i)));
}
void scale(const float* x, float factor, int n, float* out) {
  for (int i = 0; i < n; i += kLanes) f_store(out + i, f_mul(f_load(x + i), f_set(factor)));
}
void silu(const float* x, int n, float* out) {
  for (int i = 0; i < n; i += kLanes) f_store(out + i, f_silu(f_load(x + i)));
}
void gelu(const float* x, int n, float* out) {
  for (int i = 0; i < n; i += kLanes) f_store(out + i, f_gelu(f_load(x + i)));
}
void softcap(const float* x, float cap, int n, float* out) {
  const F32x16 c = f_set(cap), inverse = f_set(1.0f / cap);
  for (int i = 0; i < n; i += kLanes) f_store(out + i, f_mul(c, f_tanh(f_mul(f_load(x + i), inverse))));
}

// The constants are gpt-oss's swiglu_alpha and swiglu_limit.
void clamped_swiglu(const float* gate, const float* up, int n, float* out) {
  const F32x16 limit = f_set(7.0f), alpha = f_set(1.702f), one = f_set(1.0f);
  for (int i = 0; i < n; i += kLanes) {
    const F32x16 g = f_min(f_load(gate + i), limit);
    const F32x16 u = f_min(f_max(f_load(up + i), f_set(-7.0f)), limit);
    const F32x16 sigmoid = f_div(one, f_add(one, f_exp(f_sub(f_set(0.0f), f_mul(alpha, g)))));
    f_store(out + i, f_mul(f_add(u, one), f_mul(g, sigmoid)));
  }
}

void softmax(const float* x, int n, float* out) {
  float peak = x[0];
  for (int i = 1; i < n; ++i) peak = x[i] > peak ? x[i] : peak;
  F32x16 sum = f_set(0);
  for (int i = 0; i < n; i += kLanes) {
    const int count = n - i < kLanes ? n - i : kLanes;
    float lanes[kLanes];
    f_store(lanes, f_between(f_exp(f_sub(f_load_tail(x + i, count), f_set(peak))), 0, count, 0.0f));
    sum = f_add(sum, f_load(lanes));
    for (int j = 0; j < count; ++j) out[i + j] = lanes[j];
  }
  const float total = f_reduce_add(sum);
  for (int i = 0; i < n; ++i) out[i] /= total;
}

void rope(const float* x, const float* cosine, const float* sine, int pairs, int head_dim, int heads, float* out) {
  for (int h = 0; h < heads; ++h, x += head_dim, out += head_dim) {
    int i = 0;
    for (; i + kLanes <= pairs; i += kLanes) {
      const F32x16 a = f_load(x + i), b = f_load(x + pairs + i), c = f_load(cosine + i), s = f_load(sine + i);
      f_store(out + i, f_sub(f_mul(a, c), f_mul(b, s)));
      f_store(out + pairs + i, f_add(f_mul(a, s), f_mul(b, c)));
    }
    for (; i < pairs; ++i) {
      const float a = x[i], b = x[pairs + i];
      out[i] = a * cosine[i] - b * sine[i];
      out[pairs + i] = a * sine[i] + b * cosine[i];
    }
    for (i = 2 * pairs; i < head_dim; ++i) out[i] = x[i];
  }
}

}  // namespace
}  // namespace anedvd
