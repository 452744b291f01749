#include "ane/ane_program.h"

#include <algorithm>
#include <cmath>

#include "ane/planar.h"
#include "ane/scaling.h"
#include "device/host_ops.h"

namespace anedvd {
namespace {

// No such minimum is known; surfaces of this size please every report that there is one (docs/ane.md#surface-sizes).
constexpr int64_t kSmallestSurface = 65536;
constexpr int64_t kPage = 16384;
constexpr float kBeyondHalf = 65536;  // what gather_planes makes of infinity at least

// One size for a group: also where equal sizes are not asked for, they are harmless.
int64_t surface_bytes(const std::vector<TensorLayout>& group) {
  int64_t bytes = kSmallestSurface;
  for (const TensorLayout& tensor : group) bytes = std::max(bytes, tensor.bytes);
  return (bytes + kPage - 1) / kPage * kPage;
}

std::vector<DeclaredTensor> declared(const std::vector<Port>& ports, int width) {
  std::vector<DeclaredTensor> tensors;
  for (const Port& port : ports) tensors.push_back({port.name, port.channels, width});
  return tensors;
}

// Surfaces and their bindings for one side of a program.
DriverResult<std::vector<Binding>> make_bindings(Driver& driver, const std::vector<TensorLayout>& tensors,
                                                 std::vector<std::unique_ptr<Surface>>& surfaces) {
  std::vector<Binding> bindings;
  for (const TensorLayout& tensor : tensors) {
    auto surface = driver.make_surface(size_t(surface_bytes(tensors)));
    if (!surface) return tl::unexpected(surface.error());
    if (int64_t((*surface)->bytes()) < tensor.bytes)
      return tl::unexpected(own_failure(fmt::format("tensor \"{}\" needs {} bytes, its surface has {}", tensor.name,
                                                    tensor.bytes, (*surface)->bytes())));
    surfaces.push_back(std::move(*surface));
    bindings.push_back({tensor.symbol, surfaces.back().get()});
  }
  return bindings;
}

}  // namespace

Result<std::unique_ptr<AneProgram>> AneProgram::make(Driver& driver, std::unique_ptr<LoadedProgram> loaded,
                                                     MilProgram mil, int width, std::string id) {
  std::unique_ptr<AneProgram> made(new AneProgram(std::move(loaded), std::move(mil), width, std::move(id)));
  const std::string where = fmt::format("program {}", made->id_.substr(0, 16));
  const auto inputs = declared(made->mil_.inputs, width), outputs = declared(made->mil_.outputs, width);
  auto layout = find_layout(made->loaded_->attributes(), "main", inputs, outputs);
  if (!layout) return fail_in(where, layout.error());
  made->layout_ = std::move(*layout);
  const auto in = make_bindings(driver, made->layout_.inputs, made->inputs_);
  if (!in) return fail_device(where, in.error());
  const auto out = make_bindings(driver, made->layout_.outputs, made->outputs_);
  if (!out) return fail_device(where, out.error());
  if (const auto bound = made->loaded_->bind(*in, *out, made->layout_.procedure); !bound)
    return fail_device(where, bound.error());
  return made;
}

DriverResult<> AneProgram::write_inputs(std::span<float* const> values, int columns, const Plan& plan) {
  scales_.assign(size_t(columns), 1);
  if (mil_.row_norm > 0) {
    const ValueId input = mil_.inputs[0].parts[0].value;
    const int64_t dim = plan.values[size_t(input)].dim, stride = column_floats(int(dim));
    for (int c = 0; c < columns; ++c)
      scales_[size_t(c)] = column_scale(values[size_t(input)] + c * stride, dim, mil_.row_norm);
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    auto memory = inputs_[i]->lock(Surface::Access::kWrite);
    if (!memory) return tl::unexpected(memory.error());
    int64_t first = 0;
    for (const PortPart& part : mil_.inputs[i].parts) {
      const int64_t stride = column_floats(plan.values[size_t(part.value)].dim);
      scatter_planes(values[size_t(part.value)] + part.first_row, stride, first, part.rows, columns, scales_,
                     layout_.inputs[i], *memory);
      first += part.rows;
    }
    clear_planes(columns, filled_, layout_.inputs[i], *memory);
    if (auto unlocked = inputs_[i]->unlock(Surface::Access::kWrite); !unlocked) return unlocked;
  }
  filled_ = columns;
  return {};
}

DriverResult<> AneProgram::evaluate(const Patience& patience, int64_t& retries) {
  for (int attempt = 1;; ++attempt) {
    DriverResult<> done = loaded_->evaluate();
    if (done || attempt >= patience.evaluate_tries) return done;
    const bool again = kind_of(done.error()) == FailureKind::kCancelledByPower || says_transient(done.error());
    if (!again) return done;
    ++retries;
    patience.wait(patience.evaluate_pause);
  }
}

DriverResult<> AneProgram::read_outputs(std::span<float* const> values, int columns, const Plan& plan) {
  overflowed_.clear();
  std::vector<bool> is_bad(size_t(columns), false);
  undo_.resize(size_t(columns));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    auto memory = outputs_[i]->lock(Surface::Access::kRead);
    if (!memory) return tl::unexpected(memory.error());
    int64_t first = 0;
    for (const PortPart& part : mil_.outputs[i].parts) {
      const int64_t stride = column_floats(plan.values[size_t(part.value)].dim);
      const float undo = std::exp2f(float(-part.exponent));
      for (int c = 0; c < columns; ++c) undo_[size_t(c)] = undo / scales_[size_t(c)];
      const bool is_finite = gather_planes(*memory, layout_.outputs[i], first, part.rows, columns, undo_,
                                           values[size_t(part.value)] + part.first_row, stride);
      for (int c = 0; c < columns && !is_finite; ++c) {
        const float* column = values[size_t(part.value)] + part.first_row + c * stride;
        if (!std::all_of(column, column + part.rows,
                         [&](float value) { return std::abs(value) < kBeyondHalf * undo_[size_t(c)]; }))
          is_bad[size_t(c)] = true;
      }
      first += part.rows;
    }
    if (auto unlocked = outputs_[i]->unlock(Surface::Access::kRead); !unlocked) return unlocked;
  }
  for (int c = 0; c < columns; ++c)
    if (is_bad[size_t(c)]) overflowed_.push_back(c);
  return {};
}

DriverResult<> AneProgram::run(std::span<float* const> values, int columns, const Plan& plan, const Patience& patience,
                               int64_t& retries) {
  ANEDVD_CHECK(columns > 0 && columns <= width_, "{} columns in a program of {}", columns, width_);
  if (auto written = write_inputs(values, columns, plan); !written) return written;
  if (auto done = evaluate(patience, retries); !done) {
    done.error().program = id_;
    return done;
  }
  return read_outputs(values, columns, plan);
}

}  // namespace anedvd
