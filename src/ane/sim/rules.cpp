#include "ane/sim/rules.h"

#include <algorithm>
#include <bit>
#include <set>

namespace anedvd::sim {
namespace {

constexpr int64_t kElementBytes = 2;
constexpr int64_t kRowAlignment = 64;

Refusal dialect_is_taken(const CompileCase& program, const Profile& profile) {
  const bool is_taken = program.text.is_verbose() ? profile.takes_verbose : profile.takes_terse;
  if (is_taken) return {};
  return invalid_program("version " + program.text.version);
}

Refusal one_weight_file(const CompileCase& program, const Profile& profile) {
  std::set<std::string> paths;
  for (const Graph& graph : program.graphs) paths.insert(graph.weight_paths.begin(), graph.weight_paths.end());
  if (paths.size() <= 1 || !profile.one_weight_file) return {};
  return invalid_bundle();
}

Refusal blob_slots(const CompileCase& program, const Profile& profile) {
  for (const Graph& graph : program.graphs) {
    const int most = profile.max_weight_tensors - (graph.has_scalar_operand && profile.scalar_takes_slot ? 1 : 0);
    if (graph.weight_tensors > most) return cannot_lower(fmt::format("{} weight tensors", graph.weight_tensors));
  }
  return {};
}

Refusal extents(const CompileCase& program, const Profile& profile) {
  for (const Graph& graph : program.graphs)
    for (const GraphValue& value : graph.values)
      if (value.type.shape.size() == 4 && value.width() > profile.max_extent)
        return cannot_lower(fmt::format("a width of {}", value.width()));
  return {};
}

Refusal out_channels(const CompileCase& program, const Profile& profile) {
  for (const Graph& graph : program.graphs)
    for (const GraphNode& node : graph.nodes)
      if (node.op == "conv" && graph.values[size_t(node.out)].channels() > profile.max_out_channels)
        return cannot_lower(fmt::format("{} output channels", graph.values[size_t(node.out)].channels()));
  return {};
}

Refusal program_bytes(const CompileCase& program, const Profile& profile) {
  int64_t bytes = 0;
  for (const Graph& graph : program.graphs) bytes += graph.weight_bytes;
  if (bytes <= profile.max_weight_bytes) return {};
  return cannot_lower(fmt::format("{} bytes of weights exceed the maximum {}", bytes, profile.max_weight_bytes));
}

Refusal outputs_are_live(const CompileCase& program, const Profile&) {
  for (const Graph& graph : program.graphs) {
    if (graph.outputs.empty() || graph.inputs.empty()) return invalid_program("a function without inputs or outputs");
    std::vector<bool> live(graph.values.size(), false);
    for (const int id : graph.outputs) live[size_t(id)] = true;
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
      if (!live[size_t(node->out)]) return cannot_lower(fmt::format("line {}: a result that nobody reads", node->line));
      for (const int id : node->inputs) live[size_t(id)] = true;
    }
    for (const int id : graph.inputs)
      if (!live[size_t(id)]) return cannot_lower("an input that nobody reads");
  }
  return {};
}

Refusal softmax_of_power_of_two(const CompileCase& program, const Profile& profile) {
  if (!profile.needs_softmax_power_of_two) return {};
  for (const Graph& graph : program.graphs)
    for (const GraphNode& node : graph.nodes) {
      if (node.op != "softmax") continue;
      const GraphValue& x = graph.values[size_t(node.inputs[0])];
      const int64_t length = node.parameters[0] == 1 ? x.channels() : x.width();
      if (!std::has_single_bit(uint64_t(length))) return invalid_program(fmt::format("softmax over {}", length));
    }
  return {};
}

Refusal procedures(const CompileCase& program, const Profile& profile) {
  if (int(program.graphs.size()) <= profile.max_procedures) return {};
  return cannot_lower(fmt::format("{} functions", program.graphs.size()));
}

constexpr CompileRule kCompileRules[] = {
    {rule("dialect_is_taken"), dialect_is_taken},
    {rule("outputs_are_live"), outputs_are_live},
    {rule("one_weight_file"), one_weight_file},
    {rule("blob_slots"), blob_slots},
    {rule("extents"), extents},
    {rule("out_channels"), out_channels},
    {rule("program_bytes"), program_bytes},
    {rule("softmax_of_power_of_two"), softmax_of_power_of_two},
    {rule("procedures"), procedures},
};

// nullptr: the procedure has none with this symbol, which is another rule's matter.
const LiveTensor* live_of(const std::vector<std::string>& symbols, const std::vector<LiveTensor>& live, int symbol) {
  if (symbol < 0 || size_t(symbol) >= symbols.size()) return nullptr;
  const auto found = std::find_if(live.begin(), live.end(),
                                  [&](const LiveTensor& tensor) { return tensor.symbol == symbols[size_t(symbol)]; });
  return found == live.end() ? nullptr : &*found;
}

bool names_each_once(std::span<const Bound> bound, const std::vector<int>& indices) {
  std::vector<int> given;
  for (const Bound& b : bound) given.push_back(b.symbol);
  std::vector<int> wanted = indices;
  std::sort(given.begin(), given.end());
  std::sort(wanted.begin(), wanted.end());
  return given == wanted;
}

Refusal symbols_are_the_procedures(const RequestCase& request, const Profile&) {
  if (request.procedure != nullptr && names_each_once(request.inputs, request.procedure->input_indices) &&
      names_each_once(request.outputs, request.procedure->output_indices))
    return {};
  return bad_request();
}

Refusal surfaces_hold_their_symbol(const RequestCase& request, const Profile& profile) {
  if (request.procedure == nullptr) return {};
  const auto holds = [&](const Bound& bound, const auto& symbols, const auto& live) {
    const LiveTensor* tensor = live_of(symbols, live, bound.symbol);
    return tensor == nullptr || int64_t(bound.memory.size()) >= tensor->batch_stride * tensor->batches;
  };
  for (const Bound& bound : request.inputs)
    if (!holds(bound, request.attributes.input_symbols, request.procedure->inputs)) return surface_too_small(profile);
  for (const Bound& bound : request.outputs)
    if (!holds(bound, request.attributes.output_symbols, request.procedure->outputs)) return surface_too_small(profile);
  return {};
}

Refusal surfaces_are_equal(const RequestCase& request, const Profile& profile) {
  if (!profile.equal_surfaces) return {};
  for (const auto group : {request.inputs, request.outputs})
    for (const Bound& bound : group)
      if (bound.memory.size() != group[0].memory.size()) return surface_too_small(profile);
  return {};
}

Refusal surfaces_reach_the_minimum(const RequestCase& request, const Profile& profile) {
  for (const auto group : {request.inputs, request.outputs})
    for (const Bound& bound : group)
      if (int64_t(bound.memory.size()) < profile.minimum_surface) return surface_too_small(profile);
  return {};
}

constexpr RequestRule kRequestRules[] = {
    {rule("symbols_are_the_procedures"), symbols_are_the_procedures},
    {rule("surfaces_hold_their_symbol"), surfaces_hold_their_symbol},
    {rule("surfaces_are_equal"), surfaces_are_equal},
    {rule("surfaces_reach_the_minimum"), surfaces_reach_the_minimum},
};

template <class Case, class CheckedRule>
Refusal first_refusal(const Case& given, std::span<const CheckedRule> rules, const Profile& profile) {
  for (const CheckedRule& candidate : rules) {
    if (!holds(candidate.rule, profile)) continue;
    if (const Refusal refusal = candidate.check(given, profile)) return refused_by(candidate.rule, *refusal);
  }
  return {};
}

DriverFailure service_failure(int code, std::optional<uint32_t> status, std::string text) {
  DriverFailure failure;
  failure.domain = "com.apple.appleneuralengine";
  failure.code = code;
  failure.status = status;
  failure.text = std::move(text);
  return failure;
}

}  // namespace

std::span<const CompileRule> compile_rules() { return kCompileRules; }
std::span<const RequestRule> request_rules() { return kRequestRules; }

Refusal refusal_of(const CompileCase& program, const Profile& profile) {
  return first_refusal(program, compile_rules(), profile);
}
Refusal refusal_of(const RequestCase& request, const Profile& profile) {
  return first_refusal(request, request_rules(), profile);
}

LiveTensor live_tensor(const GraphValue& value, bool is_output, const Profile& profile) {
  LiveTensor live;
  live.name = value.name;
  live.symbol = is_output ? value.name + "@output" : value.name;
  live.type = "Float16";
  live.batches = live.depth = live.height = live.interleave = 1;
  live.channels = live.plane_count = value.channels();
  live.width = value.width();
  const int64_t row = live.width * kElementBytes;
  live.row_stride =
      profile.rows_by_max ? std::max(row, kRowAlignment) : (row + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  live.plane_stride = live.row_stride;
  live.depth_stride = live.batch_stride = live.plane_stride * live.channels;
  return live;
}

ModelAttributes attributes_of(std::span<const Graph> graphs, const Profile& profile) {
  ModelAttributes attributes;
  std::set<std::string> inputs, outputs;
  for (const Graph& graph : graphs) {
    for (const int id : graph.inputs) inputs.insert(graph.values[size_t(id)].name);
    for (const int id : graph.outputs) outputs.insert(graph.values[size_t(id)].name + "@output");
  }
  attributes.input_symbols.assign(inputs.begin(), inputs.end());
  attributes.output_symbols.assign(outputs.begin(), outputs.end());
  const auto index_of = [](const std::vector<std::string>& symbols, const std::string& symbol) {
    return int(std::lower_bound(symbols.begin(), symbols.end(), symbol) - symbols.begin());
  };
  for (const Graph& graph : graphs) {
    ProcedureAttributes procedure;
    procedure.id = int(attributes.procedures.size());
    procedure.name = graph.name;
    for (const int id : graph.inputs) {
      procedure.inputs.push_back(live_tensor(graph.values[size_t(id)], false, profile));
      procedure.input_indices.push_back(index_of(attributes.input_symbols, procedure.inputs.back().symbol));
    }
    for (const int id : graph.outputs) {
      procedure.outputs.push_back(live_tensor(graph.values[size_t(id)], true, profile));
      procedure.output_indices.push_back(index_of(attributes.output_symbols, procedure.outputs.back().symbol));
    }
    std::sort(procedure.input_indices.begin(), procedure.input_indices.end());
    std::sort(procedure.output_indices.begin(), procedure.output_indices.end());
    attributes.procedures.push_back(std::move(procedure));
  }
  return attributes;
}

DriverFailure surface_too_small(const Profile& profile) {
  if (profile.newer_codes)
    return service_failure(42, 0x1d,
                           "Inference failed — IOSurface smaller than the model expects (re-check "
                           "inputBufferSize/outputBufferSize from the load reply)");
  return service_failure(8, std::nullopt, "ANEProgramProcessRequestDirect() Failed with status=0x1d : statusType=0x9");
}
DriverFailure bad_request() {
  return service_failure(8, std::nullopt, "ANEProgramProcessRequestDirect() Failed with status=0x16 : statusType=0x9");
}
DriverFailure cancelled_by_power() {
  return service_failure(
      8, std::nullopt, "ANEProgramProcessRequestDirect() Failed with status=0x12 : statusType=0x9: Request cancelled");
}
DriverFailure no_resources() {
  return service_failure(54, 0x5, "Program load failed — no ANE resources (transient; retry)");
}
DriverFailure no_memory() {
  return service_failure(53, 0x1, "Program load failed — no memory (transient; retry under lower memory pressure)");
}
DriverFailure too_large() {
  return service_failure(6, std::nullopt, "createProgramInstanceForModel: Program load failure (0x20004)");
}
DriverFailure invalid_bundle() { return service_failure(10, std::nullopt, "verifyBundleAtPath: invalid model"); }
DriverFailure timeout() { return service_failure(3, 0xf, "Inference timeout: status=0xf : statusType=0x11"); }
// The words are the system's own; their codes were never published.
DriverFailure not_ready() { return service_failure(50, std::nullopt, "Device not ready (transient; retry)"); }
DriverFailure hardware_failed() { return service_failure(51, std::nullopt, "Hardware failure"); }
DriverFailure procedure_failed() {
  return service_failure(8, std::nullopt, "ANEProgramProcessRequestDirect() Failed with status=0x2 : statusType=0x9");
}

}  // namespace anedvd::sim
