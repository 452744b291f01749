// What a simulated chip and system accept, refuse, compute and cost. Data, so that a probe of a real machine can replace it.
//
//   orion15     M4 Max on macOS 15 as its explorers report it: the strictest op table, equal surfaces, a 48 KiB minimum, compile ceiling
//   m4-26       M4 on macOS 26
//   a18pro-27   A18 Pro on macOS 27: one weight file, idle cancellation, fixed-point accumulator (the default)
//   e5          the wider op set of the other route
//
// Every rule copies one fact of docs/ane.md, which names its source.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ane/driver_failure.h"
#include "base/result.h"

namespace anedvd::sim {

enum class Accumulator {
  kFixed,  // sums of 8 exact products, truncated to 2^-15, added to a wide accumulator (docs/ane.md#small-values)
  kRoundedProducts,  // each product rounded to fp16, summed in fp32 in ascending order
  kPlain,            // fp32 products and sums: fast, for work where the numerics do not matter
};

struct Numerics {
  Accumulator accumulator = Accumulator::kFixed;
  bool table_activations = true;  // 33-knot tables for sigmoid, tanh, silu, gelu; false: exact functions
  bool ties_up = true;            // of a conv's result; false: to even
  bool flush_denormals = false;   // of a conv's operands and result
  bool overflow_is_zero = false;  // of a conv's result: 0 where others say infinity
  float saturation = 32760;       // a conv's |sum| from here on overflows
  bool half_reductions = true;    // reduce_sum's partial sums are fp16; false: wide

  // What a probed chip made of every fp16 number, by operation: used in place of tables and exact functions.
  std::map<std::string, std::shared_ptr<const std::vector<uint16_t>>, std::less<>> samples = {};
};

// docs/ane.md#cost: t = launch + κ·(min(B, K)/β1 + max(0, B − K)/β2) or 2·MACs/P, whichever is longer.
struct CostModel {
  double launch_us = 95, launch_after_host_us = 160;
  double near_bytes = 4e6;               // K
  double near_gb_s = 58, far_gb_s = 38;  // β1, β2
  double tflop_s = 8;                    // P
  double kappa = 1.27;                   // where both channel counts are multiples of 4096
  double noise = 0.10;                   // σ of the log-normal factor; 0: deterministic
  double slowdown = 0;                   // of each time, after 100,000 evaluations
  bool int8_streams = true;  // false: int8 weights become fp16 at compile; tables of 4 and 6 bits stream everywhere
};

// How a profile treats an operation of the text.
enum class OpVerdict {
  kTaken,
  kInvalid,     // InvalidMILProgram at compile
  kFailsAtRun,  // compiles; evaluation answers 0x1d
  kPoisonous,   // compiles; afterwards every evaluation of the process answers 0x1d
};

// Which stage a fault strikes.
enum class Stage { kCompile, kLoad, kEvaluate };

// An injected failure: from call `after` (0-based) of its stage on, `times` calls in a row (−1: for ever).
struct Fault {
  Stage stage = Stage::kCompile;
  DriverFailure failure;
  bool wrong_data = false;     // evaluate: says yes, outputs are wrong
  bool no_attributes = false;  // load: succeeds, attributes are empty
  int after = 0, times = 1;
};

struct Profile {
  std::string name;
  std::map<std::string, OpVerdict, std::less<>> ops;  // an operation that is absent is unknown: kInvalid
  bool takes_terse = true, takes_verbose = true;
  bool takes_literals = false;  // literal operands in an argument list

  // Of the codes of weights in fewer bits, and how their scales and tables may be shared out.
  std::set<std::string, std::less<>> code_types = {"int8", "uint8", "uint1", "uint2", "uint3", "uint4", "uint6"};
  bool takes_block_scales = false;    // a scale for a part of a row
  bool takes_grouped_tables = false;  // a table for some of the rows

  int max_extent = 65536;                       // of width and height
  int max_out_channels = 1 << 20;               // of one conv
  int max_weight_tensors = 16;                  // of one function; one less beside an operation with a scalar operand
  int64_t max_weight_bytes = int64_t(2) << 30;  // of one program
  int64_t doubtful_weight_bytes = int64_t(1) << 30;  // from here on results are wrong on every other load
  bool scalar_takes_slot = true;                     // see max_weight_tensors
  int max_procedures = 256;                          // of one program
  int max_compiles = 1 << 30;                        // of one process
  int max_loaded = 126;                              // at a time, machine-wide
  std::filesystem::path pool;  // a folder that processes share their max_loaded places in; empty: each has its own

  bool keeps_compiled = true;    // a program stays compiled when it is unloaded
  bool reloads_weights = false;  // load reads the weight file once more
  double stall_seconds = 0;      // compiles fail for so long after a program that could not be lowered

  bool one_weight_file = true;
  bool newer_codes = true;      // error codes of macOS 27
  bool equal_surfaces = false;  // inputs all of one size, outputs all of one size, else 0x1d
  int64_t minimum_surface = 0;  // bytes, else 0x1d
  bool rows_by_max = false;     // RowStride = max(64, W · 2) in place of rounding up to 64
  int cancels_after_idle = 0;   // evaluations refused with 0x12 after an idle gap
  double idle_seconds = 2;
  bool needs_softmax_power_of_two = false;

  std::set<std::string, std::less<>> rules_off;  // names of rules (rule.h) that do not hold

  Numerics numerics;
  CostModel cost;
  int threads = 1;  // of the interpreter: real time only
  std::vector<Fault> faults;
};

// nullopt: no such profile.
std::optional<Profile> profile_named(std::string_view name);
std::span<const std::string_view> profile_names();

// Replaces the cost model by that of a chip ("m4-pro"); kUsage, naming the known ones, if there is none.
Result<> use_chip(Profile& profile, std::string_view chip);
std::span<const std::string_view> chip_names();

// Faults as text, separated by commas: STAGE:KIND[*TIMES][@AFTER], for example "load:no-resources*3,evaluate:idle@5". kUsage names the kinds.
Result<std::vector<Fault>> parse_faults(std::string_view text);

}  // namespace anedvd::sim
