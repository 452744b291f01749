#include "convert/write_gguf.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "base/machine/spin_pool.h"
#include "base/mapped_file.h"
#include "base/words.h"
#include "tensor/quantize.h"

namespace anedvd {
namespace {

constexpr int64_t kBatchElements = int64_t(4) << 20;  // 16 MB of floats at most pass through the threads at once
constexpr uint32_t kQuantizationVersion = 2;          // ggml's GGML_QNT_VERSION
constexpr float kLargestHalf = 65504;

// Which numbers a matrix of each kind has: attn_v of the third layer that has one is 2 of so many.
std::map<std::string, int, std::less<>> count_kinds(const Outline& outline) {
  std::map<std::string, int, std::less<>> counts;
  for (const OutTensor& tensor : outline.tensors) ++counts[std::string(tensor_kind(tensor.name))];
  return counts;
}

std::vector<WrittenTensor> choose_types(const Outline& outline, const Recipe& recipe) {
  const auto counts = count_kinds(outline);
  // Ordinals follow the layers, whatever the order of tensors in the file: "blk.10" sorts behind "blk.9" by length first.
  std::vector<size_t> order(outline.tensors.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const std::string &x = outline.tensors[a].name, &y = outline.tensors[b].name;
    return x.size() != y.size() ? x.size() < y.size() : x < y;
  });
  std::map<std::string, int, std::less<>> seen;
  std::vector<WrittenTensor> chosen(order.size());
  for (const size_t i : order) {
    const OutTensor& tensor = outline.tensors[i];
    const std::string kind(tensor_kind(tensor.name));
    const auto type =
        choose_type(recipe, outline.model, tensor.name, tensor.shape, seen[kind]++, counts.find(kind)->second);
    const DType from = tensor.parts.empty() ? DType::kF32 : tensor.parts[0].tensor->dtype;
    const ChosenType kept{tensor.kept, tensor.kept};
    chosen[i] = {tensor.name, from, type.value_or(kept).wanted, type.value_or(kept).used, tensor.shape.back()};
  }
  return chosen;
}

// F16 would turn a number beyond its range into infinity without a word.
Result<> check_fits_half(std::span<const float> values) {
  for (const float value : values)
    if (std::isfinite(value) && std::fabs(value) > kLargestHalf)
      return fail(ErrorCode::kNumeric, "a value of {} is too large for F16; choose BF16", value);
  return {};
}

// Quantises rows of one tensor and hands them to the writer in order.
class TensorCopy {
 public:
  TensorCopy(const OutTensor& tensor, DType dtype, SpinPool& pool)
      : tensor_(tensor), dtype_(dtype), cols_(tensor.shape.back()), pool_(pool) {
    const QuantFormat& format = format_of(dtype);
    row_bytes_ = cols_ / format.block_elements * format.block_bytes;
  }

  Result<> run(const std::function<Result<>(std::span<const std::byte>)>& write) {
    const int64_t batch = std::max<int64_t>(1, kBatchElements / cols_);
    for (const RowPart& part : tensor_.parts) {
      for (int64_t first = 0; first < part.rows; first += batch) {
        const int64_t count = std::min(batch, part.rows - first);
        out_.resize(size_t(count * row_bytes_));
        pool_.run([&](int thread) { convert_share(part, first, count, thread); });
        if (failure_) return fail_in(fmt::format("tensor \"{}\"", visible(tensor_.name)), *std::move(failure_));
        ANEDVD_TRY_VOID(write(out_));
        // Rows of a head change places: what lies behind may still be read.
        if (part.heads == 0) MappedFile::release(part.tensor->row(part.first_row + first, count));
      }
    }
    return {};
  }

 private:
  void convert_share(const RowPart& part, int64_t first, int64_t count, int thread) {
    const int64_t begin = count * thread / pool_.threads(), end = count * (thread + 1) / pool_.threads();
    std::vector<float> row(static_cast<size_t>(cols_));
    for (int64_t i = begin; i < end; ++i) {
      std::byte* out = out_.data() + i * row_bytes_;
      const int64_t stored = part.stored_row(first + i);
      if (part.tensor->dtype == dtype_) {
        std::ranges::copy(part.tensor->row(stored), out);
        continue;
      }
      dequantize(*part.tensor, stored, 1, row);
      Result<> done = dtype_ == DType::kF16 ? check_fits_half(row) : Result<>();
      if (done) done = quantize_row(dtype_, row, out);
      if (done) continue;
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = fail_in(fmt::format("row {}", first + i), done.error()).value();
      return;
    }
  }

  const OutTensor& tensor_;
  const DType dtype_;
  const int64_t cols_;
  int64_t row_bytes_ = 0;
  SpinPool& pool_;
  std::vector<std::byte> out_;
  std::mutex failure_mutex_;
  std::optional<Error> failure_;  // guarded by failure_mutex_ while the pool runs
};

}  // namespace

Result<WrittenGguf> write_gguf(const Outline& outline, const Recipe& recipe, const std::filesystem::path& path,
                               const WriteOptions& options) {
  WrittenGguf written;
  written.tensors = choose_types(outline, recipe);
  GgufPairs pairs = outline.pairs;
  pairs.number<uint32_t>("general.file_type", recipe.file_type);
  pairs.number<uint32_t>("general.quantization_version", kQuantizationVersion);
  std::vector<GgufTensor> table;
  uint64_t total = 0, done = 0;
  for (size_t i = 0; i < outline.tensors.size(); ++i) {
    const OutTensor& tensor = outline.tensors[i];
    const QuantFormat& format = format_of(written.tensors[i].used);
    table.push_back({tensor.name, format.dtype, tensor.shape});
    // Shapes come from an opened file: their product is known to fit.
    uint64_t elements = 1;
    for (const int64_t dimension : tensor.shape) elements *= uint64_t(dimension);
    total += elements / uint64_t(format.block_elements) * uint64_t(format.block_bytes);
  }
  ANEDVD_TRY(GgufWriter writer, GgufWriter::create(path, pairs, table));
  const auto write = [&](std::span<const std::byte> bytes) -> Result<> {
    if (options.cancelled && options.cancelled())
      return fail(ErrorCode::kCancelled, "{}: interrupted; nothing was written", visible(path.string()));
    ANEDVD_TRY_VOID(writer.append(bytes));
    done += bytes.size();
    if (options.progress) options.progress(done, total);
    return {};
  };
  SpinPool pool(options.threads);
  for (size_t i = 0; i < outline.tensors.size(); ++i) {
    const OutTensor& tensor = outline.tensors[i];
    if (tensor.parts.empty()) {
      ANEDVD_TRY_VOID(write(std::as_bytes(std::span(tensor.values))));
      continue;
    }
    ANEDVD_TRY_VOID(TensorCopy(tensor, written.tensors[i].used, pool).run(write));
  }
  ANEDVD_TRY(written.bytes, writer.finish());
  return written;
}

}  // namespace anedvd
