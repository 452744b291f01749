// Programs: their text, the files they lie in, the surfaces and symbols of their requests.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "ane/e5/e5_driver.h"
#include "ane/e5/runtime.h"
#include "ane/objc/inventory.h"
#include "cli/commands/device/probes/all.h"

namespace anedvd::probes {

Answer framework(const ProbedMachine& machine) {
  if (machine.driver.name() != "ane") return ProbeJson{{"ok", true}, {"classes", "simulated"}};
  ProbeJson missing = ProbeJson::array();
  int found = 0;
  for (const objc::InventoryEntry& entry : objc::take_inventory())
    if (entry.state == objc::InventoryEntry::State::kFound)
      ++found;
    else
      missing.push_back(entry.class_name + " " + entry.selector);
  return ProbeJson{{"ok", true}, {"found", found}, {"missing", missing}, {"machine", machine.driver.machine()}};
}

// Whether the E5 runtime is there, and one program through it.
Answer other_route(const ProbedMachine& machine) {
  if (machine.driver.name() != "ane") return ProbeJson{{"ok", true}, {"symbols", "simulated"}};
  ProbeJson json = {{"ok", true}, {"missing", ProbeJson::array()}};
  const std::string library = e5::library_path();
  int found = 0;
  for (const e5::Symbol& symbol : e5::take_inventory(library))
    if (symbol.is_found)
      ++found;
    else
      json["missing"].push_back(symbol.name);
  json["found"] = found;
  const auto driver = e5::open_e5_driver(library);
  if (!driver) {
    json["conv"] = driver.error().message;
    return json;
  }
  const auto error = conv_error(**driver, 96, 128, 64, 1);
  json["conv"] = error ? ProbeJson(*error) : ProbeJson(error.error().message);
  return json;
}

Answer row_strides(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  for (const int width : {1, 8, 31, 32, 33, 48, 64, 65, 128}) {
    const auto matrix = random_halves(64 * 64, 0.1f, 1);
    ANEDVD_TRY(auto weights, write_matrices(machine.driver, {matrix}));
    ANEDVD_TRY(const auto staged,
               told("stage", machine.driver.stage(conv_text(MilDialect::kTerse, 64, 64, width, weights.offsets[0]),
                                                  std::move(weights.file), DictionaryContent::kDigest)));
    ANEDVD_TRY_VOID(told("compile", staged->compile()));
    ANEDVD_TRY(const auto loaded, told("load", staged->load()));
    const auto& procedures = loaded->attributes().procedures;
    const int64_t stride = procedures.empty() || procedures[0].inputs.empty() ? 0 : procedures[0].inputs[0].row_stride;
    json["row_stride"][std::to_string(width)] = stride;
    if (stride != (width * 2 + 63) / 64 * 64) json["ok"] = false;
  }
  return json;
}

Answer dialects(const ProbedMachine& machine) {
  const auto matrix = random_halves(64 * 64, 0.1f, 1);
  const auto terse = make_conv(machine.driver, 64, 64, 64, matrix, MilDialect::kTerse);
  const auto verbose = make_conv(machine.driver, 64, 64, 32, matrix, MilDialect::kVerbose);
  return ProbeJson{{"ok", bool(terse) || bool(verbose)}, {"terse", outcome(terse)}, {"verbose", outcome(verbose)}};
}

Answer surface_sizes(const ProbedMachine& machine) {
  const auto matrix = random_halves(64 * 64, 0.1f, 1);
  const Plane x(64 * 64, 1.0f);
  ProbeJson json = {{"ok", true}};
  const size_t exact = 64 * 128;
  for (const size_t bytes : {exact, exact - 128, size_t(16384), size_t(49152), size_t(65536)}) {
    ANEDVD_TRY(const auto program,
               told("conv", make_conv(machine.driver, 64, 64, 64, matrix, MilDialect::kTerse, bytes)));
    const auto ran = program->run_patiently({x});
    json["bytes"][std::to_string(bytes)] = ran ? ProbeJson(true) : ProbeJson(words_of(ran.error()));
    if (bytes == 65536 && !ran) json["ok"] = false;
  }
  return json;
}

namespace {

// y = W · x of [8, 8, 1, 32] with all weights equal: the result's first number tells which weights were read.
Result<std::unique_ptr<StagedProgram>> stage_equal(Driver& driver, float weight, DictionaryContent dictionary) {
  ANEDVD_TRY(auto weights, write_matrices(driver, {std::vector<float>(64, weight)}));
  return told("stage", driver.stage(conv_text(MilDialect::kTerse, 8, 8, 32, weights.offsets[0]),
                                    std::move(weights.file), dictionary));
}

// The result for inputs of one: eight times the weight that the chip computed with.
ProbeJson weight_seen(Driver& driver, DriverResult<std::unique_ptr<LoadedProgram>> loaded) {
  if (!loaded) return words_of(loaded.error());
  auto program = SmallProgram::of(driver, std::move(*loaded), {{"i00", 8, 32}}, {{"o00", 8, 32}});
  if (!program) return words_of(program.error());
  const auto y = (*program)->run_patiently({Plane(8 * 32, 1.0f)});
  return y ? ProbeJson((*y)[0][0] / 8) : ProbeJson(words_of(y.error()));
}

}  // namespace

// The folder without its program is empty after load (drivers remove it); a file that goes before the compile is missed.
Answer program_files(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  {
    ANEDVD_TRY(auto staged, stage_equal(machine.driver, 0.5f, DictionaryContent::kDigest));
    ANEDVD_TRY_VOID(told("compile", staged->compile()));
    auto loaded = staged->load();
    staged.reset();
    json["removed after load"] = weight_seen(machine.driver, std::move(loaded));
  }
  ANEDVD_TRY(const auto staged, stage_equal(machine.driver, 0.25f, DictionaryContent::kDigest));
  std::error_code ignored;
  std::filesystem::remove(staged->folder() / "weights" / "w.bin", ignored);
  const auto compiled = staged->compile();
  json["removed before compile"] = compiled ? ProbeJson(true) : ProbeJson(words_of(compiled.error()));
  json["ok"] = json["removed after load"] == 0.5 && !is_yes(json["removed before compile"]);
  return json;
}

// What the dictionary holds, and how many weight files there may be. Files behind the first are not in the dictionary here.
Answer weight_dictionary(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  const std::pair<const char*, DictionaryContent> contents[] = {{"true data", DictionaryContent::kTrueData},
                                                                {"digest", DictionaryContent::kDigest}};
  for (const auto& [name, content] : contents) {
    ANEDVD_TRY(const auto staged, stage_equal(machine.driver, 0.5f, content));
    const auto compiled = staged->compile();
    json[name] = compiled ? weight_seen(machine.driver, staged->load()) : ProbeJson(words_of(compiled.error()));
  }
  {
    // Equal text, nothing in the dictionary: while the first lives the second has its name, and its weights.
    ANEDVD_TRY(const auto first, stage_equal(machine.driver, 0.5f, DictionaryContent::kNothing));
    ANEDVD_TRY_VOID(told("compile", first->compile()));
    const auto held = first->load();
    ANEDVD_TRY(const auto second, stage_equal(machine.driver, 0.25f, DictionaryContent::kNothing));
    const auto compiled = second->compile();
    const ProbeJson seen =
        compiled ? weight_seen(machine.driver, second->load()) : ProbeJson(words_of(compiled.error()));
    json["nothing"] = seen;
    json["nothing collides"] = second->id() == first->id() && seen == 0.5;
  }
  for (const int files : {1, 2, 3}) {
    std::vector<std::vector<float>> matrices(size_t(files), std::vector<float>(64, 0.125f));
    ANEDVD_TRY(auto weights, write_matrices(machine.driver, matrices));
    MilFunction function(MilDialect::kTerse, 32);
    const int64_t shape[] = {8, 8, 1, 1};
    std::string x = "i00";
    for (int f = 0; f < files; ++f)
      x = function.conv(function.weight(shape, weights.offsets[size_t(f)]), x, 8, f + 1 == files ? "o00" : "");
    const DeclaredTensor in{"i00", 8, 32};
    std::string text = function.program({&in, 1}, {{x}});
    // The second and third weight from files of their own, which are the first one's copies.
    size_t at = text.find("w.bin");
    for (int f = 1; f < files; ++f) {
      at = text.find("w.bin", at + 1);
      text.replace(at, 5, fmt::format("w{}.bin", f));
    }
    ANEDVD_TRY(const auto staged,
               told("stage", machine.driver.stage(text, std::move(weights.file), DictionaryContent::kDigest)));
    const auto folder = staged->folder() / "weights";
    for (int f = 1; f < files; ++f) {
      std::error_code error;
      std::filesystem::copy_file(folder / "w.bin", folder / fmt::format("w{}.bin", f), error);
      if (error) return fail(ErrorCode::kIo, "{}: cannot be copied: {}", folder.string(), error.message());
    }
    const auto compiled = staged->compile();
    json["files"][std::to_string(files)] = compiled ? ProbeJson(true) : ProbeJson(words_of(compiled.error()));
  }
  json["ok"] = json["digest"] == 0.5 && is_yes(json["files"]["1"]);
  return json;
}

Answer symbol_order(const ProbedMachine& machine) {
  MilFunction function(MilDialect::kTerse, 32);
  const Argument first[] = {{"x", "zz"}, {"y", "aa"}}, second[] = {{"x", "s"}, {"y", "mm"}};
  function.statement("add", first, 8, "s");
  const std::string out[] = {function.statement("mul", second, 8, "y")};
  const std::vector<DeclaredTensor> in = {{"zz", 8, 32}, {"aa", 8, 32}, {"mm", 8, 32}};
  ANEDVD_TRY(const auto program, told("program", SmallProgram::make(machine.driver, function.program(in, out),
                                                                    WeightFile(), in, {{"y", 8, 32}})));
  ANEDVD_TRY(const auto y,
             told("program", program->run_patiently({Plane(256, 3.0f), Plane(256, 4.0f), Plane(256, 5.0f)})));
  const auto& symbols = program->attributes().input_symbols;
  return ProbeJson{
      {"ok", y[0][0] == 35}, {"symbols", symbols}, {"sorted", std::is_sorted(symbols.begin(), symbols.end())}};
}

// Two inputs and two outputs of different sizes, each with a surface of exactly its own size, bound by symbol.
Answer unequal_surfaces(const ProbedMachine& machine) {
  constexpr int kWidth = 32;
  const auto with = [&](int small, int large) {
    MilFunction function(MilDialect::kTerse, kWidth);
    const Argument of_small[] = {{"x", "zz"}}, of_large[] = {{"x", "aa"}};
    const std::string out[] = {function.statement("abs", of_small, small, "o1"),
                               function.statement("abs", of_large, large, "o0")};
    const std::vector<DeclaredTensor> in = {{"zz", small, kWidth}, {"aa", large, kWidth}};
    const size_t of_one = size_t(small) * kWidth, of_other = size_t(large) * kWidth;
    return answer(machine.driver, {function.program(in, out),
                                   {},
                                   in,
                                   {{"o1", small, kWidth}, {"o0", large, kWidth}},
                                   {Plane(of_one, -3.0f), Plane(of_other, -5.0f)},
                                   {Plane(of_one, 3.0f), Plane(of_other, 5.0f)},
                                   0,
                                   SmallProgram::kExactSurfaces});
  };
  ProbeJson json = {{"ok", true}};
  json["exact"] = with(8, 64);
  // Surfaces that are large enough for everyone who believes in a minimum.
  json["large"] = with(1024, 2048);
  json["ok"] = is_yes(json["exact"]);
  return json;
}

namespace {

// The most convolutions in a row, each with a weight of its own, that compile: from 14 to 20; 13 when none does.
Result<int> most_weights(Driver& driver, bool with_scalar) {
  int most = 13;
  for (int count = 14; count <= 20; ++count) {
    ANEDVD_TRY(auto weights, write_matrices(driver, std::vector(size_t(count), random_halves(64 * 64, 0.1f, 1))));
    MilFunction function(MilDialect::kTerse, 32);
    const int64_t shape[] = {64, 64, 1, 1};
    std::string x = "i00";
    for (int i = 0; i < count; ++i)
      x = function.conv(function.weight(shape, weights.offsets[size_t(i)]), x, 64,
                        i + 1 == count && !with_scalar ? "o00" : "");
    if (with_scalar) {
      const Argument arguments[] = {{"x", x}, {"y", function.half(0.5f)}};
      x = function.statement("mul", arguments, 64, "o00");
    }
    const DeclaredTensor in{"i00", 64, 32};
    if (!SmallProgram::make(driver, function.program({&in, 1}, {{x}}), std::move(weights.file), {in},
                            {{"o00", 64, 32}}))
      break;
    most = count;
  }
  return most;
}

}  // namespace

Answer weight_tensors(const ProbedMachine& machine) {
  ANEDVD_TRY(const int most, most_weights(machine.driver, false));
  return ProbeJson{{"ok", most >= 15}, {"most", most}};
}

Answer scalar_slot(const ProbedMachine& machine) {
  ANEDVD_TRY(const int plain, most_weights(machine.driver, false));
  ANEDVD_TRY(const int with_scalar, most_weights(machine.driver, true));
  return ProbeJson{{"ok", with_scalar >= 15}, {"plain", plain}, {"with_scalar", with_scalar}};
}

Answer out_channels(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  for (const int rows : {16384, 16385, 32000}) {
    const auto matrix = random_halves(size_t(rows) * 32, 0.1f, 1);
    json["rows"][std::to_string(rows)] = outcome(make_conv(machine.driver, rows, 32, 32, matrix));
  }
  return json;
}

}  // namespace anedvd::probes
