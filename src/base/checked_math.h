// Sums and products of numbers that come from a file: nullopt when they leave the 64-bit range.
#pragma once

#include <cstdint>
#include <optional>

namespace anedvd {

inline std::optional<uint64_t> checked_add(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  uint64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> checked_mul(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  uint64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

}  // namespace anedvd
