#include "device/partition.h"

#include <algorithm>

namespace anedvd {
namespace {

constexpr int kHalfBytes = 2;

bool is_linear(const Op& op) { return op.kind == OpKind::kLinear; }

// Whether the linear's result decides what runs: which experts, how much of the shared one. In half precision others would be chosen now and then,
// and a program for so small a matrix costs more than it saves.
bool decides(const Plan& plan, const Op& linear) {
  return std::any_of(plan.ops.begin(), plan.ops.end(), [&](const Op& op) {
    return (op.kind == OpKind::kMoe || op.kind == OpKind::kGateBy) && op.in[1] == linear.out;
  });
}

// Whether the device can run this step at all.
bool takes(const Capabilities& can, const Plan& plan, const Op& op) {
  if (!can.ops.test(size_t(op.kind))) return false;
  if (!is_linear(op)) return true;
  if (!can.native_quant && decides(plan, op)) return false;
  const WeightRef& weight = plan.weights[size_t(op.weight)];
  return weight.rows * weight.cols * kHalfBytes <= can.max_weight_bytes;
}

// A program of norms and additions alone would cost a launch and save nothing: those run on the host.
bool worth_launching(const Plan& plan, const std::vector<int>& ops) {
  return std::any_of(ops.begin(), ops.end(), [&](int i) { return is_linear(plan.ops[size_t(i)]); });
}

class Cutter {
 public:
  Cutter(const Plan& plan, const Capabilities& can) : plan_(plan), can_(can) {}

  Partition cut() {
    for (int i = 0; i < int(plan_.ops.size()); ++i) {
      const Op& op = plan_.ops[size_t(i)];
      if (!takes(can_, plan_, op)) {
        flush();
        result_.parts.emplace_back(HostOp{i});
        continue;
      }
      if (is_linear(op) && linears_ == can_.max_weights_per_program) flush();
      pending_.push_back(i);
      linears_ += is_linear(op) ? 1 : 0;
    }
    flush();
    name_borders();
    return std::move(result_);
  }

 private:
  void flush() {
    if (pending_.empty()) return;
    if (worth_launching(plan_, pending_)) {
      const Op& first = plan_.ops[size_t(pending_.front())];
      result_.parts.emplace_back(Program{fmt::format("{}.{}", first.layer, result_.parts.size()), pending_, {}, {}});
    } else {
      for (int i : pending_) result_.parts.emplace_back(HostOp{i});
    }
    pending_.clear();
    linears_ = 0;
  }

  // A program's inputs were written outside of it; its outputs are read outside of it.
  void name_borders() {
    std::vector<int> home(plan_.values.size(), -1);  // the part that writes a value
    for (int part = 0; part < int(result_.parts.size()); ++part)
      for_each_op(part, [&](const Op& op) { home[size_t(op.out)] = part; });
    std::vector<bool> is_shared(plan_.values.size(), false);
    is_shared[size_t(plan_.logits)] = true;
    for (int part = 0; part < int(result_.parts.size()); ++part)
      for_each_op(part, [&](const Op& op) {
        for (ValueId in : op.in)
          if (in >= 0 && home[size_t(in)] != part) is_shared[size_t(in)] = true;
      });
    for (int part = 0; part < int(result_.parts.size()); ++part) {
      auto* program = std::get_if<Program>(&result_.parts[size_t(part)]);
      if (program == nullptr) continue;
      for (int i : program->ops) {
        const Op& op = plan_.ops[size_t(i)];
        for (ValueId in : op.in)
          if (in >= 0 && home[size_t(in)] != part) add_once(program->inputs, in);
        if (is_shared[size_t(op.out)]) add_once(program->outputs, op.out);
      }
    }
  }

  static void add_once(std::vector<ValueId>& list, ValueId id) {
    if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
  }

  template <class Visit>
  void for_each_op(int part, Visit visit) {
    if (const auto* host = std::get_if<HostOp>(&result_.parts[size_t(part)])) {
      visit(plan_.ops[size_t(host->op)]);
      return;
    }
    for (int i : std::get<Program>(result_.parts[size_t(part)]).ops) visit(plan_.ops[size_t(i)]);
  }

  const Plan& plan_;
  const Capabilities& can_;
  Partition result_;
  std::vector<int> pending_;
  int linears_ = 0;
};

}  // namespace

OpSet all_ops() { return OpSet().set(); }

int Partition::programs() const {
  return int(
      std::count_if(parts.begin(), parts.end(), [](const auto& p) { return std::holds_alternative<Program>(p); }));
}

Result<Partition> partition(const Plan& plan, const Capabilities& capabilities) {
  Partition result = Cutter(plan, capabilities).cut();
  if (result.programs() > capabilities.max_programs)
    return fail(ErrorCode::kUnsupported, "the model needs {} programs, the device holds {}", result.programs(),
                capabilities.max_programs);
  return result;
}

}  // namespace anedvd
