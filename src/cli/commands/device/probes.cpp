#include "cli/commands/device/probes.h"

#include <nlohmann/json.hpp>

#include "cli/commands/device/probes/all.h"

namespace anedvd {
namespace {

// Missing numbers are questions that need a person or calls that the drivers do not make: docs/ane.md#probes.
constexpr Probe kProbes[] = {
    {"P-01", "framework, classes and selectors", probes::framework},
    {"P-02", "row strides", probes::row_strides},
    {"P-03", "dialects", probes::dialects},
    {"P-04", "values of a convolution", probes::planar_values},
    {"P-05", "surface sizes", probes::surface_sizes},
    {"P-06", "files of a program", probes::program_files},
    {"P-07", "weight dictionary and weight files", probes::weight_dictionary},
    {"P-08", "order of symbols", probes::symbol_order},
    {"P-09", "unequal surfaces", probes::unequal_surfaces},
    {"P-10", "weight tensors of a function", probes::weight_tensors},
    {"P-11", "output channels", probes::out_channels},
    {"P-12", "joins and slices", probes::joins_and_slices},
    {"P-13", "sigmoid and tanh", probes::activations},
    {"P-14", "products of inputs", probes::matmul},
    {"P-15", "operations", probes::elementwise},
    {"P-16", "roots, logarithm, sums", probes::roots_and_sums},
    {"P-17", "softmax", probes::softmax},
    {"P-18", "norms, division, maximum", probes::norms},
    {"P-19", "slots of scalar operands", probes::scalar_slot},
    {"P-20", "int8 weights", probes::affine_weights},
    {"P-21", "int8 weights, a scale a row", probes::row_weights},
    {"P-22", "tables of weights", probes::table_weights},
    {"P-23", "sparse weights", probes::sparse_weights},
    {"P-24", "time of weights in fewer bits", probes::streaming, 120},
    {"P-25", "fp8, int4 and bf16 weights", probes::other_weights},
    {"P-26", "int8 activations", probes::int8_activations},
    {"P-27", "time of a launch", probes::launch},
    {"P-28", "weight bandwidth", probes::bandwidth},
    {"P-29", "gathering planes", probes::gather_cost},
    {"P-32", "programs compiled before", probes::caches},
    {"P-33", "weights behind a compiled program", probes::reload},
    {"P-34", "functions of a program", probes::procedures},
    {"P-35", "two processes", probes::concurrency, 90},
    {"P-37", "the other route", probes::other_route},
    {"P-38", "small values", probes::small_values},
    {"P-39", "tables of sigmoid, tanh and silu", probes::activation_tables},
    {"P-40", "long sums", probes::long_sums},
    {"P-41", "determinism", probes::determinism},
    {"P-42", "drift of a long run", probes::long_run, 60},
    {"P-47", "requests after pauses", probes::idle, 60},
    {"P-30", "budgets of programs", probes::budgets, 180},
    {"P-43", "after a program that cannot be made", probes::recovery, 90},
    {"P-44", "what spoils the process", probes::poison},
};

}  // namespace

std::span<const Probe> all_probes() { return kProbes; }

const Probe* probe_named(std::string_view id) {
  for (const Probe& probe : kProbes)
    if (probe.id == id) return &probe;
  return nullptr;
}

ProbeJson ask_probe(const Probe& probe, const ProbedMachine& machine) {
  ProbeJson line = {{"id", probe.id}, {"machine", machine.driver.machine()}};
  auto value = probe.ask(machine);
  line["ok"] = value && is_yes((*value)["ok"]);
  line["value"] = value ? std::move(*value) : ProbeJson(value.error().message);
  return line;
}

}  // namespace anedvd
