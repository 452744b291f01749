#include "ane/ane_device.h"

#include <algorithm>

#include "ane/scaling.h"
#include "ane/weight_probe.h"

namespace anedvd {
namespace {

MilDialect other(MilDialect dialect) {
  return dialect == MilDialect::kTerse ? MilDialect::kVerbose : MilDialect::kTerse;
}

// Failures that a smaller program may not meet. Short resources are no such failure: smaller programs are more programs.
bool smaller_may_do(FailureKind kind) {
  return kind == FailureKind::kCannotLower || kind == FailureKind::kTooLarge || kind == FailureKind::kNoMemory ||
         kind == FailureKind::kInvalidProgram || kind == FailureKind::kOther;
}

bool has_tanh(const MilProgram& mil) { return std::find(mil.ops.begin(), mil.ops.end(), "tanh") != mil.ops.end(); }

constexpr size_t kMostRefusals = 64;  // lines kept

}  // namespace

Capabilities ane_capabilities(const AneOptions& options) {
  Capabilities can;
  for (const OpKind kind : {OpKind::kLinear, OpKind::kMul, OpKind::kSilu, OpKind::kGeluTanh}) can.ops.set(size_t(kind));
  if (!options.fuse) can.ops = OpSet().set(size_t(OpKind::kLinear));
  // The residual stream stays in single precision on the host: half of it would be lost in half precision where it has grown to thousands, and a
  // linear with an addition behind it cannot have its columns scaled.
  if (options.fuse_norms) can.ops.set(size_t(OpKind::kRmsNorm)).set(size_t(OpKind::kAdd));
  can.max_width = options.width;
  can.max_weights_per_program = options.fuse ? options.limits.weight_tensors : 1;
  can.max_programs = options.max_loaded;
  return can;
}

AneDevice::AneDevice(Driver& driver, AneOptions options) : driver_(driver), options_(std::move(options)) {
  if (!options_.weights.empty()) options_.limits.slots_per_matrix = 2;
}

void AneDevice::note(const std::string& why) {
  if (counters_.refusals.size() < kMostRefusals) counters_.refusals.push_back(why);
}

// 7 tries while resources are short; one more after "no memory", which lasts whatever its text says.
DriverResult<std::unique_ptr<LoadedProgram>> AneDevice::load_patiently(StagedProgram& staged) {
  auto pause = options_.patience.first_load_pause;
  for (int attempt = 1;; ++attempt) {
    auto loaded = staged.load();
    if (loaded) return loaded;
    const FailureKind kind = kind_of(loaded.error());
    const int tries = kind == FailureKind::kNoResources                                  ? options_.patience.load_tries
                      : kind == FailureKind::kNoMemory || kind == FailureKind::kTooLarge ? 2
                                                                                         : 1;
    if (attempt >= tries) return loaded;
    ++counters_.load_retries;
    options_.patience.wait(pause);
    pause *= 2;
  }
}

DriverResult<std::unique_ptr<LoadedProgram>> AneDevice::compile_and_load(StagedProgram& staged) {
  // A program that the service holds already costs no compilation; if it holds it no more, compiling helps.
  if (staged.is_compiled()) {
    if (auto loaded = staged.load()) {
      ++counters_.cached_loads;
      return loaded;
    }
  }
  if (counters_.compiles >= options_.max_compiles)
    return tl::unexpected(own_failure(fmt::format("{} programs compiled already in this process", counters_.compiles)));
  ++counters_.compiles;
  if (auto compiled = staged.compile(); !compiled) return tl::unexpected(compiled.error());
  return load_patiently(staged);
}

// Files that are distrusted are offered once more with their true bytes in the dictionary.
DriverResult<std::unique_ptr<LoadedProgram>> AneDevice::bring_up(const std::string& text, WeightFile& weights,
                                                                 std::string& id) {
  for (const DictionaryContent dictionary : {DictionaryContent::kDigest, DictionaryContent::kTrueData}) {
    auto staged = driver_.stage(text, std::move(weights), dictionary);
    if (!staged) return tl::unexpected(staged.error());
    id = (*staged)->id();
    auto loaded = compile_and_load(**staged);
    if (loaded) return loaded;
    auto back = (*staged)->take_weights_back();
    if (!back) return tl::unexpected(back.error());
    weights = std::move(*back);
    if (kind_of(loaded.error()) != FailureKind::kInvalidBundle || dictionary == DictionaryContent::kTrueData)
      return loaded;
  }
  return tl::unexpected(own_failure("unreachable"));
}

// Keeps the wishes that this machine fulfils. Their text is the terse dialect's: where that is not taken none of them is.
void AneDevice::probe_wishes() {
  if (std::exchange(wishes_are_probed_, true)) return;
  std::erase_if(options_.weights, [&](const WeightWish& wish) {
    if (counters_.compiles >= options_.max_compiles) return true;
    ++counters_.compiles;
    const auto error = probe_weight_format(driver_, wish.format);
    if (error && *error <= kMostProbeError) {
      options_.dialect = MilDialect::kTerse;
      dialect_is_known_ = true;
      return false;
    }
    note(error ? fmt::format("{} weights are expanded wrongly here: error {:.1e}", format_name(wish.format), *error)
               : "weights stay fp16: " + error.error().message);
    return true;
  });
}

MilOptions AneDevice::mil_options(const Scaling& scaling) const {
  return {options_.dialect, options_.width, scaling.exponents, options_.gates};
}

// A program with codes that does not come up is no loss: the same comes in fp16.
Result<AneDevice::BroughtUp> AneDevice::bring_up_coded(const Plan& plan, const ProgramSpec& spec,
                                                       const TensorFinder& find, const Scaling& scaling) {
  const MilOptions how = mil_options(scaling);
  ANEDVD_TRY(const auto codes, choose_codes(write_mil(plan, spec, how), find, options_.weights));
  BroughtUp made{write_mil(plan, spec, how, codes), nullptr, {}};
  const bool has_codes = std::any_of(codes.begin(), codes.end(),
                                     [](const WeightCode& code) { return code.format != WeightFormat::kFp16; });
  if (!has_codes) return made;
  ANEDVD_TRY(WeightFile weights, write_weights(made.mil, find, driver_.scratch_folder()));
  made.loaded = bring_up(made.mil.text, weights, made.id);
  if (!made.loaded) {
    note("once more with fp16 weights: " + words_of(made.loaded.error()));
    return made;
  }
  for (const WeightCode& code : codes) {
    const bool is_coded = code.format != WeightFormat::kFp16;
    (is_coded ? counters_.coded_matrices : counters_.dense_matrices) += 1;
    counters_.worst_weight_error = std::max(counters_.worst_weight_error, is_coded ? code.error : 0);
  }
  return made;
}

Result<AneDevice::BroughtUp> AneDevice::bring_up_dense(const Plan& plan, const ProgramSpec& spec,
                                                       const TensorFinder& find, const Scaling& scaling) {
  BroughtUp made{write_mil(plan, spec, mil_options(scaling)), nullptr, {}};
  MilProgram& mil = made.mil;
  auto& loaded = made.loaded;
  ANEDVD_TRY(WeightFile weights, write_weights(mil, find, driver_.scratch_folder()));
  std::string& id = made.id;
  loaded = bring_up(mil.text, weights, id);
  if (!loaded && kind_of(loaded.error()) == FailureKind::kInvalidProgram && !dialect_is_known_) {
    const DriverFailure first = loaded.error();
    MilOptions how = mil_options(scaling);
    how.dialect = other(options_.dialect);
    MilProgram again = write_mil(plan, spec, how);
    loaded = bring_up(again.text, weights, id);
    if (loaded) {
      ++counters_.dialect_switches;
      options_.dialect = other(options_.dialect);
      mil = std::move(again);
    } else if (kind_of(loaded.error()) == FailureKind::kInvalidProgram) {
      loaded.error() = first;  // the preferred dialect's reason says more
    }
  }
  return made;
}

Result<AneDevice::Attempt> AneDevice::attempt(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find) {
  if (counters_.loaded >= options_.max_loaded) {
    note(fmt::format("{} programs are loaded: the rest stays on the host", counters_.loaded));
    return Refused{false};
  }
  const Scaling scaling = options_.scale ? choose_scaling(plan, spec, find) : Scaling{};
  BroughtUp made{{}, nullptr, {}};
  const bool wishes = wishes_are_probed_ || !options_.weights.empty();
  if (wishes) probe_wishes();
  if (!options_.weights.empty()) {
    ANEDVD_TRY(made, bring_up_coded(plan, spec, find, scaling));
  }
  if (!made.loaded || *made.loaded == nullptr) {
    ANEDVD_TRY(made, bring_up_dense(plan, spec, find, scaling));
    if (!made.loaded && kind_of(made.loaded.error()) == FailureKind::kInvalidProgram && has_tanh(made.mil) &&
        options_.gates == GateForm::kTanh && !gates_are_known_) {
      options_.gates = GateForm::kSigmoid;
      ANEDVD_TRY(BroughtUp again, bring_up_dense(plan, spec, find, scaling));
      if (again.loaded) {
        made = std::move(again);
        ++counters_.gate_switches;
      } else {
        options_.gates = GateForm::kTanh;
      }
    }
    for (const WeightSlot& slot : made.mil.weights)
      counters_.dense_matrices += wishes && made.loaded && slot.is_matrix ? 1 : 0;
  }
  if (!made.loaded) {
    note(words_of(made.loaded.error()));
    return Refused{smaller_may_do(kind_of(made.loaded.error()))};
  }
  dialect_is_known_ = true;
  gates_are_known_ = gates_are_known_ || has_tanh(made.mil) || options_.gates == GateForm::kSigmoid;
  ++counters_.loaded;
  made.mil.row_norm = scaling.row_norm;
  ANEDVD_TRY(auto program, AneProgram::make(driver_, std::move(*made.loaded), std::move(made.mil), options_.width,
                                            std::move(made.id)));
  return Attempt(std::move(program));
}

void AneDevice::give_to_host(const ProgramSpec& spec, std::vector<AnePart>& parts) {
  ++counters_.host_programs;
  for (const int op : spec.ops) parts.push_back({.program = nullptr, .spec = {}, .host_op = op});
}

Result<bool> AneDevice::compile_spec(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find,
                                     std::vector<AnePart>& parts) {
  ANEDVD_TRY(Attempt made, attempt(plan, spec, find));
  if (auto* program = std::get_if<std::unique_ptr<AneProgram>>(&made)) {
    parts.push_back({.program = std::move(*program), .spec = spec});
    return true;
  }
  const std::vector<SpecPart> smaller = split(plan, spec);
  const bool has_program = std::any_of(smaller.begin(), smaller.end(),
                                       [](const SpecPart& part) { return std::holds_alternative<ProgramSpec>(part); });
  std::vector<AnePart> made_parts;
  if (has_program && std::get<Refused>(made).smaller_may_do) {
    ++counters_.splits;
    bool complete = true;
    for (const SpecPart& part : smaller) {
      if (const auto* host = std::get_if<HostOp>(&part)) {
        made_parts.push_back({.program = nullptr, .spec = {}, .host_op = host->op});
        continue;
      }
      ANEDVD_TRY(complete, compile_spec(plan, std::get<ProgramSpec>(part), find, made_parts));
      if (!complete) break;
    }
    if (complete) {
      for (AnePart& part : made_parts) parts.push_back(std::move(part));
      return true;
    }
    for (const AnePart& part : made_parts) counters_.loaded -= part.program != nullptr ? 1 : 0;
  }
  if (spec.is_sliced()) return false;
  give_to_host(spec, parts);
  return true;
}

Result<std::vector<AnePart>> AneDevice::compile(const Plan& plan, const Partition& partition,
                                                const TensorFinder& find) {
  std::vector<AnePart> parts;
  const std::vector<SpecPart> specs = lower_partition(plan, partition, options_.limits);
  for (size_t i = 0; i < specs.size(); ++i) {
    if (const auto* host = std::get_if<HostOp>(&specs[i])) {
      parts.push_back({.program = nullptr, .spec = {}, .host_op = host->op});
      continue;
    }
    const auto& spec = std::get<ProgramSpec>(specs[i]);
    // Slices of one linear stand together, and are all on the device or none.
    size_t end = i + 1;
    const auto is_sibling = [&](const SpecPart& part) {
      const auto* next = std::get_if<ProgramSpec>(&part);
      return next != nullptr && spec.is_sliced() && next->is_sliced() && next->ops == spec.ops;
    };
    while (end < specs.size() && is_sibling(specs[end])) ++end;
    const size_t before = parts.size();
    bool complete = true;
    for (size_t slice = i; slice < end && complete; ++slice) {
      ANEDVD_TRY(complete, compile_spec(plan, std::get<ProgramSpec>(specs[slice]), find, parts));
    }
    if (!complete) {
      for (size_t p = before; p < parts.size(); ++p) counters_.loaded -= parts[p].program != nullptr ? 1 : 0;
      parts.resize(before);
      give_to_host(spec, parts);
    }
    i = end - 1;
  }
  return parts;
}

Result<std::unique_ptr<AneProgram>> AneDevice::rebuild(const Plan& plan, const ProgramSpec& spec,
                                                       const TensorFinder& find) {
  --counters_.loaded;
  ANEDVD_TRY(Attempt made, attempt(plan, spec, find));
  if (auto* program = std::get_if<std::unique_ptr<AneProgram>>(&made)) return std::move(*program);
  return fail(ErrorCode::kDevice, "a program could not be made anew: {}",
              counters_.refusals.empty() ? "no reason given" : counters_.refusals.back());
}

}  // namespace anedvd
