// The simulator's rules in detail: what each lets pass and what it stops. every_rule_test.cpp goes through all of them.
#include "ane/sim/rules.h"

#include "ane/sim/service_fixture.h"

namespace anedvd::sim {
namespace {

FailureKind compile_kind(Service& service, const std::string& mil) {
  const auto compiled = compile_text(service, mil);
  EXPECT_FALSE(compiled) << mil;
  return compiled ? FailureKind::kOther : kind_of(compiled.error());
}

std::string in_verbose(std::string mil) {
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = mil.find(from, at)) != std::string::npos; at += to.size())
      mil.replace(at, from.size(), to);
  };
  replace("program(1.3)", "program(1.0)");
  replace("ios18", "ios16");
  replace("= string(", "= tensor<string, []>(");
  replace("dict<string, string>", "dict<tensor<string, []>, tensor<string, []>>");
  return mil;
}

TEST(CompileRules, DialectIsTaken) {
  for (const bool verbose : {false, true}) {
    const std::string mil = verbose ? in_verbose(unary_program("sigmoid")) : unary_program("sigmoid");
    Service open(quiet());
    EXPECT_TRUE(compile_text(open, mil));
    Profile closed = quiet();
    (verbose ? closed.takes_verbose : closed.takes_terse) = false;
    Service service(closed);
    EXPECT_EQ(compile_kind(service, mil), FailureKind::kInvalidProgram);
  }
}

TEST(CompileRules, OutputsAreLive) {
  Service service(quiet());
  const std::string x = tensor(4, 8) + " x", t = tensor(4, 8);
  const std::string dead = program(x, statement(t, "d", "tanh(x = x)") + statement(t, "y", "tanh(x = x)"), "y");
  EXPECT_EQ(compile_kind(service, dead), FailureKind::kCannotLower);
  EXPECT_EQ(compile_kind(service, program(x + ", " + t + " z", statement(t, "y", "tanh(x = x)"), "y")),
            FailureKind::kCannotLower);
  EXPECT_EQ(compile_kind(service, program(x, "", "x")), FailureKind::kInvalidProgram);  // passed straight through
}

// `count` convolutions in a row, each with a weight of its own; `files` weight files in turn.
DriverResult<> compile_chain(Service& service, int count, int files = 1, bool with_scalar = false) {
  ProgramFolder folder;
  std::vector<std::vector<float>> records(size_t(count), std::vector<float>(16, 0.25f));
  std::vector<uint64_t> offsets;
  for (int f = 0; f < files; ++f) offsets = folder.weights(records, f == 0 ? "w.bin" : fmt::format("w{}.bin", f));
  std::string body = kConvConstants, x = "x";
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("c{}", i);
    body +=
        conv_body(4, 4, 8, offsets[size_t(i)], name, x, i % files == 0 ? "w.bin" : fmt::format("w{}.bin", i % files));
    x = name;
  }
  if (with_scalar) {
    body += "    fp16 h = const()[name = string(\"h\"), val = fp16(0x1p-1)];\n" +
            statement(tensor(4, 8), "m", "mul(x = " + x + ", y = h)");
    x = "m";
  }
  folder.text(program(tensor(4, 8) + " x", body, x));
  return compile(service, folder);
}

TEST(CompileRules, OneWeightFile) {
  Service service(quiet());
  EXPECT_TRUE(compile_chain(service, 2, 1));
  const auto refused = compile_chain(service, 2, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(kind_of(refused.error()), FailureKind::kInvalidBundle);
  Service older(quiet("m4-26"));
  EXPECT_TRUE(compile_chain(older, 2, 2));
}

TEST(CompileRules, BlobSlots) {
  Service service(quiet());
  EXPECT_TRUE(compile_chain(service, 16));
  EXPECT_FALSE(compile_chain(service, 17));
  EXPECT_TRUE(compile_chain(service, 15, 1, true));
  EXPECT_FALSE(compile_chain(service, 16, 1, true));  // a scalar operand takes a slot
}

TEST(CompileRules, Extents) {
  Profile profile = quiet();
  profile.max_extent = 64;
  Service service(profile);
  EXPECT_TRUE(compile_text(service, unary_program("tanh", 4, 64)));
  EXPECT_EQ(compile_kind(service, unary_program("tanh", 4, 65)), FailureKind::kCannotLower);
}

TEST(CompileRules, OutChannels) {
  Profile profile = quiet();
  profile.max_out_channels = 4;
  Service fits(profile);
  EXPECT_TRUE(compile_chain(fits, 1));
  profile.max_out_channels = 3;
  Service service(profile);
  EXPECT_FALSE(compile_chain(service, 1));
}

TEST(CompileRules, ProgramBytes) {
  Profile profile = quiet();
  profile.max_weight_bytes = 32;
  Service service(profile);
  EXPECT_TRUE(compile_chain(service, 1));
  EXPECT_FALSE(compile_chain(service, 2));
}

TEST(CompileRules, SoftmaxOfPowerOfTwo) {
  const auto softmax = [](int64_t channels) {
    return program(tensor(channels, 8) + " x",
                   "    int32 ax = const()[name = string(\"ax\"), val = int32(1)];\n" +
                       statement(tensor(channels, 8), "y", "softmax(axis = ax, x = x)"),
                   "y");
  };
  Service service(quiet("orion15"));
  EXPECT_TRUE(compile_text(service, softmax(8)));
  EXPECT_EQ(compile_kind(service, softmax(12)), FailureKind::kInvalidProgram);
  Service wide(quiet("e5"));
  EXPECT_TRUE(compile_text(wide, softmax(12)));
}

TEST(TextRules, OperationsByProfile) {
  const std::string mil = unary_program("silu");
  Service strict(quiet("orion15")), newer(quiet("m4-26"));
  EXPECT_EQ(compile_kind(strict, mil), FailureKind::kInvalidProgram);
  EXPECT_TRUE(compile_text(newer, mil));
  EXPECT_EQ(compile_kind(newer, unary_program("frobnicate")), FailureKind::kInvalidProgram);
}

TEST(TextRules, WhatTheCompilerWouldNotRead) {
  Service service(quiet());
  const std::string x = tensor(4, 8) + " x", t = tensor(4, 8);
  const std::string half = "    fp16 h = const()[name = string(\"h\"), val = fp16(0.5)];\n";
  ASSERT_TRUE(compile_text(service, program(x, half + statement(t, "y", "mul(x = x, y = h)"), "y")));
  struct Case {
    const char* name;
    std::string mil;
  };
  const Case cases[] = {
      {"a literal operand", program(x, statement(t, "y", "mul(x = x, y = fp16(0.5))"), "y")},
      {"a value before its definition", program(x, statement(t, "y", "tanh(x = z)"), "y")},
      {"a value defined twice", program(x, statement(t, "y", "tanh(x = x)") + statement(t, "y", "tanh(x = x)"), "y")},
      {"a wrong shape", program(x, statement(tensor(5, 8), "y", "tanh(x = x)"), "y")},
      {"an unknown argument", program(x, statement(t, "y", "tanh(x = x, y = x)"), "y")},
      {"a missing argument", program(x, statement(t, "y", "mul(x = x)"), "y")},
      {"rsqrt without epsilon", program(x, statement(t, "y", "rsqrt(x = x)"), "y")},
      {"fp32 input", program("tensor<fp32, [1, 4, 1, 8]> x", statement(t, "y", "tanh(x = x)"), "y")},
      {"a label used twice", program(x,
                                     half + "    tensor<fp16, [1, 4, 1, 8]> y = tanh(x = x)[name = string(\"h\")];\n" +
                                         statement(t, "z", "mul(x = y, y = h)"),
                                     "z")},
      {"an undefined output", program(x, statement(t, "y", "tanh(x = x)"), "z")},
      {"shapes that do not broadcast",
       program(x + ", " + tensor(3, 8) + " z", statement(t, "y", "add(x = x, y = z)"), "y")},
  };
  for (const Case& c : cases) EXPECT_EQ(compile_kind(service, c.mil), FailureKind::kInvalidProgram) << c.name;
}

TEST(TextRules, WeightRecordsFitTheirTensor) {
  for (const bool right : {true, false}) {
    Service service(quiet());
    ProgramFolder folder;
    const auto offsets = folder.weights({std::vector<float>(right ? 16 : 12, 1)});
    folder.text(program(tensor(4, 8) + " x", kConvConstants + conv_body(4, 4, 8, offsets[0], "y", "x"), "y"));
    EXPECT_EQ(bool(compile(service, folder)), right);
  }
  for (const uint64_t offset : {uint64_t(0), uint64_t(128), uint64_t(1) << 40}) {
    Service service(quiet());
    ProgramFolder folder;
    folder.weights({std::vector<float>(16, 1)});
    folder.text(program(tensor(4, 8) + " x", kConvConstants + conv_body(4, 4, 8, offset, "y", "x"), "y"));
    EXPECT_FALSE(compile(service, folder)) << offset;
  }
}

TEST(TextRules, ADeletedFileFailsTheCompile) {
  Service service(quiet());
  ProgramFolder folder;
  const auto offsets = folder.weights({std::vector<float>(16, 1)});
  folder.text(program(tensor(4, 8) + " x", kConvConstants + conv_body(4, 4, 8, offsets[0], "y", "x"), "y"));
  ASSERT_TRUE(compile(service, folder));
  std::filesystem::remove(folder.path() / "weights" / "w.bin");
  EXPECT_FALSE(compile(service, folder, "again"));
  folder.text(program(tensor(4, 8) + " x", kConvConstants + conv_body(4, 4, 8, 64, "y", "x", "../../x"), "y"));
  EXPECT_FALSE(compile(service, folder, "outside"));
}

// A convolution whose weight [4, 4] is what `body` makes of the file's records; W is its name.
TEST(Budgets, CompilesEndAtTheCeiling) {
  Profile profile = quiet();
  profile.max_compiles = 3;
  Service service(profile);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(compile_text(service, unary_program("tanh")));
  EXPECT_EQ(compile_kind(service, unary_program("tanh")), FailureKind::kCannotLower);
  EXPECT_EQ(service.compiles(), 4);
}

TEST(Budgets, TheTableOfLoadedProgramsFills) {
  Profile profile = quiet();
  profile.max_loaded = 2;
  Service service(profile);
  ASSERT_TRUE(compile_text(service, unary_program("tanh")));
  const auto first = service.load("p");
  ASSERT_TRUE(first && service.load("p"));
  const auto third = service.load("p");
  ASSERT_FALSE(third);
  EXPECT_EQ(kind_of(third.error()), FailureKind::kNoResources);
  EXPECT_TRUE(says_transient(third.error()));
  service.unload(*first);
  EXPECT_TRUE(service.load("p"));
  EXPECT_FALSE(service.load("never compiled"));
}

TEST(CompileRules, Procedures) {
  Profile profile = quiet();
  profile.max_procedures = 1;
  const std::string one = unary_program("tanh"), body = one.substr(one.find("  func main"));
  std::string two = one.substr(0, one.size() - 2) + body;
  two.replace(two.rfind("main"), 4, "next");
  Service open(quiet()), closed(profile);
  EXPECT_TRUE(compile_text(open, two));
  EXPECT_EQ(compile_kind(closed, two), FailureKind::kCannotLower);
  EXPECT_TRUE(compile_text(closed, one));
}

TEST(Budgets, ProcessesShareAPool) {
  Profile profile = quiet();
  profile.pool = std::filesystem::path(testing::TempDir()) / fmt::format("pool-{}", getpid());
  profile.max_loaded = 2;
  Service ours(profile);
  ASSERT_TRUE(compile_text(ours, unary_program("tanh")));
  const int first = *ours.load("p");
  {
    Service theirs(profile);
    ASSERT_TRUE(compile_text(theirs, unary_program("tanh")));
    EXPECT_TRUE(theirs.load("p"));
    const auto refused = theirs.load("p");
    ASSERT_FALSE(refused);
    EXPECT_EQ(kind_of(refused.error()), FailureKind::kNoResources);
    ours.unload(first);
    EXPECT_TRUE(theirs.load("p"));
    EXPECT_FALSE(ours.load("p"));
  }
  EXPECT_TRUE(ours.load("p"));  // what a process held is free when it is gone
  std::filesystem::remove_all(profile.pool);
}

TEST(RunRules, AFailureStallsTheServiceForAWhile) {
  Profile profile = quiet();
  profile.stall_seconds = 15;
  Service service(profile);
  EXPECT_EQ(compile_kind(service, unary_program("tanh", 4, 100000)), FailureKind::kCannotLower);
  EXPECT_EQ(compile_kind(service, unary_program("tanh")), FailureKind::kCannotLower);
  service.host_worked(15'000'000'000);
  EXPECT_TRUE(compile_text(service, unary_program("tanh")));
}

// The first output of a convolution whose weights are all equal, for inputs of one.
float weight_seen(Service& service) {
  std::vector<std::byte> in(4 * 64), out(4 * 64);
  for (size_t c = 0; c < 4; ++c) reinterpret_cast<uint16_t*>(in.data())[c * 32] = float_to_half(1);
  EXPECT_TRUE(evaluate_once(service, in, out));
  return half_to_float(reinterpret_cast<uint16_t*>(out.data())[0]) / 4;
}

TEST(RunRules, WeightsAreBakedUnlessTheSystemReadsThemAgain) {
  for (const bool reads : {false, true}) {
    Profile profile = quiet();
    profile.reloads_weights = reads;
    profile.cancels_after_idle = 0;
    Service service(profile);
    ProgramFolder folder;
    const auto offsets = folder.weights({std::vector<float>(16, 0.5f)});
    folder.text(program(tensor(4, 8) + " x", kConvConstants + conv_body(4, 4, 8, offsets[0], "y", "x"), "y"));
    ASSERT_TRUE(compile(service, folder));
    EXPECT_EQ(weight_seen(service), 0.5f);
    folder.weights({std::vector<float>(16, 0.25f)});
    EXPECT_EQ(weight_seen(service), reads ? 0.25f : 0.5f);
  }
}

TEST(RunRules, AnUnloadedProgramStaysCompiledWhereTheProfileSaysSo) {
  for (const bool keeps : {true, false}) {
    Profile profile = quiet();
    profile.keeps_compiled = keeps;
    Service service(profile);
    ASSERT_TRUE(compile_text(service, unary_program("tanh")));
    service.unload(*service.load("p"));
    EXPECT_EQ(service.is_compiled("p"), keeps);
  }
}

TEST(RequestRules, SurfacesHoldTheirSymbol) {
  for (const char* name : {"a18pro-27", "m4-26"}) {
    Service service(quiet(name));
    ASSERT_TRUE(compile_text(service, unary_program("tanh", 4, 8)));
    auto in = memory(4 * 64), out = memory(4 * 64), packed = memory(4 * 8 * 2);
    EXPECT_TRUE(evaluate_once(service, in, out));
    const auto refused = evaluate_once(service, in, packed);
    ASSERT_FALSE(refused);
    EXPECT_EQ(kind_of(refused.error()), FailureKind::kSurfaceTooSmall);
    EXPECT_EQ(refused.error().code, std::string_view(name) == "a18pro-27" ? 42 : 8);
    EXPECT_FALSE(evaluate_once(service, packed, out));
  }
}

TEST(RequestRules, SymbolsAreTheProcedures) {
  Service service(quiet());
  ASSERT_TRUE(compile_text(service, unary_program("tanh", 4, 8)));
  const int handle = *service.load("p");
  auto in = memory(256), out = memory(256);
  const Bound good[] = {{0, in}}, wrong[] = {{1, in}}, result[] = {{0, out}};
  EXPECT_TRUE(service.evaluate(handle, 0, good, result));
  for (const auto& failed :
       {service.evaluate(handle, 0, wrong, result), service.evaluate(handle, 0, {}, result),
        service.evaluate(handle, 1, good, result), service.evaluate(handle + 1, 0, good, result)}) {
    ASSERT_FALSE(failed);
    EXPECT_EQ(kind_of(failed.error()), FailureKind::kBadRequest);
  }
}

TEST(RequestRules, SurfacesAreEqualAndReachTheMinimum) {
  const std::string two =
      program(tensor(4, 8) + " a, " + tensor(4, 8) + " b", statement(tensor(4, 8), "y", "add(x = a, y = b)"), "y");
  const auto evaluate = [&](const char* profile, size_t a_bytes, size_t b_bytes) {
    Service service(quiet(profile));
    EXPECT_TRUE(compile_text(service, two));
    auto a = memory(a_bytes), b = memory(b_bytes), out = memory(65536);
    const Bound inputs[] = {{0, a}, {1, b}}, outputs[] = {{0, out}};
    return bool(service.evaluate(*service.load("p"), 0, inputs, outputs));
  };
  EXPECT_TRUE(evaluate("orion15", 65536, 65536));
  EXPECT_FALSE(evaluate("orion15", 65536, 131072));
  EXPECT_FALSE(evaluate("orion15", 49151, 49151));
  EXPECT_TRUE(evaluate("a18pro-27", 256, 512));
}

TEST(RequestRules, BindingIsBySymbolNotByText) {
  // The text says z, a; the compiler sorts: symbol 0 is a.
  Service service(quiet());
  ASSERT_TRUE(compile_text(service, program(tensor(4, 8) + " z, " + tensor(4, 8) + " a",
                                            statement(tensor(4, 8), "y", "sub(x = z, y = a)"), "y")));
  const int handle = *service.load("p");
  EXPECT_EQ(service.attributes(handle).input_symbols, (std::vector<std::string>{"a", "z"}));
  EXPECT_EQ(service.attributes(handle).output_symbols, (std::vector<std::string>{"y@output"}));
  auto a = memory(256), z = memory(256), out = memory(256);
  reinterpret_cast<uint16_t*>(a.data())[0] = float_to_half(1);
  reinterpret_cast<uint16_t*>(z.data())[0] = float_to_half(3);
  const Bound inputs[] = {{1, z}, {0, a}}, outputs[] = {{0, out}};
  ASSERT_TRUE(service.evaluate(handle, 0, inputs, outputs));
  EXPECT_EQ(half_to_float(reinterpret_cast<uint16_t*>(out.data())[0]), 2);
}

TEST(RunRules, IdleCancelsTheFirstRequests) {
  Service service(quiet());
  ASSERT_TRUE(compile_text(service, unary_program("tanh")));
  auto in = memory(256), out = memory(256);
  EXPECT_TRUE(evaluate_once(service, in, out));
  service.host_worked(2'000'000'000);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(kind_of(evaluate_once(service, in, out).error()), FailureKind::kCancelledByPower);
  EXPECT_TRUE(evaluate_once(service, in, out));
}

TEST(RunRules, TilePoisonsTheProcess) {
  Service service(quiet());
  ASSERT_TRUE(compile_text(service, unary_program("tanh")));
  auto in = memory(65536), out = memory(65536);
  ASSERT_TRUE(evaluate_once(service, in, out));
  const std::string reps =
      "    tensor<int32, [4]> r = const()[name = string(\"r\"), val = tensor<int32, [4]>([1, 2, 1, 1])];\n";
  ProgramFolder folder;
  folder.text(program(tensor(4, 8) + " x", reps + statement(tensor(8, 8), "y", "tile(reps = r, x = x)"), "y"));
  ASSERT_TRUE(compile(service, folder, "tile"));
  const Bound inputs[] = {{0, in}}, outputs[] = {{0, out}};
  EXPECT_FALSE(service.evaluate(*service.load("tile"), 0, inputs, outputs));
  EXPECT_FALSE(evaluate_once(service, in, out));
}

TEST(RunRules, HugeProgramsAreWrongEveryOtherLoad) {
  Profile profile = quiet();
  profile.doubtful_weight_bytes = 32;
  Service service(profile);
  ASSERT_TRUE(compile_chain(service, 1));
  std::vector<uint16_t> seen;
  for (int i = 0; i < 2; ++i) {
    auto in = memory(256), out = memory(256);
    ASSERT_TRUE(evaluate_once(service, in, out));
    seen.push_back(reinterpret_cast<uint16_t*>(out.data())[0]);
  }
  EXPECT_NE(seen[0], seen[1]);
}

TEST(Layout, RowsAreRoundedUpTo64) {
  GraphValue value;
  const struct {
    int64_t width, row, row_by_max;
  } cases[] = {{1, 64, 64}, {8, 64, 64}, {32, 64, 64}, {33, 128, 66}, {64, 128, 128}, {128, 256, 256}};
  for (const auto& c : cases) {
    value.type.shape = {1, 896, 1, c.width};
    Profile profile = quiet();
    EXPECT_EQ(live_tensor(value, false, profile).row_stride, c.row);
    EXPECT_EQ(live_tensor(value, false, profile).batch_stride, c.row * 896);
    profile.rows_by_max = true;
    EXPECT_EQ(live_tensor(value, false, profile).row_stride, c.row_by_max);
  }
}

TEST(Names, HangOnTextAndDictionary) {
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  EXPECT_EQ(Service::name_of("a", bytes("b")), Service::name_of("a", bytes("b")));
  EXPECT_NE(Service::name_of("a", bytes("b")), Service::name_of("a", bytes("c")));
  EXPECT_NE(Service::name_of("a", bytes("b")), Service::name_of("x", bytes("b")));
  // Empty data and equal text: two models would share one program.
  EXPECT_EQ(Service::name_of("a", {}), Service::name_of("a", {}));
}

TEST(Faults, AreReadFromText) {
  const auto faults = parse_faults("load:no-resources*3,evaluate:idle@5,evaluate:wrong*-1");
  ASSERT_TRUE(faults);
  ASSERT_EQ(faults->size(), 3u);
  EXPECT_EQ((*faults)[0].times, 3);
  EXPECT_EQ((*faults)[1].after, 5);
  EXPECT_TRUE((*faults)[2].wrong_data);
  for (const char* bad : {"load", "load:never", "sleep:idle", "load:idle*x", "load:idle@-1"})
    EXPECT_FALSE(parse_faults(bad)) << bad;
}

// docs/ane.md#cost: published single-convolution times of the A18 Pro within 10 %.
TEST(Cost, FollowsThePublishedModel) {
  Profile profile = quiet();
  profile.numerics.accumulator = Accumulator::kPlain;
  for (const auto& [n, published] : {std::pair{512, 0.100}, {1024, 0.135}, {2048, 0.295}}) {
    Service service(profile);
    ProgramFolder folder;
    const auto offsets = folder.weights({std::vector<float>(size_t(n) * size_t(n), 0.0f)});
    folder.text(program(tensor(n, 1) + " x", kConvConstants + conv_body(n, n, 1, offsets[0], "y", "x"), "y"));
    ASSERT_TRUE(compile(service, folder));
    auto in = memory(size_t(n) * 64), out = memory(size_t(n) * 64);
    ASSERT_TRUE(evaluate_once(service, in, out));
    EXPECT_NEAR(double(service.last_nanoseconds()) / 1e6, published, 0.1 * published) << n;
  }
}

}  // namespace
}  // namespace anedvd::sim
