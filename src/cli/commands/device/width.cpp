// anedvd width: what more columns cost.
#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/commands/all.h"
#include "cli/commands/device/trial.h"
#include "cli/devices.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

constexpr int kWidths[] = {1, 8, 16, 32, 64, 128, 256, 512};

Result<ExitCode> run_width(const Args& args) {
  const Console console = Console::from(args);
  const int size = int(*args.integer("--size"));
  Table table({{"width"}, {"µs"}, {"GFLOP/s"}, {"µs a column"}});
  nlohmann::ordered_json json = {{"size", size}, {"rows", nlohmann::json::array()}};
  Trial last;
  for (const int width : kWidths) {
    ANEDVD_TRY(last, try_linear(args, {size, size, width, 1, int(*args.integer("--reps"))}));
    const double gflops = 2.0 * size * size * width / last.microseconds / 1e3;
    table.add({std::to_string(width), three_digits(last.microseconds), three_digits(gflops),
               three_digits(last.microseconds / width)});
    json["rows"].push_back({{"width", width}, {"us", last.microseconds}, {"gflops", gflops}});
  }
  json["machine"] = last.machine;
  json["simulated"] = last.is_simulated;
  const std::string text = table.render(console.out_columns) +
                           fmt::format("a matrix of {0} × {0} · {1}\n", with_commas(size), time_words(last));
  ANEDVD_TRY_VOID(write_out(args.given("--json") ? json.dump() + "\n" : text));
  return kDone;
}

}  // namespace

Command width_command() {
  return {.name = "width",
          .group = CommandGroup::kMeasure,
          .summary = "Measure what more columns cost the Neural Engine",
          .examples = {"anedvd width", "anedvd width --size 2048 --device sim --sim-chip m4"},
          .options = trial_options("1024"),
          .run = run_width};
}

}  // namespace anedvd
