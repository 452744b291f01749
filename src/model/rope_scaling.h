// How fast each pair of a head turns: plain rotary embedding and its scalings, the same for both containers.
//
//   pair i at position t turns by t · f_i,   f_i = base^(−2i / rotated),   i = 0 … rotated/2 − 1
//
// Containers spell the settings differently and sometimes give finished divisors; readers fill RopeSettings and get a RopeSpec.
// Formulas are those of transformers' modeling_rope_utils.py, computed in double precision. Pure: no file, no clock.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/spec.h"

namespace anedvd {

enum class RopeScaling { kNone, kLinear, kLlama3, kYarn, kLongrope };

struct RopeSettings {
  RopeScaling scaling = RopeScaling::kNone;
  int rotated = 0;  // elements of a head that turn, even
  double base = 10000;
  double factor = 1;            // how much longer the context became
  double original_context = 0;  // tokens of the first training; llama3, yarn and longrope need it
  // llama3: wavelengths above original / low are stretched, those below original / high are not.
  double low_freq_factor = 1, high_freq_factor = 4;
  // yarn: pairs that turn more than beta_fast times within the original context stay, those below beta_slow are stretched.
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;                         // yarn: round the borders outwards to whole pairs (gpt-oss: no)
  double mscale = 0, mscale_all_dim = 0;        // yarn: both given (not 0) replace the usual magnitude
  std::optional<double> attention_factor = {};  // yarn, longrope: the magnitude itself
  std::vector<double> short_factor = {}, long_factor = {};  // longrope: one divisor a pair
};

// Inverse frequencies base^(−2i / rotated), rotated/2 of them.
std::vector<double> plain_frequencies(double base, int rotated);

// Divides each frequency by its divisor. `where` names the list in errors: kBadFile for another count than pairs, kNumeric for a divisor
// that is not a finite number above 0.
Result<> divide_frequencies(RopeSpec& rope, std::span<const double> divisors, std::string_view where);

// The finished rotation. `session_context`: tokens that a sequence may hold; longrope takes its long divisors when they exceed the
// original context, and keeps to that choice (positions already in the cache could not follow a later change).
// `where` names the file in errors: kNumeric for a base or factor that is no number above 0, kBadFile for what a scaling lacks.
Result<RopeSpec> make_rope(const RopeSettings& settings, int64_t session_context, std::string_view where);

}  // namespace anedvd
