// Random numbers by number, not by state: draw n of a seed is a function of (seed, n), so any draw can be made again on its own.
#pragma once

#include <cstdint>

namespace anedvd {

// The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of its
// variant 13 by David Stafford): a bijection in which every input bit flips every output bit with probability near one half.
constexpr uint64_t mix_bits(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Draw number n of a seed, uniform in [0, 1) in steps of 2^-53. The seed is mixed first: neighbouring seeds share no draws.
constexpr double uniform_draw(uint64_t seed, uint64_t n) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio: counter steps spread over all bits
  const uint64_t start = mix_bits(seed + kGolden);
  return double(mix_bits(start + (n + 1) * kGolden) >> 11) * 0x1p-53;
}

}  // namespace anedvd
