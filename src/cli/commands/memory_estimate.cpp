#include "cli/commands/memory_estimate.h"

#include <set>
#include <string>
#include <variant>

#include "ane/ane_device.h"
#include "ane/program_spec.h"
#include "device/partition.h"
#include "model/family.h"
#include "model/plan_builder.h"

namespace anedvd {
namespace {

// The tensors that steps on the host read; a matrix that several of them share counts once.
class HostTensors {
 public:
  explicit HostTensors(const Plan& plan) : plan_(plan) {}

  void add(int index) {
    const Op& op = plan_.ops[size_t(index)];
    add_weight(op.weight);
    add_weight(op.bias);
    if (op.kind == OpKind::kAttention) add_weight(plan_.attentions[size_t(op.spec)].sinks);
    if (op.kind != OpKind::kMoe) return;
    const PlanMoe& moe = plan_.moes[size_t(op.spec)];
    for (const auto* list : {&moe.gate, &moe.up, &moe.down})
      for (const WeightId id : *list) add_weight(id);
    for (const WeightId id : {moe.gate_bias, moe.up_bias, moe.down_bias, moe.scale}) add_weight(id);
  }

  uint64_t bytes(const TensorSource& source) const {
    uint64_t sum = 0;
    for (const std::string& name : names_)
      if (const TensorView* tensor = source.find(name)) sum += tensor->bytes.size();
    return sum;
  }

 private:
  void add_weight(WeightId id) {
    if (id < 0) return;
    const WeightRef& weight = plan_.weights[size_t(id)];
    names_.insert(weight.tensor);
    if (!weight.exponents.empty()) names_.insert(weight.exponents);
  }

  const Plan& plan_;
  std::set<std::string> names_;
};

}  // namespace

Result<uint64_t> ane_weight_bytes(const Plan& plan, const TensorSource& source) {
  const AneOptions options;
  Capabilities can = ane_capabilities(options);
  can.max_programs = 1 << 30;  // what is too much is given to the host below, not refused
  ANEDVD_TRY(const Partition cut, partition(plan, can));
  uint64_t bytes = 0;
  int programs = 0;
  HostTensors host(plan);
  for (const SpecPart& part : lower_partition(plan, cut, options.limits)) {
    if (const auto* step = std::get_if<HostOp>(&part)) {
      host.add(step->op);
      continue;
    }
    const auto& spec = std::get<ProgramSpec>(part);
    if (++programs <= options.max_loaded)
      bytes += uint64_t(weight_bytes(plan, spec));
    else
      for (const int op : spec.ops) host.add(op);
  }
  return bytes + host.bytes(source);
}

Result<uint64_t> ane_weight_bytes(const TensorSource& source, int context) {
  ANEDVD_TRY(const Family* family, find_family(source));
  ANEDVD_TRY(const ModelSpec spec, family->read(source));
  ANEDVD_TRY(const Plan plan, build_plan(spec, *family, source, context));
  return ane_weight_bytes(plan, source);
}

}  // namespace anedvd
