#include "cli/commands/device/matmul_sweep.h"

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/commands/device/trial.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

constexpr int kSizes[] = {128, 256, 512, 1024, 2048, 4096};

}  // namespace

Result<ExitCode> run_matmul_sweep(const Args& args) {
  const Console console = Console::from(args);
  Table table({{"matrix", Align::kLeft}, {"µs"}, {"GB/s"}, {"GFLOP/s"}, {"error"}});
  nlohmann::ordered_json json = {{"rows", nlohmann::json::array()}};
  Trial last;
  TrialShape shape;
  shape.width = int(args.integer("--chunk").value_or(shape.width));
  shape.repetitions = int(*args.integer("--reps"));
  for (const int size : kSizes) {
    shape.rows = shape.cols = size;
    ANEDVD_TRY(last, try_linear(args, shape));
    const double gb_s = 2.0 * size * size / last.microseconds / 1e3, gflops = gb_s * shape.width;
    table.add({fmt::format("{0} × {0}", with_commas(size)), three_digits(last.microseconds), three_digits(gb_s),
               three_digits(gflops), error_words(last.difference.relative())});
    json["rows"].push_back({{"size", size},
                            {"us", last.microseconds},
                            {"gb_s", gb_s},
                            {"gflops", gflops},
                            {"rel_err", last.difference.relative()}});
  }
  json["width"] = shape.width;
  json["machine"] = last.machine;
  json["simulated"] = last.is_simulated;
  const std::string text =
      table.render(console.out_columns) + fmt::format("{} columns · {}\n", shape.width, time_words(last));
  ANEDVD_TRY_VOID(write_out(args.given("--json") ? json.dump() + "\n" : text));
  return kDone;
}

}  // namespace anedvd
