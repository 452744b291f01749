// How long things take.
#include <algorithm>
#include <chrono>
#include <cmath>

#include <nlohmann/json.hpp>

#include "ane/planar.h"
#include "cli/commands/device/probes/all.h"
#include "device/host_ops.h"

namespace anedvd::probes {

Answer launch(const ProbedMachine& machine) {
  ANEDVD_TRY(const double together, conv_time(machine.driver, 64, 200, 0));
  ANEDVD_TRY(const double after_host, conv_time(machine.driver, 64, 50, 1'000'000));
  return ProbeJson{{"ok", true}, {"launch_us", together}, {"launch_after_host_us", after_host}};
}

Answer bandwidth(const ProbedMachine& machine) {
  ANEDVD_TRY(const double floor, conv_time(machine.driver, 64, 50, 0));
  ProbeJson json = {{"ok", true}};
  for (const int size : {1024, 2048, 3072}) {
    ANEDVD_TRY(const double time, conv_time(machine.driver, size, 5, 0));
    json["gb_s"][std::to_string(size)] = 2.0 * size * size / std::max(time - floor, 1e-3) / 1e3;
    json["us"][std::to_string(size)] = time;
  }
  return json;
}

// The host's work only: one column of a large head out of planes of one or of 32 columns.
Answer gather_cost(const ProbedMachine&) {
  constexpr int64_t kRows = 151936;
  std::vector<float> row;
  row.resize(size_t(column_floats(int(kRows))));
  const std::vector<float> scales(1, 1.0f);
  ProbeJson json = {{"ok", true}};
  for (const int width : {1, 32}) {
    const TensorLayout layout{"o00", 0, kRows, width, 64, kRows * 64};
    const std::vector<std::byte> surface(size_t(layout.bytes));
    double best = HUGE_VAL;
    for (int run = 0; run < 5; ++run) {
      const auto start = std::chrono::steady_clock::now();
      gather_planes(surface, layout, 0, kRows, 1, scales, row.data(), kRows);
      best =
          std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    json["us"][std::to_string(width)] = best;
  }
  return json;
}

// As many evaluations as fit the time; later ones beside the first.
Answer long_run(const ProbedMachine& machine) {
  constexpr int kSample = 500;
  const int most = machine.driver.name() == "sim" ? 50'000 : 200'000;
  constexpr auto kLongest = std::chrono::seconds(20);
  const auto matrix = random_halves(64 * 64, 0.1f, 1);
  ANEDVD_TRY(const auto program, told("conv", make_conv(machine.driver, 64, 64, 32, matrix)));
  const Plane x(64 * 32);
  ANEDVD_TRY(const double first, run_time(*program, {x}, kSample));
  const auto end = std::chrono::steady_clock::now() + kLongest;
  int count = kSample;
  for (; count < most && std::chrono::steady_clock::now() < end; ++count) {
    if (auto done = program->evaluate_again(); !done)
      return fail_device(fmt::format("evaluation {}", count), done.error());
  }
  ANEDVD_TRY(const double last, run_time(*program, {x}, kSample));
  return ProbeJson{
      {"ok", last < 1.2 * first}, {"evaluations", count + kSample}, {"first_us", first}, {"last_us", last}};
}

}  // namespace anedvd::probes
