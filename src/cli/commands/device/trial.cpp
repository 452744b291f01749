#include "cli/commands/device/trial.h"

#include <algorithm>
#include <numeric>

#include "base/machine/processor.h"
#include "base/words.h"
#include "cli/commands/device/middle.h"
#include "cli/devices.h"
#include "cli/option_groups.h"
#include "cpu/cpu_host_ops.h"
#include "device/random_plan.h"

namespace anedvd {
namespace {

// The weight and the embedding of RandomPlan::linear.
std::span<const float> floats_of(const RandomPlan& model, int weight) {
  const TensorView* tensor = model.finder()(model.plan().weights[size_t(weight)].tensor);
  return {reinterpret_cast<const float*>(tensor->bytes.data()), tensor->bytes.size() / sizeof(float)};
}

}  // namespace

std::string time_words(const Trial& trial) { return (trial.is_simulated ? "simulated times, " : "") + trial.machine; }

std::vector<OptionSpec> trial_options(std::string_view size) {
  return join({{{.name = "--size",
                 .group = OptionGroup::kMeasure,
                 .kind = OptionKind::kInteger,
                 .value = "N",
                 .help = "rows and columns of the matrix",
                 .fallback = size,
                 .low = 1,
                 .high = 65536,
                 .example = "1024"},
                reps_option()},
               json_option(),
               runtime_options()});
}

Result<Trial> try_linear(const Args& args, const TrialShape& shape) {
  ANEDVD_TRY(const RandomPlan random, RandomPlan::linear(shape.rows, shape.cols, shape.columns, 7));
  const KvLayout layout(random.plan().cache);
  ANEDVD_TRY(AneOptions options, ane_options_of(args));
  options.width = shape.width;
  const int threads = int(args.integer("--threads").value_or(usable_cores()));
  ANEDVD_TRY(auto driver, open_driver(args, threads));
  ANEDVD_TRY(auto host, make_host_ops(random.plan(), layout, random.finder(), {threads, shape.width, false}));
  ANEDVD_TRY(const auto model,
             AneModel::make(random.plan(), random.finder(), std::move(driver), options, std::move(host)));
  if (model->device().counters().host_programs > 0)
    return fail(ErrorCode::kDevice, "a matrix of {} × {}: {}", with_commas(shape.rows), with_commas(shape.cols),
                model->device().counters().refusals.empty() ? "refused" : model->device().counters().refusals[0]);
  std::vector<int32_t> tokens(static_cast<size_t>(shape.columns));
  std::iota(tokens.begin(), tokens.end(), 0);
  Slice slice;
  slice.tokens = tokens;
  slice.want_all_logits = true;
  std::vector<double> times;
  Trial trial;
  trial.machine = model->driver().machine();
  for (int i = 0; i < shape.repetitions; ++i) {
    const AneTimes before = model->executable().statistics().all;
    ANEDVD_TRY_VOID(model->run({&slice, 1}));
    const AneTimes& after = model->executable().statistics().all;
    const uint64_t simulated = after.simulated_nanoseconds - before.simulated_nanoseconds;
    trial.is_simulated = simulated > 0;
    times.push_back(double(trial.is_simulated ? simulated : after.device_nanoseconds - before.device_nanoseconds) /
                    1e3);
  }
  trial.microseconds = middle_of(std::move(times));
  const auto embedding = floats_of(random, 0), weight = floats_of(random, 1);
  std::vector<float> wanted(static_cast<size_t>(shape.rows));
  for (int c = 0; c < shape.columns; ++c) {
    for (int r = 0; r < shape.rows; ++r) {
      double sum = 0;
      for (int k = 0; k < shape.cols; ++k)
        sum += double(weight[size_t(r) * size_t(shape.cols) + size_t(k)]) *
               double(embedding[size_t(c) * size_t(shape.cols) + size_t(k)]);
      wanted[size_t(r)] = float(sum);
    }
    trial.difference.add(model->logits(c), wanted);
  }
  return trial;
}

}  // namespace anedvd
