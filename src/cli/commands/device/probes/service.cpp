// The service behind the framework: its budgets, its memory, what disturbs it.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/half.h"
#include "cli/commands/device/probes/all.h"

namespace anedvd::probes {
namespace {

constexpr int kChannels = 8, kWidth = 32;

// y = x · number: no two programs of this process are one.
std::string scaling_text(float number) {
  return unary_text(MilDialect::kTerse, "mul", kChannels, kWidth, {{"y", number}});
}

float nth_number(int i) { return half_to_float(uint16_t(0x3c00 + i)); }

DriverResult<std::unique_ptr<LoadedProgram>> bring_up(Driver& driver, const std::string& text) {
  auto staged = driver.stage(text, WeightFile(), DictionaryContent::kDigest);
  if (!staged) return tl::unexpected(staged.error());
  if (auto compiled = (*staged)->compile(); !compiled) return tl::unexpected(compiled.error());
  return (*staged)->load();
}

ProbeJson words_or_null(const std::optional<DriverFailure>& failure) {
  return failure ? ProbeJson(words_of(*failure)) : ProbeJson(nullptr);
}

constexpr const char* kFunctionPrefix = "p";

// Functions p000, p001, …, each of which multiplies by another number.
std::string bank_text(int functions) {
  std::vector<std::string> texts;
  for (int i = 0; i < functions; ++i) {
    MilFunction function(MilDialect::kTerse, kWidth);
    const Argument arguments[] = {{"x", "i00"}, {"y", function.half(nth_number(i))}};
    const std::string out[] = {function.statement("mul", arguments, kChannels, "o00")};
    const DeclaredTensor in{"i00", kChannels, kWidth};
    texts.push_back(function.function(fmt::format("{}{:03}", kFunctionPrefix, i), {&in, 1}, out));
  }
  return mil_program(MilDialect::kTerse, texts);
}

}  // namespace

// Kept programs first: what ends them tells which of both budgets it is. Then compiled ones that go at once.
Answer budgets(const ProbedMachine& machine) {
  constexpr int kMost = 300;
  std::vector<std::unique_ptr<LoadedProgram>> kept;
  std::optional<DriverFailure> load_end, compile_end;
  int compiles = 0;
  for (; int(kept.size()) < kMost; ++compiles) {
    auto loaded = bring_up(machine.driver, scaling_text(nth_number(compiles)));
    if (!loaded) {
      const FailureKind kind = kind_of(loaded.error());
      (kind == FailureKind::kCannotLower || kind == FailureKind::kInvalidProgram ? compile_end : load_end) =
          loaded.error();
      break;
    }
    kept.push_back(std::move(*loaded));
  }
  const int loaded = int(kept.size());
  kept.clear();
  for (; compiles < kMost && !compile_end; ++compiles)
    if (const auto done = bring_up(machine.driver, scaling_text(nth_number(compiles))); !done)
      compile_end = done.error();
  return ProbeJson{{"ok", loaded >= 100},
                   {"loaded", loaded},
                   {"loaded_ended_by", words_or_null(load_end)},
                   {"compiles", compiles},
                   {"compiles_ended_by", words_or_null(compile_end)}};
}

// A program that was compiled before: whether the service still knows it, in this process and from the one that asked last time.
Answer caches(const ProbedMachine& machine) {
  const std::string text = scaling_text(0.625f);
  ProbeJson json = {{"ok", true}};
  {
    ANEDVD_TRY(const auto staged, told("stage", machine.driver.stage(text, WeightFile(), DictionaryContent::kDigest)));
    json["known at the start"] = staged->is_compiled();
    ANEDVD_TRY_VOID(told("compile", staged->compile()));
    ANEDVD_TRY_VOID(told("load", staged->load()));
  }
  // The folder is gone with its last user.
  ANEDVD_TRY(const auto again, told("stage", machine.driver.stage(text, WeightFile(), DictionaryContent::kDigest)));
  json["known"] = again->is_compiled();
  const auto loaded = again->load();
  json["loads without compile"] = loaded ? ProbeJson(true) : ProbeJson(words_of(loaded.error()));
  json["ok"] = is_yes(json["known"]) == is_yes(json["loads without compile"]);
  return json;
}

// Other weights under the name of a program that is compiled already: read at load, or baked in.
Answer reload(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  for (const float weight : {0.5f, 0.25f}) {
    ANEDVD_TRY(auto weights, write_matrices(machine.driver, {std::vector<float>(kChannels * kChannels, weight)}));
    ANEDVD_TRY(const auto staged,
               told("stage", machine.driver.stage(
                                 conv_text(MilDialect::kTerse, kChannels, kChannels, kWidth, weights.offsets[0]),
                                 std::move(weights.file), DictionaryContent::kNothing)));
    if (weight == 0.5f) ANEDVD_TRY_VOID(told("compile", staged->compile()));
    auto loaded = staged->load();
    if (!loaded) {
      json[std::to_string(weight)] = words_of(loaded.error());
      continue;
    }
    ANEDVD_TRY(const auto program,
               told("program", SmallProgram::of(machine.driver, std::move(*loaded), {{"i00", kChannels, kWidth}},
                                                {{"o00", kChannels, kWidth}})));
    ANEDVD_TRY(const auto y, told("run", program->run_patiently({Plane(kChannels * kWidth, 1.0f)})));
    json[weight == 0.5f ? "first" : "second"] = y[0][0] / kChannels;
  }
  json["reads_the_file"] = json.contains("second") && json["second"] == 0.25;
  json["ok"] = json.contains("first") && json["first"] == 0.5;
  return json;
}

Answer procedures(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  int most = 0;
  for (const int functions : {2, 8, 64, 200}) {
    const std::string text = bank_text(functions);
    ProbeJson& told_of = json["functions"][std::to_string(functions)];
    told_of = true;
    for (const int which : {0, functions - 1}) {
      auto program =
          SmallProgram::make(machine.driver, text, WeightFile(), {{"i00", kChannels, kWidth}},
                             {{"o00", kChannels, kWidth}}, 0, fmt::format("{}{:03}", kFunctionPrefix, which));
      const auto y = program ? (*program)->run_patiently({Plane(kChannels * kWidth, 1.0f)})
                             : DriverResult<std::vector<Plane>>(tl::unexpected(program.error()));
      if (!y)
        told_of = words_of(y.error());
      else if ((*y)[0][0] != nth_number(which))
        told_of = fmt::format("function {} multiplies by {}", which, (*y)[0][0]);
    }
    if (is_yes(told_of)) most = functions;
  }
  json["most"] = most;
  json["ok"] = most >= 2;
  return json;
}

// Another process uses the device while this one holds a program.
Answer concurrency(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  const auto child_says = [&]() -> ProbeJson {
    const ProbeJson line = ProbeJson::parse(machine.beside("P-04"), nullptr, false);
    if (!line.is_object() || !line.contains("ok")) return "no answer";
    return is_yes(line["ok"]) ? ProbeJson(true) : line["value"];
  };
  {
    const auto held = bring_up(machine.driver, scaling_text(0.75f));
    if (!held) return fail_device("program", held.error());
    json["beside a loaded program"] = child_says();
  }
  json["alone"] = child_says();
  json["ok"] = is_yes(json["beside a loaded program"]);
  return json;
}

// After a program that cannot be made: how long until one that could be made can be made again.
Answer recovery(const ProbedMachine& machine) {
  constexpr int kTries = 25;
  ANEDVD_TRY_VOID(told("program", bring_up(machine.driver, scaling_text(1.5f))));
  const auto oversize = bring_up(machine.driver, unary_text(MilDialect::kTerse, "abs", kChannels, 1 << 20));
  ProbeJson json = {{"ok", true}};
  json["oversize"] = oversize ? ProbeJson(true) : ProbeJson(words_of(oversize.error()));
  int seconds = 0;
  for (; seconds < kTries; ++seconds) {
    if (bring_up(machine.driver, scaling_text(nth_number(seconds)))) break;
    machine.pause(1);
  }
  json["seconds"] = seconds;
  json["ok"] = seconds == 0;
  return json;
}

// Requests after pauses: how many are refused before one is taken.
Answer idle(const ProbedMachine& machine) {
  constexpr int kMostTries = 20;
  ANEDVD_TRY(auto loaded, told("program", bring_up(machine.driver, scaling_text(1.25f))));
  ANEDVD_TRY(const auto program,
             told("program", SmallProgram::of(machine.driver, std::move(loaded), {{"i00", kChannels, kWidth}},
                                              {{"o00", kChannels, kWidth}})));
  ANEDVD_TRY_VOID(told("run", program->run_patiently({Plane(kChannels * kWidth, 1.0f)})));
  ProbeJson json = {{"ok", true}};
  int most = 0;
  for (const double pause : {0.1, 1.0, 2.0, 5.0, 10.0}) {
    machine.pause(pause);
    int refused = 0;
    for (; refused < kMostTries; ++refused) {
      const auto done = program->evaluate_again();
      if (done) break;
      if (kind_of(done.error()) != FailureKind::kCancelledByPower) return fail_device("run", done.error());
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    json["refused"][fmt::format("{}", pause)] = refused;
    most = std::max(most, refused);
  }
  json["most"] = most;
  json["ok"] = most < 8;  // within the tries that are made
  return json;
}

}  // namespace anedvd::probes
