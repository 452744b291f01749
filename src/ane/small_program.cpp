#include "ane/small_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "ane/patience.h"
#include "ane/weight_blob.h"
#include "base/half.h"

namespace anedvd {
namespace {

constexpr int64_t kSmallestSurface = 65536;

size_t common_bytes(const std::vector<TensorLayout>& tensors) {
  int64_t bytes = kSmallestSurface;
  for (const TensorLayout& tensor : tensors) bytes = std::max(bytes, tensor.bytes);
  return size_t(bytes);
}

DriverResult<std::vector<Binding>> bind_side(Driver& driver, const std::vector<TensorLayout>& tensors, size_t bytes,
                                             std::vector<std::unique_ptr<Surface>>& surfaces) {
  if (bytes == 0) bytes = common_bytes(tensors);
  std::vector<Binding> bindings;
  for (const TensorLayout& tensor : tensors) {
    auto surface = driver.make_surface(bytes == SmallProgram::kExactSurfaces ? size_t(tensor.bytes) : bytes);
    if (!surface) return tl::unexpected(surface.error());
    surfaces.push_back(std::move(*surface));
    bindings.push_back({tensor.symbol, surfaces.back().get()});
  }
  return bindings;
}

}  // namespace

DriverResult<std::unique_ptr<SmallProgram>> SmallProgram::make(Driver& driver, const std::string& text,
                                                               WeightFile weights, std::vector<DeclaredTensor> inputs,
                                                               std::vector<DeclaredTensor> outputs,
                                                               size_t surface_bytes, std::string_view function) {
  auto staged = driver.stage(text, std::move(weights), DictionaryContent::kDigest);
  if (!staged) return tl::unexpected(staged.error());
  if (auto compiled = (*staged)->compile(); !compiled) return tl::unexpected(compiled.error());
  auto loaded = (*staged)->load();
  if (!loaded) return tl::unexpected(loaded.error());
  return of(driver, std::move(*loaded), std::move(inputs), std::move(outputs), surface_bytes, function);
}

DriverResult<std::unique_ptr<SmallProgram>> SmallProgram::of(Driver& driver, std::unique_ptr<LoadedProgram> loaded,
                                                             std::vector<DeclaredTensor> inputs,
                                                             std::vector<DeclaredTensor> outputs, size_t surface_bytes,
                                                             std::string_view function) {
  auto made = std::make_unique<SmallProgram>();
  made->loaded_ = std::move(loaded);
  auto layout = find_layout(made->loaded_->attributes(), function, inputs, outputs);
  if (!layout) return tl::unexpected(own_failure(layout.error().message));
  made->layout_ = std::move(*layout);
  auto in = bind_side(driver, made->layout_.inputs, surface_bytes, made->inputs_);
  if (!in) return tl::unexpected(in.error());
  auto out = bind_side(driver, made->layout_.outputs, surface_bytes, made->outputs_);
  if (!out) return tl::unexpected(out.error());
  if (auto bound = made->loaded_->bind(*in, *out, made->layout_.procedure); !bound)
    return tl::unexpected(bound.error());
  return made;
}

DriverResult<> SmallProgram::evaluate_again() {
  const auto start = std::chrono::steady_clock::now();
  if (auto done = loaded_->evaluate(); !done) return done;
  const double real = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  const uint64_t simulated = loaded_->simulated_nanoseconds();
  microseconds_ = simulated > 0 ? double(simulated) / 1e3 : real;
  return {};
}

DriverResult<std::vector<Plane>> SmallProgram::run(const std::vector<Plane>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto memory = inputs_[i]->lock(Surface::Access::kWrite);
    if (!memory) return tl::unexpected(memory.error());
    const TensorLayout& layout = layout_.inputs[i];
    for (int64_t c = 0; c < layout.channels; ++c)
      for (int64_t w = 0; w < layout.width; ++w) {
        const uint16_t half = float_to_half(inputs[i][size_t(c * layout.width + w)]);
        const size_t at = size_t(c * layout.plane_stride + 2 * w);
        if (at + 2 <= memory->size()) std::memcpy(memory->data() + at, &half, 2);
      }
    if (auto unlocked = inputs_[i]->unlock(Surface::Access::kWrite); !unlocked) return tl::unexpected(unlocked.error());
  }
  if (auto done = evaluate_again(); !done) return tl::unexpected(done.error());
  std::vector<Plane> results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    auto memory = outputs_[i]->lock(Surface::Access::kRead);
    if (!memory) return tl::unexpected(memory.error());
    const TensorLayout& layout = layout_.outputs[i];
    Plane plane;
    for (int64_t c = 0; c < layout.channels; ++c)
      for (int64_t w = 0; w < layout.width; ++w) {
        uint16_t half = 0;
        const size_t at = size_t(c * layout.plane_stride + 2 * w);
        if (at + 2 <= memory->size()) std::memcpy(&half, memory->data() + at, 2);
        plane.push_back(half_to_float(half));
      }
    results.push_back(std::move(plane));
    if (auto unlocked = outputs_[i]->unlock(Surface::Access::kRead); !unlocked) return tl::unexpected(unlocked.error());
  }
  return results;
}

DriverResult<std::vector<Plane>> SmallProgram::run_patiently(const std::vector<Plane>& inputs) {
  const Patience patience;
  for (int attempt = 1;; ++attempt) {
    auto ran = run(inputs);
    if (ran || attempt == patience.evaluate_tries || kind_of(ran.error()) != FailureKind::kCancelledByPower) return ran;
    patience.wait(patience.evaluate_pause);
  }
}

Result<SmallWeights> write_records(const Driver& driver, const std::vector<BlobRecordData>& records) {
  ANEDVD_TRY(WeightFileWriter writer, WeightFileWriter::create(driver.scratch_folder(), uint32_t(records.size())));
  SmallWeights weights;
  for (const BlobRecordData& record : records) {
    ANEDVD_TRY(const uint64_t offset, writer.begin(record.type, record.elements));
    weights.offsets.push_back(offset);
    ANEDVD_TRY_VOID(writer.append(record.bytes));
  }
  ANEDVD_TRY(weights.file, writer.finish());
  return weights;
}

Result<SmallWeights> write_matrices(const Driver& driver, const std::vector<std::vector<float>>& matrices) {
  std::vector<BlobRecordData> records;
  for (const auto& matrix : matrices) {
    std::vector<uint16_t> halves(matrix.size());
    ANEDVD_TRY_VOID(to_weight_halves(matrix, halves));
    const auto bytes = std::as_bytes(std::span(halves));
    records.push_back({BlobType::kFp16, halves.size(), {bytes.begin(), bytes.end()}});
  }
  return write_records(driver, records);
}

std::string conv_text(MilDialect dialect, int rows, int cols, int width, uint64_t offset) {
  MilFunction function(dialect, width);
  const int64_t shape[] = {rows, cols, 1, 1};
  const std::string out[] = {function.conv(function.weight(shape, offset), "i00", rows, "o00")};
  const DeclaredTensor in{"i00", cols, width};
  return function.program({&in, 1}, out);
}

std::string unary_text(MilDialect dialect, std::string_view op, int channels, int width,
                       const std::vector<std::pair<std::string_view, float>>& halves) {
  MilFunction function(dialect, width);
  std::vector<Argument> arguments;
  for (const auto& [name, value] : halves) arguments.emplace_back(name, function.half(value));
  arguments.emplace_back("x", "i00");
  const std::string out[] = {function.statement(op, arguments, channels, "o00")};
  const DeclaredTensor in{"i00", channels, width};
  return function.program({&in, 1}, out);
}

}  // namespace anedvd
