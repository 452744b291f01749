#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "ane/mil_writer.h"
#include "base/half.h"
#include "base/mapped_file.h"
#include "base/words.h"

namespace anedvd {
namespace {

constexpr int64_t kSlabBytes = int64_t(4)
                               << 20;  // of floats: large enough for sequential reads, small beside any tensor of note

// Rows of fp16 numbers, in order.
using Taker = std::function<Result<>(std::span<const uint16_t> halves)>;

class Stream {
 public:
  Stream(const TensorFinder& find, Taker take) : find_(find), take_(std::move(take)) {}

  Result<> put(const WeightPart& part) {
    if (!part.ref) return put_constant(part);
    factor_ = std::exp2f(float(part.exponent));
    if (const auto put = part.cols == 1 ? put_vector(part) : put_matrix(part); !put)
      return fail_in(fmt::format("tensor \"{}\"", visible(part.ref->tensor)), put.error());
    return {};
  }

 private:
  Result<> put_constant(const WeightPart& part) {
    halves_.assign(size_t(part.rows * part.cols), float_to_half(part.fill));
    return take_(halves_);
  }

  Result<const TensorView*> find(const WeightPart& part) {
    const TensorView* tensor = find_(part.ref->tensor);
    if (tensor == nullptr) return fail(ErrorCode::kNotFound, "the model has no such tensor");
    return tensor;
  }

  Result<> put_values(std::span<float> values) {
    if (part_add_ != 0)
      for (float& value : values) value += part_add_;
    if (factor_ != 1)
      for (float& value : values) value *= factor_;
    halves_.resize(values.size());
    ANEDVD_TRY_VOID(to_weight_halves(values, halves_));
    return take_(halves_);
  }

  // A bias or a gain: numbers whatever the tensor's shape.
  Result<> put_vector(const WeightPart& part) {
    ANEDVD_TRY(const TensorView* tensor, find(part));
    const int64_t last = part.ref->first_row + part.ref->rows * part.ref->cols;
    if (tensor->elements() < last || part.first_row + part.rows > part.ref->rows * part.ref->cols)
      return fail(ErrorCode::kBadFile, "shape {}, expected {} numbers", shape_words(tensor->shape), last);
    stored_.resize(size_t(tensor->elements()));
    dequantize(*tensor, 0, tensor->rows(), stored_);
    values_.resize(size_t(part.rows));
    for (int64_t i = 0; i < part.rows; ++i)
      values_[size_t(i)] = stored_[size_t(stored_row(*part.ref, part.first_row + i))];
    part_add_ = part.ref->add;
    return put_values(values_);
  }

  Result<> put_matrix(const WeightPart& part) {
    ANEDVD_TRY(const TensorView* tensor, find(part));
    if (tensor->cols() != part.cols || tensor->rows() < part.ref->first_row + part.ref->rows)
      return fail(ErrorCode::kBadFile, "shape {}, expected [{}, {}]", shape_words(tensor->shape),
                  part.ref->first_row + part.ref->rows, part.cols);
    part_add_ = part.ref->add;
    const int64_t slab = std::max<int64_t>(1, kSlabBytes / int64_t(sizeof(float)) / part.cols);
    for (int64_t row = 0; row < part.rows; row += slab) {
      const int64_t count = std::min(slab, part.rows - row);
      values_.resize(size_t(count * part.cols));
      for (int64_t i = 0; i < count; ++i)
        dequantize(*tensor, stored_row(*part.ref, part.first_row + row + i), 1,
                   std::span(values_).subspan(size_t(i * part.cols), size_t(part.cols)));
      ANEDVD_TRY_VOID(put_values(values_));
      // Rows of a reordered weight stay within their head: what was read lies close to what is named here.
      MappedFile::release(tensor->row(part.ref->first_row + part.first_row + row, count));
    }
    return {};
  }

  const TensorFinder& find_;
  Taker take_;
  float part_add_ = 0, factor_ = 1;
  std::vector<float> values_, stored_;
  std::vector<uint16_t> halves_;
};

}  // namespace

Result<WeightFile> write_weights(const MilProgram& program, const TensorFinder& find,
                                 const std::filesystem::path& folder) {
  if (program.weights.empty()) return WeightFile();
  ANEDVD_TRY(WeightFileWriter writer, WeightFileWriter::create(folder, uint32_t(program.weights.size())));
  for (const WeightSlot& slot : program.weights) {
    ANEDVD_TRY(const uint64_t offset, writer.begin(slot.type, uint64_t(slot.elements)));
    ANEDVD_CHECK(offset == slot.offset, "the text puts a weight at {}, the file at {}", slot.offset, offset);
    ANEDVD_TRY_VOID(writer.append(std::as_bytes(std::span(slot.halves))));
    if (slot.parts.empty()) continue;
    WeightEncoder encoder(slot.code, slot.parts[0].cols);
    std::vector<std::byte> codes;
    const Taker take = [&](std::span<const uint16_t> halves) -> Result<> {
      if (slot.code.format == WeightFormat::kFp16) return writer.append(std::as_bytes(halves));
      codes.clear();
      encoder.encode(halves, codes);
      return writer.append(codes);
    };
    Stream stream(find, take);
    for (const WeightPart& part : slot.parts) ANEDVD_TRY_VOID(stream.put(part));
  }
  return writer.finish();
}

Result<std::vector<WeightCode>> choose_codes(const MilProgram& program, const TensorFinder& find,
                                             std::span<const WeightWish> wishes) {
  std::vector<WeightCode> codes;
  for (const WeightSlot& slot : program.weights) {
    if (!slot.is_matrix) continue;
    WeightAnalysis analysis(slot.parts[0].cols);
    Stream stream(find, [&](std::span<const uint16_t> halves) -> Result<> {
      analysis.add(halves);
      return {};
    });
    for (const WeightPart& part : slot.parts) ANEDVD_TRY_VOID(stream.put(part));
    codes.emplace_back();
    for (const WeightWish& wish : wishes) {
      // Codes that end within a byte would need padding: such odd matrices are tiny.
      if (slot.elements * code_bits(wish.format) % 8 != 0) continue;
      WeightCode code = analysis.code(wish.format);
      if (code.error > wish.most_error) continue;
      codes.back() = std::move(code);
      break;
    }
  }
  return codes;
}

}  // namespace anedvd
