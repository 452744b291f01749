#include "ane/ane_executable.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "ane/times_memory.h"
#include "base/log.h"

namespace anedvd {
namespace {

uint64_t nanoseconds_since(std::chrono::steady_clock::time_point start) {
  return uint64_t(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
}

double between(const double (&at)[2], int columns, int width) {
  return width <= 1 ? at[0] : at[0] + (at[1] - at[0]) * double(columns - 1) / double(width - 1);
}

AneTimes operator-(const AneTimes& a, const AneTimes& b) {
  return {a.steps - b.steps, a.columns - b.columns, a.device_nanoseconds - b.device_nanoseconds,
          a.host_nanoseconds - b.host_nanoseconds, a.simulated_nanoseconds - b.simulated_nanoseconds};
}

void operator+=(AneTimes& sum, const AneTimes& more) {
  sum = {sum.steps + more.steps, sum.columns + more.columns, sum.device_nanoseconds + more.device_nanoseconds,
         sum.host_nanoseconds + more.host_nanoseconds, sum.simulated_nanoseconds + more.simulated_nanoseconds};
}

std::vector<int> ops_of(const AnePart& part) {
  return part.program != nullptr ? part.spec.ops : std::vector<int>{part.host_op};
}

}  // namespace

bool PartTimes::host_is_faster(int columns, int width) const {
  return host_us[0] > 0 && between(host_us, columns, width) < between(device_us, columns, width);
}

Result<std::unique_ptr<AneExecutable>> AneExecutable::make(Plan plan, const Partition& partition, TensorFinder find,
                                                           AneDevice& device, HostOps& host) {
  check_plan(plan);
  std::unique_ptr<AneExecutable> made(new AneExecutable(std::move(plan), std::move(find), device, host));
  ANEDVD_TRY(made->parts_, device.compile(made->plan_, partition, made->find_));
  std::vector<int> host_ops;
  for (const AnePart& part : made->parts_)
    if (part.program == nullptr) host_ops.push_back(part.host_op);
  ANEDVD_TRY_VOID(host.prepare(host_ops));
  made->share_rows();
  made->find_tail();
  if (device.options().measure) ANEDVD_TRY_VOID(made->measure());
  return made;
}

// One column and all columns, the shortest of some runs: what else the machine does only makes it longer.
Result<> AneExecutable::measure_part(AnePart& part) {
  constexpr int kRuns = 5;
  ANEDVD_TRY_VOID(host_.prepare(part.spec.ops));
  for (const int i : {0, 1}) {
    const int columns = i == 0 ? 1 : max_columns();
    const std::vector<HostColumn> at(size_t(columns), HostColumn{});
    double device = HUGE_VAL, host = HUGE_VAL;
    for (int run = 0; run < kRuns; ++run) {
      const auto start = std::chrono::steady_clock::now();
      const auto done =
          part.program->run(values_, columns, plan_, device_.options().patience, device_.counters().evaluate_retries);
      if (!done) return {};  // not measured: it stays where it is, and running it will tell
      const uint64_t real = nanoseconds_since(start), simulated = part.program->simulated_nanoseconds();
      device = std::min(device, double(simulated > 0 ? simulated : real) / 1e3);
      const auto host_start = std::chrono::steady_clock::now();
      ANEDVD_TRY_VOID(host_.run(part.spec.ops, {{}, at}, values_));
      host = std::min(host, double(nanoseconds_since(host_start)) / 1e3);
    }
    part.times.device_us[i] = device;
    part.times.host_us[i] = host;
  }
  return {};
}

// Times one program of each shape and places all of them. A program that the host runs faster at every width leaves the device.
Result<> AneExecutable::measure() {
  TimesMemory known(device_.options().times_file, fmt::format("{} · {} columns · {}", device_.driver().machine(),
                                                              max_columns(), device_.options().times_conditions));
  std::set<std::string> counted;
  for (AnePart& part : parts_) {
    if (part.program == nullptr || part.spec.is_sliced())
      continue;  // the host would compute every slice's linear whole
    std::string shape;
    for (const int index : part.spec.ops) {
      const Op& op = plan_.ops[size_t(index)];
      shape += fmt::format("{} {} {}|", op_name(op.kind), plan_.values[size_t(op.out)].dim,
                           op.in[0] >= 0 ? plan_.values[size_t(op.in[0])].dim : 0);
    }
    const PartTimes* found = known.find(shape);
    if (counted.insert(shape).second) {
      AneCounters& counters = device_.counters();
      (found == nullptr ? counters.measured_shapes : counters.remembered_shapes) += 1;
    }
    if (found == nullptr) {
      ANEDVD_TRY_VOID(measure_part(part));
      // What could not be measured is tried again next time.
      if (part.times.host_us[1] > 0) known.keep(shape, part.times);
    } else {
      part.times = *found;
    }
    part.times.shape = shape;
    const bool at_one = part.times.host_is_faster(1, max_columns());
    const bool at_all = part.times.host_is_faster(max_columns(), max_columns());
    if (at_one || at_all) ANEDVD_TRY_VOID(host_.prepare(part.spec.ops));
    if (at_one && at_all) {
      part.program.reset();
      --device_.counters().loaded;
    }
  }
  if (device_.counters().measured_shapes > 0)
    if (const auto saved = known.save(); !saved) warn("{}", saved.error().message);
  return {};
}

// Gives every value rows; values of one size whose lives do not meet share them. A program's inner values live while it runs: the host may have to
// do its work.
void AneExecutable::share_rows() {
  std::vector<size_t> last_part(plan_.values.size(), 0);
  for (size_t i = 0; i < parts_.size(); ++i)
    for (const int op : ops_of(parts_[i])) {
      last_part[size_t(plan_.ops[size_t(op)].out)] = std::max(last_part[size_t(plan_.ops[size_t(op)].out)], i);
      for (const ValueId in : plan_.ops[size_t(op)].in)
        if (in >= 0) last_part[size_t(in)] = i;
    }
  last_part[size_t(plan_.logits)] = parts_.size();
  values_.assign(plan_.values.size(), nullptr);
  std::map<int, std::vector<float*>> free;  // by dim
  std::vector<ValueId> living;
  for (size_t i = 0; i < parts_.size(); ++i) {
    for (const int op : ops_of(parts_[i])) {
      const ValueId out = plan_.ops[size_t(op)].out;
      if (values_[size_t(out)] != nullptr) continue;  // another slice of it
      const int dim = plan_.values[size_t(out)].dim;
      if (free[dim].empty()) {
        rows_.emplace_back(size_t(column_floats(dim)) * size_t(max_columns()));
        free[dim].push_back(rows_.back().data());
      }
      values_[size_t(out)] = free[dim].back();
      free[dim].pop_back();
      living.push_back(out);
    }
    std::erase_if(living, [&](ValueId value) {
      if (last_part[size_t(value)] > i) return false;
      free[plan_.values[size_t(value)].dim].push_back(values_[size_t(value)]);
      return true;
    });
  }
}

void AneExecutable::find_tail() {
  for (size_t i = 0; i < parts_.size(); ++i)
    for (const int op : ops_of(parts_[i]))
      if (plan_.ops[size_t(op)].kind == OpKind::kAttention) tail_ = i + 1;
  std::vector<bool> is_early(plan_.values.size(), false);
  for (size_t i = 0; i < tail_; ++i)
    for (const int op : ops_of(parts_[i])) is_early[size_t(plan_.ops[size_t(op)].out)] = true;
  for (size_t i = tail_; i < parts_.size(); ++i)
    for (const int op : ops_of(parts_[i]))
      for (const ValueId in : plan_.ops[size_t(op)].in)
        if (in >= 0 && is_early[size_t(in)] &&
            std::find(live_at_tail_.begin(), live_at_tail_.end(), in) == live_at_tail_.end())
          live_at_tail_.push_back(in);
}

void AneExecutable::take(std::span<const Slice> slices) {
  columns_.clear();
  wanted_.clear();
  for (int s = 0; s < int(slices.size()); ++s) {
    const Slice& slice = slices[size_t(s)];
    for (int i = 0; i < int(slice.tokens.size()); ++i) {
      const bool is_last = i + 1 == int(slice.tokens.size());
      if (slice.want_all_logits || (is_last && slice.want_last_logits)) wanted_.push_back(int(columns_.size()));
      columns_.push_back({s, slice.first_position + i, slice.tokens[size_t(i)]});
    }
  }
  ANEDVD_CHECK(!columns_.empty() && int(columns_.size()) <= max_columns(), "{} columns in a step of at most {}",
               columns_.size(), max_columns());
}

// Behind the last attention no column needs another: those that nobody asked for stop here.
void AneExecutable::keep_wanted_columns() {
  if (wanted_.size() == columns_.size()) return;
  for (size_t i = 0; i < wanted_.size(); ++i) columns_[i] = columns_[size_t(wanted_[i])];
  columns_.resize(wanted_.size());
  for (const ValueId value : live_at_tail_) {
    const int64_t dim = column_floats(plan_.values[size_t(value)].dim);
    for (size_t i = 0; i < wanted_.size(); ++i)  // ascending: a row never overwrites one still to be read
      if (wanted_[i] != int(i))
        std::copy_n(values_[size_t(value)] + wanted_[i] * dim, dim, values_[size_t(value)] + int64_t(i) * dim);
  }
}

Result<> AneExecutable::run_host_ops(std::span<const int> ops, const HostStep& step, std::span<float* const> values) {
  const TraceSpan span(trace_, 0, op_name(plan_.ops[size_t(ops[0])].kind), "host", int(step.columns.size()));
  const auto start = std::chrono::steady_clock::now();
  ANEDVD_TRY_VOID(host_.run(ops, step, values));
  const uint64_t time = nanoseconds_since(start);
  statistics_.all.host_nanoseconds += time;
  device_.driver().host_worked(time);
  return {};
}

Result<> AneExecutable::run_on_host(const ProgramSpec& spec, const HostStep& step) {
  // A slice's linear is computed whole: rows that other slices wrote are written again with the same meaning.
  ANEDVD_TRY_VOID(host_.prepare(spec.ops));
  return run_host_ops(spec.ops, step, values_);
}

// One by one, so that a column's result depends on no other's.
Result<> AneExecutable::run_overflowed(const AnePart& part, const HostStep& step) {
  ANEDVD_TRY_VOID(host_.prepare(part.spec.ops));
  std::vector<float*> values(values_.size());
  for (const int c : part.program->overflowed()) {
    for (size_t v = 0; v < values.size(); ++v)
      values[v] = values_[v] == nullptr ? nullptr : values_[v] + c * column_floats(plan_.values[v].dim);
    ANEDVD_TRY_VOID(run_host_ops(part.spec.ops, {step.slices, step.columns.subspan(size_t(c), 1)}, values));
  }
  return {};
}

// For traces: its first weight, as the phases of the CPU are named.
std::string_view AneExecutable::name_of(const AnePart& part) const {
  for (const int op : part.spec.ops)
    if (const WeightId weight = plan_.ops[size_t(op)].weight; weight >= 0) return plan_.weights[size_t(weight)].tensor;
  return "program";
}

Result<> AneExecutable::run_program(AnePart& part, const HostStep& step) {
  const std::string_view name = trace_ == nullptr ? std::string_view() : name_of(part);
  const TraceSpan span(trace_, 0, name, "program", int(step.columns.size()));
  for (int attempt = 1;; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    const auto done = part.program->run(values_, int(step.columns.size()), plan_, device_.options().patience,
                                        device_.counters().evaluate_retries);
    statistics_.all.device_nanoseconds += nanoseconds_since(start);
    ++statistics_.evaluations;
    if (done) break;
    ++statistics_.failures;
    statistics_.last_failure = words_of(done.error());
    const FailureKind kind = kind_of(done.error());
    const std::string ops = fmt::format("{} operations, {} first", part.program->mil().ops.size(),
                                        part.program->mil().ops.empty() ? "none" : part.program->mil().ops[0]);
    warn("ane: a program failed ({}): {}", ops, statistics_.last_failure);
    if (kind == FailureKind::kTimeout && attempt == 1) {
      part.program.reset();  // unloads it: two of a kind would share a name
      if (auto anew = device_.rebuild(plan_, part.spec, find_)) {
        part.program = std::move(*anew);
        continue;
      }
    }
    part.program.reset();
    return {};
  }
  statistics_.all.simulated_nanoseconds += part.program->simulated_nanoseconds();
  return {};
}

Result<> AneExecutable::run(std::span<const Slice> slices) {
  take(slices);
  const AneTimes before = statistics_.all;
  ++statistics_.all.steps;
  statistics_.all.columns += int64_t(columns_.size());
  const bool is_single = columns_.size() == 1;
  const TraceSpan span(trace_, 0, "step", "step", int(columns_.size()));
  ANEDVD_TRY_VOID(run_parts(slices));
  if (is_single) statistics_.single += statistics_.all - before;
  return {};
}

Result<> AneExecutable::run_parts(std::span<const Slice> slices) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (i == tail_) {
      keep_wanted_columns();
      if (columns_.empty()) return {};
    }
    AnePart& part = parts_[i];
    const HostStep step{slices, columns_};
    if (part.host_op >= 0) {
      // Neighbours are one job of the host's threads.
      host_run_.clear();
      for (; i < parts_.size() && parts_[i].host_op >= 0 && (host_run_.empty() || i != tail_); ++i) {
        if (observer_ && !host_run_.empty()) break;  // who observes wants each by itself
        host_run_.push_back(parts_[i].host_op);
      }
      --i;
      ANEDVD_TRY_VOID(run_host_ops(host_run_, step, values_));
      if (observer_) observer_(parts_[i], values_, int(columns_.size()));
      continue;
    }
    const bool is_placed = part.times.host_is_faster(int(columns_.size()), max_columns());
    statistics_.placed_on_host += is_placed ? 1 : 0;
    if (part.program != nullptr && !is_placed) ANEDVD_TRY_VOID(run_program(part, step));
    if (part.program == nullptr || is_placed) {
      ANEDVD_TRY_VOID(run_on_host(part.spec, step));
    } else if (!part.program->overflowed().empty()) {
      ++statistics_.overflowed;
      ANEDVD_TRY_VOID(run_overflowed(part, step));
    }
    if (observer_) observer_(part, values_, int(columns_.size()));
  }
  return {};
}

std::span<const float> AneExecutable::logits(int i) const {
  return {values_[size_t(plan_.logits)] + int64_t(i) * column_floats(plan_.vocab), size_t(plan_.vocab)};
}

}  // namespace anedvd
