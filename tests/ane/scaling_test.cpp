#include "ane/scaling.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ane/plan_fixture.h"

namespace anedvd {
namespace {

// The program of a feed-forward network behind a norm, and its linears' exponents.
std::vector<int> exponents_of(float gate, float up, float down) {
  PlanFixture fixture;
  const ValueId m = fixture.norm(fixture.embed(16, 256));
  const auto linear = [&](ValueId in, int rows, float spread) {
    const WeightId id = fixture.weight(rows, fixture.dim(in), spread / std::sqrt(float(fixture.dim(in))));
    return fixture.emit({.kind = OpKind::kLinear, .in = {in, -1, -1}, .weight = id}, rows);
  };
  const ValueId g = linear(m, 512, gate), u = linear(m, 512, up);
  const ValueId d = linear(fixture.two(OpKind::kMul, fixture.one(OpKind::kSilu, g), u), 256, down);
  fixture.plan.logits = d;
  fixture.plan.vocab = 256;
  const ProgramSpec spec{{2, 3, 4, 5, 6}, {m}, {d}};
  const Scaling scaling = choose_scaling(fixture.plan, spec, fixture.finder());
  EXPECT_EQ(scaling.row_norm, 0);
  if (scaling.exponents.size() != 5) return {};
  EXPECT_EQ(scaling.exponents[2], 0);
  EXPECT_EQ(scaling.exponents[3], 0);
  return {scaling.exponents[0], scaling.exponents[1], scaling.exponents[4]};
}

TEST(Scaling, OnlySmallSumsAreLifted) {
  EXPECT_EQ(exponents_of(10, 10, 10), (std::vector<int>{0, 0, 0}));
  const std::vector<int> small = exponents_of(0.1f, 1 / 128.0f, 1);
  ASSERT_EQ(small.size(), 3u);
  EXPECT_GE(small[0], 2);
  EXPECT_GE(small[1], small[0] + 3);  // sixteen times smaller
  EXPECT_GE(small[2], 1);
  EXPECT_LE(small[1] + small[2], 24);
}

TEST(Scaling, NothingIsKnownOfInputsThatNoNormWrote) {
  PlanFixture fixture;
  const ValueId x = fixture.embed(16, 256), g = fixture.linear(x, 64), s = fixture.one(OpKind::kSilu, g);
  const Scaling scaling = choose_scaling(fixture.plan, {{1, 2}, {x}, {s}}, fixture.finder());
  EXPECT_EQ(scaling.exponents, (std::vector<int>{0, 0}));
}

TEST(Scaling, AMissingTensorGivesNone) {
  PlanFixture fixture;
  const ValueId x = fixture.norm(fixture.embed(16, 256)), g = fixture.linear(x, 64);
  const ProgramSpec spec{{2}, {x}, {g}};
  EXPECT_GT(choose_scaling(fixture.plan, spec, fixture.finder()).row_norm, 0);
  EXPECT_EQ(choose_scaling(fixture.plan, spec, [](std::string_view) { return nullptr; }).row_norm, 0);
}

TEST(Scaling, AColumnsScaleIsAPowerOfTwoWithinTheChipsRange) {
  const std::vector<float> zeros(64, 0.0f), infinite(64, HUGE_VALF);
  EXPECT_EQ(column_scale(zeros.data(), 64, 3), 1);
  EXPECT_EQ(column_scale(infinite.data(), 64, 3), 1);
  for (const float size : {1e-12f, 1e-4f, 0.3f, 1.0f, 77.0f, 3e4f, 1e9f}) {
    std::vector<float> column(64, size);
    column[7] = -2 * size;
    const float scale = column_scale(column.data(), 64, 3);
    int exponent = 0;
    EXPECT_EQ(std::frexp(scale, &exponent), 0.5f);
    double sum = 0;
    for (const float value : column) sum += double(value) * double(value);
    EXPECT_LE(std::sqrt(sum) * 3 * double(scale), 16384);
    EXPECT_LE(2 * size * scale, 32768);
    if (size >= 1e-3f && size < 1e4f) {
      EXPECT_GT(std::sqrt(sum) * 3 * double(scale), 2048);
    }
  }
}

}  // namespace
}  // namespace anedvd
