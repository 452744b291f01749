#include "cpu/expert_weights.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/mapped_file.h"
#include "base/words.h"
#include "cpu/pack.h"
#include "cpu/weights.h"
#include "tensor/quantize.h"

namespace anedvd {
namespace {

// The packed copy is the one that will be read: gives back the file's pages that hold panels [first, first + count).
void release(const ExpertMatrix& matrix, int first, int count) {
  if (matrix.ref.layout != StackLayout::kRows || matrix.ref.row_step != 1 || !matrix.format) return;
  const int64_t begin = int64_t(first) * kLanes, end = std::min(matrix.ref.rows, begin + int64_t(count) * kLanes);
  if (begin < end) MappedFile::release(matrix.tensor->row(matrix.ref.first_row + begin, end - begin));
}

int panels_of(int64_t rows) { return int((rows + kLanes - 1) / kLanes); }

constexpr int kMxfp4Elements = 32, kMxfp4Bytes = 17;

int64_t last_stored_row(const WeightRef& ref) { return stored_row(ref, ref.rows - 1); }

tl::unexpected<Error> bad_shape(const TensorView& tensor, std::string_view expected) {
  return fail(ErrorCode::kBadFile, "tensor \"{}\" has shape {} and type {}, expected {}", visible(tensor.name),
              shape_words(tensor.shape), format_of(tensor.dtype).name, expected);
}

// The two tensors of split MXFP4, with room for the last row.
Result<> check_split(const ExpertMatrix& matrix) {
  const int64_t rows = last_stored_row(matrix.ref) + 1, blocks = matrix.ref.cols / kMxfp4Elements;
  const auto is_bytes = [](const TensorView& tensor) { return format_of(tensor.dtype).block_bytes == 1; };
  if (matrix.ref.cols % kMxfp4Elements != 0 || !is_bytes(*matrix.tensor) ||
      matrix.tensor->elements() < rows * blocks * (kMxfp4Bytes - 1))
    return bad_shape(*matrix.tensor, fmt::format("bytes of {} rows of {} MXFP4 blocks", rows, blocks));
  if (!is_bytes(*matrix.exponents) || matrix.exponents->elements() < rows * blocks)
    return bad_shape(*matrix.exponents, fmt::format("{} bytes", rows * blocks));
  return {};
}

Result<> check_transposed(const ExpertMatrix& matrix) {
  const TensorView& tensor = *matrix.tensor;
  if (format_of(tensor.dtype).block_elements != 1 || tensor.shape.size() != 3 || tensor.shape[1] != matrix.ref.cols ||
      tensor.shape[0] * tensor.shape[2] <= last_stored_row(matrix.ref))
    return bad_shape(tensor, fmt::format("plain numbers [experts, {}, outputs]", matrix.ref.cols));
  return {};
}

}  // namespace

Result<ExpertMatrix> find_matrix(const WeightRef& ref, const TensorFinder& find, bool exact) {
  ExpertMatrix matrix;
  matrix.ref = ref;
  if (ref.layout == StackLayout::kRows) {
    ANEDVD_TRY(matrix.tensor, find_tensor(ref, find));
  } else {
    matrix.tensor = find(ref.tensor);
    if (matrix.tensor == nullptr) return fail(ErrorCode::kNotFound, "tensor \"{}\" is missing", visible(ref.tensor));
  }
  if (ref.layout == StackLayout::kTransposed) ANEDVD_TRY_VOID(check_transposed(matrix));
  if (ref.layout == StackLayout::kSplitMxfp4) {
    matrix.exponents = find(ref.exponents);
    if (matrix.exponents == nullptr)
      return fail(ErrorCode::kNotFound, "tensor \"{}\" is missing", visible(ref.exponents));
    ANEDVD_TRY_VOID(check_split(matrix));
  }
  if (!exact) matrix.format = pack_format(ref.pack_as.value_or(matrix.dtype()));
  return matrix;
}

namespace {

Result<std::vector<ExpertMatrix>> find_matrices(const Plan& plan, const std::vector<WeightId>& ids,
                                                const TensorFinder& find, bool exact) {
  std::vector<ExpertMatrix> matrices;
  for (const WeightId id : ids) {
    ANEDVD_TRY(ExpertMatrix matrix, find_matrix(plan.weights[size_t(id)], find, exact));
    matrices.push_back(std::move(matrix));
  }
  return matrices;
}

}  // namespace

DType ExpertMatrix::dtype() const { return ref.layout == StackLayout::kSplitMxfp4 ? DType::kMXFP4 : tensor->dtype; }

const std::byte* ExpertMatrix::row_bytes(int64_t row, std::vector<std::byte>& copy) const {
  const int64_t stored = stored_row(ref, row);
  if (ref.layout == StackLayout::kRows) return tensor->row(stored).data();
  if (ref.layout == StackLayout::kTransposed) {
    const int64_t outputs = tensor->shape[2], size = format_of(tensor->dtype).block_bytes;
    copy.resize(size_t(ref.cols * size));
    const std::byte* first = tensor->bytes.data() + (stored / outputs * ref.cols * outputs + stored % outputs) * size;
    for (int64_t i = 0; i < ref.cols; ++i)
      std::memcpy(copy.data() + i * size, first + i * outputs * size, size_t(size));
    return copy.data();
  }
  // Elements 2i and 2i + 1 share a byte in the file; i and i + 16 share one in a block.
  const int64_t blocks = ref.cols / kMxfp4Elements;
  copy.resize(size_t(blocks * kMxfp4Bytes));
  const auto* nibbles = reinterpret_cast<const uint8_t*>(tensor->bytes.data()) + stored * blocks * 16;
  for (int64_t b = 0; b < blocks; ++b, nibbles += 16) {
    auto* out = reinterpret_cast<uint8_t*>(copy.data()) + b * kMxfp4Bytes;
    out[0] = uint8_t(exponents->bytes[size_t(stored * blocks + b)]);
    const auto element = [&](int i) { return uint8_t(i % 2 == 0 ? nibbles[i / 2] & 15 : nibbles[i / 2] >> 4); };
    for (int i = 0; i < 16; ++i) out[1 + i] = uint8_t(element(i) | element(i + 16) << 4);
  }
  return copy.data();
}

void ExpertMatrix::dequantize_row(int64_t row, std::span<float> out) const {
  std::vector<std::byte> copy;
  const QuantFormat& type = format_of(dtype());
  type.dequantize(row_bytes(row, copy), ref.cols / type.block_elements, out.data());
}

int64_t ExpertMatrix::panel_bytes() const { return format ? packed_panel_bytes(*format, ref.cols) : 0; }

void ExpertMatrix::pack(int panel, std::byte* out) const {
  std::array<const std::byte*, kLanes> rows{};
  std::array<std::vector<std::byte>, kLanes> copies;
  std::vector<float> values;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int64_t row = int64_t(panel) * kLanes + lane;
    if (row >= ref.rows) break;
    std::vector<std::byte>& copy = copies[size_t(lane)];
    rows[size_t(lane)] = row_bytes(row, copy);
    if (!ref.pack_as) continue;
    values.resize(size_t(ref.cols));
    dequantize_row(row, values);
    const QuantFormat& type = format_of(*ref.pack_as);
    // A row that the type cannot hold is NaN from end to end (a half of all ones is one): experts are packed in the middle of a step, which has
    // no way to fail, and the answer must not look right.
    copy.assign(size_t(ref.cols / type.block_elements * type.block_bytes), std::byte(0xff));
    std::vector<std::byte> packed(copy.size());
    if (quantize_row(*ref.pack_as, values, packed.data())) copy = std::move(packed);
    rows[size_t(lane)] = copy.data();
  }
  pack_panel(*format, rows, ref.cols, out);
}

Result<ExpertWeights> ExpertWeights::load(const Plan& plan, const PlanMoe& moe, const TensorFinder& find, bool exact,
                                          int shares) {
  ExpertWeights weights;
  ANEDVD_TRY(weights.gate_, find_matrices(plan, moe.gate, find, exact));
  ANEDVD_TRY(weights.up_, find_matrices(plan, moe.up, find, exact));
  ANEDVD_TRY(weights.down_, find_matrices(plan, moe.down, find, exact));
  const int inner = panels_of(weights.gate_[0].ref.rows), outer = panels_of(weights.down_[0].ref.rows);
  const size_t experts = weights.gate_.size();
  for (int i = 0; i < shares; ++i) {
    Share share;
    // Whole blocks of 32: a thread quantises its part of the inner activations by itself.
    const auto [first, last] = share_of((inner + 1) / 2, i, shares);
    share.first = 2 * first;
    share.count = std::min(2 * last, inner) - share.first;
    const auto [first_down, last_down] = share_of(outer, i, shares);
    share.first_down = first_down;
    share.count_down = last_down - first_down;
    int64_t bytes = 0;
    for (size_t e = 0; e < experts; ++e) {
      share.offset.push_back(bytes);
      bytes += share.count * weights.inner_stride(int(e)) + share.count_down * weights.down_[e].panel_bytes();
    }
    ANEDVD_TRY(share.arena, HugeBuffer::reserve(size_t(bytes)));
    share.is_inner_packed.assign(experts, 0);
    share.is_down_packed.assign(experts, 0);
    weights.shares_.push_back(std::move(share));
  }
  return weights;
}

uint64_t ExpertWeights::packed_bytes() const {
  uint64_t bytes = 0;
  for (const Share& share : shares_) bytes += share.arena.size();
  return bytes;
}

std::byte* ExpertWeights::inner(int expert, int number) {
  Share& share = shares_[size_t(number)];
  std::byte* base = share.arena.data() + share.offset[size_t(expert)];
  if (share.is_inner_packed[size_t(expert)] != 0) return base;
  share.is_inner_packed[size_t(expert)] = 1;
  const ExpertMatrix& gate = gate_[size_t(expert)];
  const ExpertMatrix& up = up_[size_t(expert)];
  for (int p = 0; p < share.count; ++p) {
    std::byte* panel = base + p * inner_stride(expert);
    if (gate.format) gate.pack(share.first + p, panel);
    if (up.format) up.pack(share.first + p, panel + gate.panel_bytes());
  }
  release(gate, share.first, share.count);
  release(up, share.first, share.count);
  return base;
}

ExpertPanels ExpertWeights::gate(int expert, int number) {
  const Share& share = shares_[size_t(number)];
  return {&gate_[size_t(expert)], share.first, share.count, inner(expert, number), inner_stride(expert)};
}

ExpertPanels ExpertWeights::up(int expert, int number) {
  const Share& share = shares_[size_t(number)];
  const std::byte* base = inner(expert, number) + gate_[size_t(expert)].panel_bytes();
  return {&up_[size_t(expert)], share.first, share.count, base, inner_stride(expert)};
}

ExpertPanels ExpertWeights::down(int expert, int number) {
  Share& share = shares_[size_t(number)];
  const ExpertMatrix& down = down_[size_t(expert)];
  std::byte* base = share.arena.data() + share.offset[size_t(expert)] + share.count * inner_stride(expert);
  if (down.format && share.is_down_packed[size_t(expert)] == 0) {
    share.is_down_packed[size_t(expert)] = 1;
    for (int p = 0; p < share.count_down; ++p) down.pack(share.first_down + p, base + p * down.panel_bytes());
    release(down, share.first_down, share.count_down);
  }
  return {&down, share.first_down, share.count_down, base, down.panel_bytes()};
}

}  // namespace anedvd
