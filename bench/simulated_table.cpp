// Tokens per second that the simulator's cost model gives for five models on several chips, as the table of docs/simulated.md.
//
//   cmake --preset release -DANEDVD_BENCH=ON && ninja -C build simulated_table && build/bin/simulated_table
//
// Nothing is loaded: a plan of each model's shapes goes through the partition, the cuts and the MIL writer of the Neural Engine, and the cost model is
// asked for each program. Weights in fewer bits count by the bytes that are streamed. The host's share is fitted to the seed's figures (see below).
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "ane/ane_device.h"
#include "ane/mil_writer.h"
#include "ane/sim/cost.h"

namespace {

using namespace anedvd;

struct ModelShape {
  const char* name;
  int layers, hidden, ffn, heads, kv_heads, head_dim, vocab;
  bool has_bias;
  double published;  // median of decoding, tokens a second, A18 Pro, fp16 (midasdf/ANEDVD)
};

constexpr ModelShape kModels[] = {
    {"SmolLM2-135M", 30, 576, 1536, 9, 3, 64, 49152, false, 52.2},
    {"Qwen2.5-0.5B", 24, 896, 4864, 14, 2, 64, 151936, true, 22.7},
    {"Qwen3-0.6B", 28, 1024, 3072, 16, 8, 128, 151936, false, 17.1},
    {"TinyLlama-1.1B", 22, 2048, 5632, 32, 4, 64, 32000, false, 17.0},
    {"Qwen2.5-1.5B", 28, 1536, 8960, 12, 2, 128, 151936, true, 9.5},
};
constexpr const char* kChips[] = {"a18-pro", "m1", "m2", "m3", "m4", "m5"};

// Milliseconds a layer of what stays on the host (norms, rotation, attention): 0.09 for one column, as the seed's decoding, and 1.6 for the 51 columns of
// its prompt of 203 tokens in four steps (the host's half of the published 291 to 297 ms of Qwen2.5-0.5B). Assumed for every chip.
double host_milliseconds(int columns) { return 0.06 + 0.03 * columns; }

struct Format {
  const char* name;
  double share;  // of fp16's bytes
};
constexpr Format kFormats[] = {{"fp16", 1}, {"int8", 0.5}, {"LUT4", 0.25}};

class Builder {
 public:
  Plan plan;

  ValueId emit(Op op, int dim) {
    plan.values.push_back({"v" + std::to_string(plan.values.size()), dim});
    op.out = ValueId(plan.values.size() - 1);
    plan.ops.push_back(op);
    return op.out;
  }
  WeightId weight(int64_t rows, int64_t cols) {
    plan.weights.push_back({.tensor = "w" + std::to_string(plan.weights.size()), .rows = rows, .cols = cols});
    return WeightId(plan.weights.size() - 1);
  }
  ValueId linear(ValueId in, int rows, bool has_bias = false) {
    const WeightId matrix = weight(rows, plan.values[size_t(in)].dim), bias = has_bias ? weight(rows, 1) : -1;
    return emit({.kind = OpKind::kLinear, .in = {in, -1, -1}, .weight = matrix, .bias = bias}, rows);
  }
  ValueId norm(ValueId in) {
    const int dim = plan.values[size_t(in)].dim;
    return emit({.kind = OpKind::kRmsNorm, .in = {in, -1, -1}, .weight = weight(1, dim), .param = 1e-5f}, dim);
  }
};

Plan plan_of(const ModelShape& shape) {
  Builder made;
  ValueId x =
      made.emit({.kind = OpKind::kEmbed, .weight = made.weight(shape.vocab, shape.hidden), .param = 1}, shape.hidden);
  const int width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim;
  made.plan.ropes.push_back({shape.head_dim, std::vector<double>(size_t(shape.head_dim / 2), 1.0), 1});
  for (int i = 0; i < shape.layers; ++i) {
    const ValueId n = made.norm(x);
    const ValueId q = made.linear(n, width, shape.has_bias), k = made.linear(n, kv_width, shape.has_bias);
    const ValueId v = made.linear(n, kv_width, shape.has_bias);
    PlanAttention attention;
    attention.cache_layer = i;
    attention.heads = shape.heads;
    attention.kv_heads = shape.kv_heads;
    attention.head_dim = shape.head_dim;
    attention.scale = 1;
    made.plan.attentions.push_back(attention);
    made.plan.cache.push_back({shape.kv_heads, shape.head_dim});
    const ValueId rq = made.emit({.kind = OpKind::kRope, .in = {q, -1, -1}, .group = shape.head_dim, .spec = 0}, width);
    const ValueId rk =
        made.emit({.kind = OpKind::kRope, .in = {k, -1, -1}, .group = shape.head_dim, .spec = 0}, kv_width);
    const ValueId a = made.emit({.kind = OpKind::kAttention, .in = {rq, rk, v}, .spec = i}, width);
    x = made.emit({.kind = OpKind::kAdd, .in = {x, made.linear(a, shape.hidden), -1}}, shape.hidden);
    const ValueId m = made.norm(x), g = made.linear(m, shape.ffn), u = made.linear(m, shape.ffn);
    const ValueId s = made.emit({.kind = OpKind::kSilu, .in = {g, -1, -1}}, shape.ffn);
    const ValueId h = made.emit({.kind = OpKind::kMul, .in = {s, u, -1}}, shape.ffn);
    x = made.emit({.kind = OpKind::kAdd, .in = {x, made.linear(h, shape.hidden), -1}}, shape.hidden);
  }
  made.plan.logits = made.linear(made.norm(x), shape.vocab);
  made.plan.vocab = shape.vocab;
  check_plan(made.plan);
  return made.plan;
}

// Every program of the model; `head` tells those behind the last layer, which run for one column of a prompt only.
struct Programs {
  std::vector<sim::ProgramCost> layers, head;
};

Programs programs_of(const Plan& plan, const AneOptions& options) {
  const auto cut = partition(plan, ane_capabilities(options));
  if (!cut) {
    std::fprintf(stderr, "%s\n", cut.error().message.c_str());
    std::exit(1);
  }
  Programs programs;
  for (const SpecPart& part : lower_partition(plan, *cut, options.limits)) {
    const auto* spec = std::get_if<ProgramSpec>(&part);
    if (spec == nullptr) continue;
    const MilProgram mil = write_mil(plan, *spec, {options.dialect, options.width});
    sim::ProgramCost cost{double(mil.weight_bytes), double(mil.macs_per_column), options.width};
    for (const int op : spec->ops) {
      if (plan.ops[size_t(op)].kind != OpKind::kLinear) continue;
      const WeightRef& weight = plan.weights[size_t(plan.ops[size_t(op)].weight)];
      const int64_t rows = spec->is_sliced() ? spec->rows : weight.rows;
      cost.is_slow_shape = cost.is_slow_shape || (rows % 4096 == 0 && weight.cols % 4096 == 0);
    }
    (spec->outputs[0] == plan.logits ? programs.head : programs.layers).push_back(cost);
  }
  return programs;
}

double milliseconds(const std::vector<sim::ProgramCost>& programs, const sim::CostModel& chip, double share) {
  double total = 0;
  for (sim::ProgramCost program : programs) {
    program.weight_bytes *= share;
    total += sim::nanoseconds(chip, program, true) / 1e6;
  }
  return total;
}

}  // namespace

int main() {
  const AneOptions options;
  std::printf(
      "| chip | model | weights | decode tok/s, simulated | published | 8 at once, simulated | 32 at once, simulated | "
      "prompt tok/s, simulated |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const char* chip : kChips) {
    sim::Profile profile;
    if (!sim::use_chip(profile, chip)) return 1;
    for (const ModelShape& shape : kModels) {
      const Programs programs = programs_of(plan_of(shape), options);
      for (const Format& format : kFormats) {
        // The M1 expands bytes when it compiles (ane-guide).
        const double share = std::string(chip) == "m1" && format.share == 0.5 ? 1 : format.share;
        const double layers = milliseconds(programs.layers, profile.cost, share);
        const double head = milliseconds(programs.head, profile.cost, share);
        const auto rate = [&](int columns) {
          return 1e3 * columns / (layers + head + shape.layers * host_milliseconds(columns));
        };
        // A long prompt in full steps; the head once at its end is left out.
        const double prefill = 1e3 * options.width / (layers + shape.layers * host_milliseconds(options.width));
        const bool is_published = std::string(chip) == "a18-pro" && format.share == 1;
        char published[64] = "";
        if (is_published)
          std::snprintf(published, sizeof(published), "%.1f (%+.0f %%)", shape.published,
                        100 * (rate(1) / shape.published - 1));
        std::printf("| %s | %s | %s | %.1f | %s | %.0f | %.0f | %.0f |\n", chip, shape.name, format.name, rate(1),
                    published, rate(8), rate(32), prefill);
      }
    }
  }
  return 0;
}
