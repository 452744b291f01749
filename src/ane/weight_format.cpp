#include "ane/weight_format.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "base/result.h"

namespace anedvd {
namespace {

constexpr int kLargestCode = 127;
constexpr float kSmallestScale = 0x1p-14f;  // a subnormal scale may be flushed (docs/ane.md#numerics)

struct FormatRow {
  WeightFormat format;
  std::string_view name;
  int bits;
  double most_error;  // when it was asked for by name
};

// Limits about half above what normally distributed weights cost in this form: a matrix with outliers stays fp16.
constexpr FormatRow kFormats[] = {
    {WeightFormat::kFp16, "fp16", 16, 0},          {WeightFormat::kInt8, "int8", 8, 0.03},
    {WeightFormat::kInt8Row, "int8-row", 8, 0.02}, {WeightFormat::kLut6, "lut6", 6, 0.05},
    {WeightFormat::kLut4, "lut4", 4, 0.15},
};

// "auto": no form may cost more than int8 with a scale a row usually does.
constexpr double kMostErrorOfAuto = 0.02;

const FormatRow& row_of(WeightFormat format) { return kFormats[size_t(format)]; }

// Rounded up, so that the largest weight stays within the codes.
uint16_t scale_for(float largest) {
  const float wanted = std::max(largest / kLargestCode, kSmallestScale);
  uint16_t half = float_to_half(wanted);
  if (half_to_float(half) < wanted) ++half;
  return half;
}

int code_of(float weight, float scale) {
  return std::clamp(int(std::nearbyint(weight / scale)), -kLargestCode, kLargestCode);
}

// Patterns that occur, ascending by value.
struct Distinct {
  std::vector<uint16_t> halves;
  std::vector<double> values, count_before, sum_before;  // sums over those before each; one longer
};

Distinct distinct_of(const std::vector<uint64_t>& counts) {
  Distinct found;
  for (uint32_t sign = 0x8000 + 0x7bff; sign >= 0x8000; --sign)
    if (counts[sign] > 0) found.halves.push_back(uint16_t(sign));
  for (uint32_t half = 0; half <= 0x7bff; ++half)
    if (counts[half] > 0) found.halves.push_back(uint16_t(half));
  found.count_before.push_back(0);
  found.sum_before.push_back(0);
  for (const uint16_t half : found.halves) {
    const double value = double(half_to_float(half)), count = double(counts[half]);
    found.values.push_back(value);
    found.count_before.push_back(found.count_before.back() + count);
    found.sum_before.push_back(found.sum_before.back() + count * value);
  }
  return found;
}

uint8_t nearest_entry(const std::vector<float>& table, float value) {
  const auto above = std::lower_bound(table.begin(), table.end(), value);
  if (above == table.begin()) return 0;
  if (above == table.end()) return uint8_t(table.size() - 1);
  const auto at = size_t(above - table.begin());
  return uint8_t(value - table[at - 1] <= table[at] - value ? at - 1 : at);
}

std::vector<float> floats_of(const std::vector<uint16_t>& halves) {
  std::vector<float> floats;
  for (const uint16_t half : halves) floats.push_back(half_to_float(half));
  return floats;
}

}  // namespace

std::string_view format_name(WeightFormat format) { return row_of(format).name; }
int code_bits(WeightFormat format) { return row_of(format).bits; }
BlobType code_type(WeightFormat format) {
  switch (format) {
    case WeightFormat::kFp16: return BlobType::kFp16;
    case WeightFormat::kLut6: return BlobType::kUint6;
    case WeightFormat::kLut4: return BlobType::kUint4;
    default: return BlobType::kInt8;
  }
}

std::optional<std::vector<WeightWish>> wishes_named(std::string_view name) {
  if (name == "auto")
    return std::vector<WeightWish>{{WeightFormat::kLut4, kMostErrorOfAuto},
                                   {WeightFormat::kLut6, kMostErrorOfAuto},
                                   {WeightFormat::kInt8Row, kMostErrorOfAuto}};
  for (const FormatRow& row : kFormats) {
    if (row.name != name) continue;
    if (row.format == WeightFormat::kFp16) return std::vector<WeightWish>{};
    return std::vector<WeightWish>{{row.format, row.most_error}};
  }
  return std::nullopt;
}

void WeightAnalysis::add(std::span<const uint16_t> halves) {
  ANEDVD_CHECK(int64_t(halves.size()) % cols_ == 0, "{} weights are no rows of {}", halves.size(), cols_);
  for (size_t row = 0; row < halves.size(); row += size_t(cols_)) {
    float largest = 0;
    for (size_t i = 0; i < size_t(cols_); ++i) {
      ++counts_[halves[row + i]];
      largest = std::max(largest, std::abs(half_to_float(halves[row + i])));
    }
    row_scales_.push_back(scale_for(largest));
    const float scale = half_to_float(row_scales_.back());
    double error = 0;
    for (size_t i = 0; i < size_t(cols_); ++i) {
      const float weight = half_to_float(halves[row + i]), off = float(code_of(weight, scale)) * scale - weight;
      error += double(off) * double(off);
    }
    row_error_ += error;
  }
}

// A weight counts for ten times the median at most: one outlier would hide what all others lose.
double WeightAnalysis::sum_of_squares() const {
  constexpr double kMostMedians = 10;
  uint64_t total = 0, below = 0;
  for (const uint64_t count : counts_) total += count;
  double median = 0;
  for (size_t half = 0; half < counts_.size() / 2 && 2 * below < total; ++half) {
    below += counts_[half] + counts_[half | 0x8000];
    median = double(half_to_float(uint16_t(half)));
  }
  double sum = 0;
  for (size_t half = 0; half < counts_.size(); ++half) {
    const double size = std::abs(double(half_to_float(uint16_t(half))));
    if (counts_[half] > 0)
      sum += double(counts_[half]) * std::pow(median > 0 ? std::min(size, kMostMedians * median) : size, 2);
  }
  return sum;
}

WeightCode WeightAnalysis::tensor_code() const {
  float largest = 0;
  for (size_t half = 0; half < counts_.size(); ++half)
    if (counts_[half] > 0) largest = std::max(largest, std::abs(half_to_float(uint16_t(half))));
  WeightCode made{WeightFormat::kInt8, 0, {scale_for(largest)}, {}};
  const float scale = half_to_float(made.scales[0]);
  for (size_t half = 0; half < counts_.size(); ++half) {
    if (counts_[half] == 0) continue;
    const float weight = half_to_float(uint16_t(half));
    made.error += double(counts_[half]) * std::pow(double(float(code_of(weight, scale)) * scale - weight), 2);
  }
  return made;
}

WeightCode WeightAnalysis::row_code() const { return {WeightFormat::kInt8Row, row_error_, row_scales_, {}}; }

// Lloyd's iteration over the values that occur. The best entries of a normal distribution lie as the quantiles of one that is √3 times as wide:
// from there it has not far to go.
WeightCode WeightAnalysis::table_code(WeightFormat format) const {
  constexpr int kRounds = 1000;
  const auto entries = size_t(1) << code_bits(format);
  const Distinct all = distinct_of(counts_);
  WeightCode made{format, 0, {}, {}};
  std::vector<double> centres(entries);
  const double total = all.count_before.back();
  for (size_t i = 0; i < entries; ++i) {
    const double wanted = total * (double(i) + 0.5) / double(entries);
    const auto after = std::upper_bound(all.count_before.begin(), all.count_before.end(), wanted);
    const auto at = size_t(std::max<ptrdiff_t>(after - all.count_before.begin() - 1, 0));
    centres[i] = std::clamp(std::sqrt(3.0) * all.values[std::min(at, all.values.size() - 1)], all.values.front(),
                            all.values.back());
    if (all.values.size() <= entries) centres[i] = all.values[std::min(i, all.values.size() - 1)];  // exact
  }
  for (int round = 0; round < kRounds; ++round) {
    size_t first = 0;
    for (size_t i = 0; i < entries; ++i) {
      const auto end = i + 1 == entries ? all.values.end()
                                        : std::upper_bound(all.values.begin() + ptrdiff_t(first), all.values.end(),
                                                           (centres[i] + centres[i + 1]) / 2);
      const auto last = size_t(end - all.values.begin());
      const double count = all.count_before[last] - all.count_before[first];
      if (count > 0) centres[i] = (all.sum_before[last] - all.sum_before[first]) / count;
      first = last;
    }
    std::sort(centres.begin(), centres.end());
  }
  for (const double centre : centres) made.table.push_back(float_to_half(float(centre)));
  const std::vector<float> table = floats_of(made.table);
  for (size_t i = 0; i < all.values.size(); ++i) {
    const double off = double(table[nearest_entry(table, float(all.values[i]))]) - all.values[i];
    made.error += (all.count_before[i + 1] - all.count_before[i]) * off * off;
  }
  return made;
}

WeightCode WeightAnalysis::code(WeightFormat format) const {
  const double squares = sum_of_squares();
  WeightCode made;
  switch (format) {
    case WeightFormat::kFp16: return made;
    case WeightFormat::kInt8: made = tensor_code(); break;
    case WeightFormat::kInt8Row: made = row_code(); break;
    default: made = table_code(format);
  }
  made.error = squares > 0 ? std::sqrt(made.error / squares) : 0;
  return made;
}

WeightEncoder::WeightEncoder(const WeightCode& code, int64_t cols) : code_(code), cols_(cols) {
  if (code.table.empty()) return;
  const std::vector<float> table = floats_of(code.table);
  nearest_.resize(size_t(1) << 16);
  for (size_t half = 0; half < nearest_.size(); ++half)
    nearest_[half] = nearest_entry(table, half_to_float(uint16_t(half)));
}

void WeightEncoder::encode(std::span<const uint16_t> halves, std::vector<std::byte>& bytes) {
  const int bits = code_bits(code_.format);
  for (size_t row = 0; row < halves.size(); row += size_t(cols_), ++row_) {
    const float scale =
        code_.scales.empty() ? 1 : half_to_float(code_.scales[code_.scales.size() == 1 ? 0 : size_t(row_)]);
    for (size_t i = 0; i < size_t(cols_); ++i) {
      const uint16_t half = halves[row + i];
      const uint32_t code =
          code_.table.empty() ? uint32_t(code_of(half_to_float(half), scale)) & 0xffu : uint32_t(nearest_[half]);
      pending_ |= code << pending_bits_;
      pending_bits_ += bits;
      while (pending_bits_ >= 8) {
        bytes.push_back(std::byte(pending_ & 0xffu));
        pending_ >>= 8;
        pending_bits_ -= 8;
      }
    }
  }
}

}  // namespace anedvd
