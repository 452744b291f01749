// A device beside the exact reference: every step runs on both, and what they give is compared.
//
//   tokens ──▶ reference: all steps on the host, fp32 activations      own cache, every value kept
//          └─▶ device:    its programs, the host's steps between them  what enters each layer, what each program gives from its own inputs
//
// For check, verify and layers. Takes one sequence at a time, from its first position on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ane/ane_model.h"
#include "device/compile.h"
#include "device/host_ops.h"

namespace anedvd {

// A difference between rows of numbers.
struct Difference {
  double max_abs = 0;      // largest difference
  double largest = 1e-30;  // largest wanted magnitude
  double worst_row = 0;    // largest of the rows' own relative differences
  int64_t not_finite = 0;  // of what was given

  void add(std::span<const float> got, std::span<const float> want);
  double relative() const { return max_abs / largest; }
};

struct ProgramDifference {
  std::string name;
  int layer = -1;
  Difference difference;  // from the device's own inputs
};

class SideBySide : public Executable {
 public:
  // A compiler that puts what `device` compiles beside the reference. `layers` > 0: the first ones only, then the head.
  // The result's address is put into *made when the model is loaded; it lives as long as the runtime.
  static DeviceCompiler compiler(DeviceCompiler device, int layers, SideBySide** made);

  int max_columns() const override { return columns_; }
  Result<> run(std::span<const Slice> slices) override;
  std::span<const float> logits(int i) const override { return device_.executable->logits(i); }

  // Row i of the reference's logits, as logits(i).
  std::span<const float> reference_logits(int i) const;
  // A soft-capped logit before its cap: what can be compared. The same number in a model without one.
  double uncapped(double logit) const;

  // Everything since the model was loaded, or since forget().
  const std::map<int, Difference>& entering() const {
    return entering_;
  }  // by layer; the number of layers stands for the head
  const std::vector<ProgramDifference>& programs() const { return programs_; }
  void forget();

  // Positions whose mixture of experts chose otherwise than the reference, and all behind them in their sequence: what they give cannot be compared.
  bool is_routed_otherwise(int position) const { return position >= first_flip_; }
  int64_t flips() const { return flips_; }  // choices that differ, in all
  double flip_margin() const {
    return flip_margin_;
  }  // the most clearly that the reference preferred its own, over the largest router logit

  // Only programs of this layer are compared one by one (−1: none, the default); it costs the reference's work again.
  void compare_programs_of(int layer) { compared_layer_ = layer; }

  const Plan& plan() const { return plan_; }
  int layers() const { return layers_; }
  AneModel* ane() const { return ane_; }
  const DeviceProgram& device() const { return device_; }

 private:
  SideBySide(Plan plan, const KvLayout& layout) : plan_(std::move(plan)), layout_(layout) {}
  Result<> prepare(const TensorFinder& find, const DeviceCompiler& device, const DeviceRequest& request);
  Result<> run_reference(const Slice& slice);
  void find_flips(const Op& op, std::span<float* const> values, int columns);
  void compare(const AnePart& part, std::span<float* const> values, int columns);
  Result<> compare_program(const AnePart& part, std::span<float* const> values, int columns);

  Plan plan_;
  KvLayout layout_;
  int layers_ = 0, columns_ = 0, compared_layer_ = -1;
  int last_layered_ = -1;  // the last step of a layer; behind it is the head
  DeviceProgram device_;
  AneModel* ane_ = nullptr;
  std::unique_ptr<HostOps> reference_;
  std::vector<std::vector<float>> rows_, scratch_rows_;
  std::vector<float*> values_,
      scratch_;  // by value: the reference's, and those of one program from the device's inputs
  std::vector<std::vector<uint16_t>> pages_;
  std::vector<uint16_t*> page_table_;
  std::vector<HostColumn> at_;
  std::vector<int> wanted_;
  int seen_layer_ = -1;         // in this step
  int first_flip_ = INT32_MAX;  // position in the sequence
  int64_t flips_ = 0;
  double flip_margin_ = 0;
  std::map<int, Difference> entering_;
  std::vector<ProgramDifference> programs_;
  std::optional<Error> error_;
};

// "blk.0.attn_q+attn_k+attn_v", rows of a slice behind it: a program by its weights.
std::string program_name(const Plan& plan, const ProgramSpec& spec);

// The plan with its first `layers` layers only, the head behind them.
Plan first_layers(const Plan& plan, int layers);

}  // namespace anedvd
