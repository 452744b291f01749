// Random plans: our text and file, read by the simulator's own parser, give what the plan says.
#include <set>

#include <gtest/gtest.h>

#include "ane/ane_device.h"
#include "ane/scalar_host_ops.h"
#include "ane/sim/sim_driver.h"

namespace anedvd {
namespace {

sim::Profile plain_profile() {
  sim::Profile profile = *sim::profile_named("a18pro-27");
  profile.numerics = {.accumulator = sim::Accumulator::kPlain, .table_activations = false, .ties_up = false};
  profile.cost.noise = 0;
  return profile;
}

// A random straight program with one input: linears with and without bias, elementwise steps, whole norms.
ProgramSpec random_program(PlanFixture& fixture, std::mt19937& random) {
  fixture.embed(4, 24 + int(random() % 3) * 8);
  std::vector<ValueId> values = {0};
  int weights = 0;
  const auto pick = [&] { return values[random() % values.size()]; };
  const auto same_dim = [&](ValueId like) {
    for (int tries = 0; tries < 20; ++tries)
      if (const ValueId other = pick(); fixture.dim(other) == fixture.dim(like)) return other;
    return like;
  };
  for (int i = 0; i < 8; ++i) {
    const ValueId x = i == 0 ? 0 : pick();
    switch (random() % 11) {
      case 0: values.push_back(fixture.one(OpKind::kSilu, x)); break;
      case 1: values.push_back(fixture.one(OpKind::kGeluTanh, x)); break;
      case 2: values.push_back(fixture.one(OpKind::kSoftCap, x, 4)); break;
      case 3: values.push_back(fixture.one(OpKind::kScale, x, 0.375f)); break;
      case 4: values.push_back(fixture.two(OpKind::kAdd, x, same_dim(x))); break;
      case 5:
        values.push_back(fixture.norm(x));
        weights += 2;
        break;
      case 6: values.push_back(fixture.two(OpKind::kMul, x, same_dim(x))); break;
      case 7:  // without a gain
        values.push_back(fixture.emit({.kind = OpKind::kRmsNorm, .in = {x, -1, -1}, .param = 1e-5f}, fixture.dim(x)));
        weights += 1;
        break;
      default: values.push_back(fixture.linear(x, 16 + int(random() % 5) * 12, random() % 2 == 0)); weights += 2;
    }
    if (weights > 10) break;
  }
  values.push_back(fixture.linear(values.back(), 20));
  fixture.plan.logits = values.back();
  ProgramSpec spec;
  spec.inputs = {0};
  for (int i = 1; i < int(fixture.plan.ops.size()); ++i) spec.ops.push_back(i);
  // What nobody reads leaves the program: every result must be live.
  for (const int i : spec.ops) {
    const ValueId out = fixture.plan.ops[size_t(i)].out;
    bool is_read = false;
    for (const Op& op : fixture.plan.ops) is_read = is_read || op.in[0] == out || op.in[1] == out;
    if (!is_read || random() % 4 == 0) spec.outputs.push_back(out);
  }
  return spec;
}

MilOptions options_of(int seed) {
  return {seed % 2 == 0 ? MilDialect::kTerse : MilDialect::kVerbose,
          seed % 3 == 0 ? 33 : 64,
          {},
          seed / 2 % 2 == 0 ? GateForm::kTanh : GateForm::kSigmoid};
}

class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, AgreeWithTheirPlan) {
  std::mt19937 random{uint32_t(GetParam())};
  PlanFixture fixture{uint32_t(GetParam()) + 1000};
  const ProgramSpec spec = random_program(fixture, random);
  const MilOptions options = options_of(GetParam());
  const int width = options.width, columns = 3;
  MilProgram mil = write_mil(fixture.plan, spec, options);

  auto driver = *sim::SimDriver::make(plain_profile());
  auto weights = write_weights(mil, fixture.finder(), driver->scratch_folder());
  ASSERT_TRUE(weights) << weights.error().message;
  auto staged = driver->stage(mil.text, std::move(*weights), DictionaryContent::kDigest);
  ASSERT_TRUE(staged) << words_of(staged.error());
  const auto compiled = (*staged)->compile();
  ASSERT_TRUE(compiled) << words_of(compiled.error()) << "\n" << mil.text;
  auto loaded = (*staged)->load();
  ASSERT_TRUE(loaded);
  auto program = AneProgram::make(*driver, std::move(*loaded), std::move(mil), width, "test");
  ASSERT_TRUE(program) << program.error().message;

  const PairedRows rows(fixture, columns, random);
  int64_t retries = 0;
  const auto ran = (*program)->run(rows.got, columns, fixture.plan, {}, retries);
  ASSERT_TRUE(ran) << words_of(ran.error());

  ScalarHostOps reference(fixture, true);
  const std::vector<HostColumn> at(size_t(columns), HostColumn{});
  ASSERT_TRUE(reference.run(spec.ops, {{}, at}, rows.want));
  for (const ValueId out : spec.outputs)
    for (int c = 0; c < columns; ++c) {
      const int64_t first = c * column_floats(fixture.dim(out));
      const auto count = size_t(fixture.dim(out));
      // Each step may differ by an fp16 unit (5e-4) where sums are rounded in another order; eight steps amplify it.
      EXPECT_LT(relative_error({rows.got[size_t(out)] + first, count}, {rows.want[size_t(out)] + first, count}), 6e-3)
          << "value " << out << "\n"
          << (*program)->mil().text;
    }
}

constexpr int kSeeds = 60;
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, kSeeds));

// Every step that the device offers the partition, and every operation that docs/ane.md#operations says we emit.
TEST(RandomPrograms, HaveEveryStepAndEveryOperation) {
  std::set<OpKind> kinds;
  std::set<std::string> operations;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random{uint32_t(seed)};
    PlanFixture fixture{uint32_t(seed) + 1000};
    const ProgramSpec spec = random_program(fixture, random);
    for (const int op : spec.ops) kinds.insert(fixture.plan.ops[size_t(op)].kind);
    for (std::string& operation : write_mil(fixture.plan, spec, options_of(seed)).ops)
      operations.insert(std::move(operation));
  }
  AneOptions all;
  all.fuse_norms = true;
  const Capabilities offered = ane_capabilities(all);
  for (size_t kind = 0; kind < offered.ops.size(); ++kind)
    EXPECT_TRUE(!offered.ops.test(kind) || kinds.contains(OpKind(kind))) << op_name(OpKind(kind));
  EXPECT_EQ(operations, (std::set<std::string>{"add", "clip", "conv", "mul", "pow", "sigmoid", "tanh"}));
}

}  // namespace
}  // namespace anedvd
