#include "ane/weight_probe.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "ane/mil_text.h"
#include "ane/small_program.h"
#include "ane/weight_blob.h"
#include "base/half.h"

namespace anedvd {
namespace {

constexpr int kRows = 96, kCols = 64, kWidth = 64;

std::vector<uint16_t> random_halves(size_t count, float spread, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<uint16_t> halves(count);
  for (uint16_t& half : halves) half = float_to_half(normal(random));
  return halves;
}

Result<SmallWeights> write_file(const Driver& driver, const WeightCode& code, std::span<const uint16_t> halves) {
  BlobRecordData codes{code_type(code.format), halves.size(), {}};
  WeightEncoder(code, kCols).encode(halves, codes.bytes);
  const std::vector<uint16_t>& numbers = code.table.empty() ? code.scales : code.table;
  const auto bytes = std::as_bytes(std::span(numbers));
  return write_records(driver, {codes, {BlobType::kFp16, numbers.size(), {bytes.begin(), bytes.end()}}});
}

std::string text_of(const WeightCode& code, const std::vector<uint64_t>& offsets) {
  MilFunction function(MilDialect::kTerse, kWidth);
  const int64_t shape[] = {kRows, kCols, 1, 1};
  const std::string weight = code.format == WeightFormat::kInt8
                                 ? function.affine_weight(shape, offsets[0], half_to_float(code.scales[0]))
                             : code.format == WeightFormat::kInt8Row
                                 ? function.row_scaled_weight(shape, offsets[0], offsets[1])
                                 : function.table_weight(shape, code_bits(code.format), offsets[0], offsets[1]);
  const std::string out[] = {function.conv(weight, "i00", kRows, "o00")};
  const DeclaredTensor in{"i00", kCols, kWidth};
  return function.program({&in, 1}, out);
}

}  // namespace

std::vector<float> expanded(const WeightCode& code, std::span<const uint16_t> halves, int64_t cols) {
  std::vector<float> dense(halves.size());
  for (size_t i = 0; i < halves.size(); ++i) {
    const float weight = half_to_float(halves[i]);
    if (!code.table.empty()) {
      const auto closer = [&](uint16_t a, uint16_t b) {
        return std::abs(half_to_float(a) - weight) < std::abs(half_to_float(b) - weight);
      };
      dense[i] = half_to_float(*std::min_element(code.table.begin(), code.table.end(), closer));
    } else {
      const float scale = half_to_float(code.scales[code.scales.size() == 1 ? 0 : i / size_t(cols)]);
      dense[i] = half_to_float(float_to_half(std::nearbyint(weight / scale) * scale));
    }
  }
  return dense;
}

Result<double> probe_weight_format(Driver& driver, WeightFormat format) {
  const auto halves = random_halves(size_t(kRows) * kCols, 1 / std::sqrt(float(kCols)), 11);
  WeightAnalysis analysis(kCols);
  analysis.add(halves);
  const WeightCode code = analysis.code(format);
  ANEDVD_TRY(SmallWeights weights, write_file(driver, code, halves));
  auto program = SmallProgram::make(driver, text_of(code, weights.offsets), std::move(weights.file),
                                    {{"i00", kCols, kWidth}}, {{"o00", kRows, kWidth}});
  if (!program) return fail_device(std::string(format_name(format)), program.error());
  const auto inputs = random_halves(size_t(kCols) * kWidth, 1, 12);
  Plane x;
  for (const uint16_t half : inputs) x.push_back(half_to_float(half));
  const auto y = (*program)->run_patiently({x});
  if (!y) return fail_device(std::string(format_name(format)), y.error());
  const std::vector<float> dense = expanded(code, halves, kCols);
  double largest = 0, worst = 0;
  for (size_t r = 0; r < kRows; ++r)
    for (size_t w = 0; w < kWidth; ++w) {
      double sum = 0;
      for (size_t k = 0; k < kCols; ++k) sum += double(dense[r * kCols + k]) * double(x[k * kWidth + w]);
      largest = std::max(largest, std::abs(sum));
      const double off = std::abs(double((*y)[0][r * kWidth + w]) - sum);
      worst = off <= worst ? worst : off;  // not-a-number is worst
    }
  return worst / largest;
}

}  // namespace anedvd
