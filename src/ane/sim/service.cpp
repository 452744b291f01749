#include "ane/sim/service.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "ane/sim/cost.h"
#include "ane/sim/graph.h"
#include "ane/sim/interpreter.h"
#include "ane/sim/pool.h"
#include "ane/sim/rules.h"
#include "base/half.h"
#include "base/mapped_file.h"
#include "base/sha256.h"

namespace anedvd::sim {
namespace {

constexpr std::string_view kModelPath = "@model_path/";

struct Compiled {
  std::filesystem::path folder;
  std::vector<std::unique_ptr<Interpreter>> procedures;
  ModelAttributes attributes;
  int64_t weight_bytes = 0;
};

struct Loaded {
  std::shared_ptr<const Compiled> program;
  std::string id;
  Place place;
  ModelAttributes attributes;
  bool is_doubtful = false;  // too large to be trusted: this load computes wrongly
};

// Files of a program's folder, mapped once; a path may not leave the folder.
class Folder {
 public:
  explicit Folder(std::filesystem::path root) : root_(std::move(root)) {}

  Result<std::span<const std::byte>> file(const std::string& path) {
    if (!path.starts_with(kModelPath) || path.find("..") != std::string::npos)
      return fail(ErrorCode::kBadFile, "weight path {} is not below @model_path", path);
    const std::string name = path.substr(kModelPath.size());
    if (const auto known = files_.find(name); known != files_.end()) return known->second.bytes();
    ANEDVD_TRY(MappedFile opened, MappedFile::open(root_ / name));
    return files_.emplace(name, std::move(opened)).first->second.bytes();
  }

 private:
  std::filesystem::path root_;
  std::map<std::string, MappedFile> files_;
};

// How many numbers of a channel's row lie in the memory: all, unless the rule about surfaces is off.
int64_t row_in(std::span<const std::byte> memory, const LiveTensor& tensor, int64_t channel) {
  return std::clamp((int64_t(memory.size()) - channel * tensor.plane_stride) / 2, int64_t(0), tensor.width);
}

Columns gather(std::span<const std::byte> memory, const LiveTensor& tensor) {
  Columns columns{tensor.channels, tensor.width, {}};
  columns.values.resize(size_t(tensor.channels * tensor.width));
  for (int64_t c = 0; c < tensor.channels; ++c) {
    const auto* row = reinterpret_cast<const uint16_t*>(memory.data() + c * tensor.plane_stride);
    const int64_t count = row_in(memory, tensor, c);
    for (int64_t w = 0; w < count; ++w) columns.column(w)[c] = half_to_float(row[w]);
  }
  return columns;
}

void scatter(const Columns& columns, const LiveTensor& tensor, std::span<std::byte> memory) {
  for (int64_t c = 0; c < tensor.channels; ++c) {
    auto* row = reinterpret_cast<uint16_t*>(memory.data() + c * tensor.plane_stride);
    const int64_t count = row_in(memory, tensor, c);
    for (int64_t w = 0; w < count; ++w) row[w] = float_to_half(columns.column(w)[c]);
  }
}

// The memory of a symbol; empty when nothing is bound to it.
std::span<std::byte> bound_to(std::span<const Bound> bound, const std::vector<std::string>& symbols,
                              const std::string& symbol) {
  for (const Bound& b : bound)
    if (b.symbol >= 0 && size_t(b.symbol) < symbols.size() && symbols[size_t(b.symbol)] == symbol) return b.memory;
  return {};
}

}  // namespace

struct Service::State {
  explicit State(Profile given) : profile(std::move(given)), pool(std::max(profile.threads, 1)) {}

  Profile profile;
  SpinPool pool;
  std::map<std::string, std::shared_ptr<const Compiled>> compiled;
  std::map<int, Loaded> loaded;
  int compiles = 0, loads = 0, evaluations = 0, next_handle = 1, doubtful_loads = 0;
  bool is_poisoned = false;
  int cancels_left = 0;
  uint64_t idle_nanoseconds = 0, last_nanoseconds = 0, stalled_nanoseconds = 0;
  std::mt19937_64 noise{1};  // fixed: two runs cost the same

  bool holds(const Rule& rule) const { return sim::holds(rule, profile); }

  // What compiles and cannot be evaluated, and what then spoils all other evaluations.
  Refusal refusal_at_run(const Interpreter& procedure) {
    if (is_poisoned) return refused_by(rule("poisons_the_process"), surface_too_small(profile));
    if (!procedure.fails_at_run()) return {};
    is_poisoned = procedure.is_poisonous() && holds(rule("poisons_the_process"));
    if (!holds(rule("fails_at_run")) && procedure.is_computable()) return {};
    return refused_by(is_poisoned ? rule("poisons_the_process") : rule("fails_at_run"), surface_too_small(profile));
  }

  // The fault that strikes call number `call` of the stage, if any.
  const Fault* fault(Stage stage, int call) const {
    for (const Fault& candidate : profile.faults)
      if (candidate.stage == stage && call >= candidate.after &&
          (candidate.times < 0 || call < candidate.after + candidate.times))
        return &candidate;
    return nullptr;
  }

  DriverResult<std::shared_ptr<const Compiled>> read(const std::filesystem::path& folder) const {
    Folder files(folder);
    const auto mil = files.file(std::string(kModelPath) + "model.mil");
    if (!mil) return tl::unexpected(cannot_lower(mil.error().message));
    const auto text = parse_mil({reinterpret_cast<const char*>(mil->data()), mil->size()});
    if (!text) return tl::unexpected(invalid_program(text.error().message));
    std::vector<Graph> graphs;
    const FileFinder finder = [&](const std::string& path) { return files.file(path); };
    for (const MilFunctionText& function : text->functions) {
      auto graph = build_graph(function, profile, finder);
      if (!graph) return tl::unexpected(graph.error());
      graphs.push_back(std::move(*graph));
    }
    if (const Refusal refusal = refusal_of(CompileCase{*text, graphs}, profile)) return tl::unexpected(*refusal);
    auto made = std::make_shared<Compiled>();
    made->folder = folder;
    made->attributes = attributes_of(graphs, profile);
    for (Graph& graph : graphs) {
      made->weight_bytes += graph.weight_bytes;
      auto interpreter = Interpreter::make(std::move(graph), profile);
      if (!interpreter) return tl::unexpected(interpreter.error());
      made->procedures.push_back(std::move(*interpreter));
    }
    return made;
  }

  static int width_of(const Graph& graph) {
    return graph.inputs.empty() ? 1 : int(graph.values[size_t(graph.inputs[0])].width());
  }

  // docs/ane.md#cost.
  uint64_t cost_of(const Interpreter& procedure) {
    const CostModel& cost = profile.cost;
    const Graph& graph = procedure.graph();
    // Where codes of 8 bits do not stream, twice as many bytes are read.
    ProgramCost program_cost{double(graph.weight_bytes + (cost.int8_streams ? 0 : graph.int8_weights)),
                             double(procedure.macs_per_column()), width_of(graph)};
    for (const GraphNode& node : graph.nodes)
      program_cost.is_slow_shape =
          program_cost.is_slow_shape || (node.op == "conv" && graph.values[size_t(node.out)].channels() % 4096 == 0 &&
                                         graph.values[size_t(node.inputs[0])].channels() % 4096 == 0);
    double total = nanoseconds(cost, program_cost, idle_nanoseconds > 0);
    total *= 1 + cost.slowdown * double(evaluations) / 1e5;
    if (cost.noise > 0) total *= std::exp(std::normal_distribution<double>(0, cost.noise)(noise));
    return uint64_t(total);
  }
};

Service::Service(Profile profile) : state_(std::make_unique<State>(std::move(profile))) {}
Service::~Service() = default;

const Profile& Service::profile() const { return state_->profile; }
uint64_t Service::last_nanoseconds() const { return state_->last_nanoseconds; }
int Service::compiles() const { return state_->compiles; }
int Service::loaded() const { return int(state_->loaded.size()); }

void Service::host_worked(uint64_t nanoseconds) {
  state_->idle_nanoseconds += nanoseconds;
  state_->stalled_nanoseconds -= std::min(state_->stalled_nanoseconds, nanoseconds);
  if (double(state_->idle_nanoseconds) >= state_->profile.idle_seconds * 1e9)
    state_->cancels_left = state_->profile.cancels_after_idle;
}

std::string Service::name_of(std::string_view mil, std::span<const std::byte> dictionary) {
  return fmt::format("{}_{}_{}", sha256_of(std::as_bytes(std::span(mil))), sha256_of(dictionary), sha256_of({}));
}

DriverResult<> Service::compile(const std::string& id, const std::filesystem::path& folder) {
  State& state = *state_;
  const int call = state.compiles++;
  if (const Fault* fault = state.fault(Stage::kCompile, call)) return tl::unexpected(fault->failure);
  // The ceiling says nothing of itself: programs that compiled before just stop compiling (docs/ane.md#budgets).
  if (call >= state.profile.max_compiles && state.holds(rule("compiles_of_a_process")))
    return tl::unexpected(refused_by(rule("compiles_of_a_process"), cannot_lower("Program too complex")));
  // A stalled service says no more than a ceiling does.
  if (state.stalled_nanoseconds > 0 && state.holds(rule("stalls_after_a_failure")))
    return tl::unexpected(refused_by(rule("stalls_after_a_failure"), cannot_lower("Program too complex")));
  auto made = state.read(folder);
  if (!made) {
    if (kind_of(made.error()) == FailureKind::kCannotLower)
      state.stalled_nanoseconds = uint64_t(state.profile.stall_seconds * 1e9);
    return tl::unexpected(made.error());
  }
  state.compiled[id] = std::move(*made);
  return {};
}

bool Service::is_compiled(const std::string& id) const { return state_->compiled.contains(id); }
void Service::purge(const std::string& id) { state_->compiled.erase(id); }

DriverResult<int> Service::load(const std::string& id) {
  State& state = *state_;
  const Fault* fault = state.fault(Stage::kLoad, state.loads++);
  if (fault != nullptr && !fault->no_attributes) return tl::unexpected(fault->failure);
  const auto compiled = state.compiled.find(id);
  if (compiled == state.compiled.end()) return tl::unexpected(too_large());
  Place place;
  if (state.holds(rule("loaded_at_a_time"))) {
    const bool is_shared = !state.profile.pool.empty();
    if (is_shared) place = Place::take(state.profile.pool, state.profile.max_loaded);
    if (int(state.loaded.size()) >= state.profile.max_loaded || (is_shared && !place.is_taken()))
      return tl::unexpected(refused_by(rule("loaded_at_a_time"), no_resources()));
  }
  if (state.profile.reloads_weights) {
    std::error_code ignored;
    if (std::filesystem::exists(compiled->second->folder / "model.mil", ignored))
      if (auto anew = state.read(compiled->second->folder)) compiled->second = std::move(*anew);
  }
  Loaded loaded{compiled->second, id, std::move(place), compiled->second->attributes, false};
  if (fault != nullptr) loaded.attributes = {};
  if (compiled->second->weight_bytes >= state.profile.doubtful_weight_bytes &&
      state.holds(rule("huge_programs_are_doubtful")))
    loaded.is_doubtful = state.doubtful_loads++ % 2 == 1;
  state.loaded.emplace(state.next_handle, std::move(loaded));
  return state.next_handle++;
}

void Service::unload(int handle) {
  const auto found = state_->loaded.find(handle);
  if (found == state_->loaded.end()) return;
  if (!state_->profile.keeps_compiled) state_->compiled.erase(found->second.id);
  state_->loaded.erase(found);
}

const ModelAttributes& Service::attributes(int handle) const {
  static const ModelAttributes kNone;
  const auto found = state_->loaded.find(handle);
  return found == state_->loaded.end() ? kNone : found->second.attributes;
}

DriverResult<> Service::evaluate(int handle, int procedure, std::span<const Bound> inputs,
                                 std::span<const Bound> outputs) {
  State& state = *state_;
  const Fault* fault = state.fault(Stage::kEvaluate, state.evaluations++);
  if (fault != nullptr && !fault->wrong_data) return tl::unexpected(fault->failure);
  if (state.cancels_left > 0 && state.holds(rule("cancelled_after_idle"))) {
    --state.cancels_left;
    return tl::unexpected(refused_by(rule("cancelled_after_idle"), cancelled_by_power()));
  }
  const auto found = state.loaded.find(handle);
  if (found == state.loaded.end()) return tl::unexpected(bad_request());
  const Compiled& program = *found->second.program;
  const ModelAttributes& attributes = program.attributes;
  const bool exists = procedure >= 0 && procedure < int(program.procedures.size());
  const RequestCase request{attributes, exists ? &attributes.procedures[size_t(procedure)] : nullptr, inputs, outputs};
  if (const Refusal refusal = refusal_of(request, state.profile)) return tl::unexpected(*refusal);
  if (!exists) return tl::unexpected(bad_request());
  const Interpreter& interpreter = *program.procedures[size_t(procedure)];
  if (const Refusal refusal = state.refusal_at_run(interpreter)) return tl::unexpected(*refusal);

  std::vector<Columns> columns;
  for (const LiveTensor& tensor : request.procedure->inputs)
    columns.push_back(gather(bound_to(inputs, attributes.input_symbols, tensor.symbol), tensor));
  columns = interpreter.evaluate(std::move(columns), state.pool);
  const bool is_wrong = fault != nullptr || found->second.is_doubtful;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (is_wrong)
      for (float& value : columns[i].values) value = 1 - value;
    const LiveTensor& tensor = request.procedure->outputs[i];
    scatter(columns[i], tensor, bound_to(outputs, attributes.output_symbols, tensor.symbol));
  }
  state.last_nanoseconds = state.cost_of(interpreter);
  state.idle_nanoseconds = 0;
  return {};
}

}  // namespace anedvd::sim
