// The other route against its stand-in: the calls in their order, tensors by name, nothing left behind.
#include "ane/e5/e5_driver.h"

#include <filesystem>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "ane/e5/runtime.h"
#include "ane/small_program.h"

#if !defined(ANEDVD_STANDIN_LIBRARY)
#define ANEDVD_STANDIN_LIBRARY ""
#endif

namespace anedvd {
namespace {

class E5 : public testing::Test {
 protected:
  void SetUp() override {
    if (library().empty()) GTEST_SKIP() << "no stand-in for a static program";
    handles_before_ = handles();
  }
  void TearDown() override {
    if (library().empty()) return;
    EXPECT_EQ(handles(), handles_before_) << "handles left alive";
  }

  static std::string library() { return ANEDVD_STANDIN_LIBRARY; }
  static int handles() {
    void* opened = ::dlopen(library().c_str(), RTLD_NOW);
    return reinterpret_cast<int (*)()>(::dlsym(opened, "standin_e5_handles"))();
  }

 private:
  int handles_before_ = 0;
};

std::unique_ptr<Driver> open(const std::string& library) {
  auto driver = e5::open_e5_driver(library);
  EXPECT_TRUE(driver) << driver.error().message;
  return std::move(*driver);
}

TEST_F(E5, FindsEveryFunction) {
  int needed = 0;
  for (const e5::Symbol& symbol : e5::take_inventory(library())) {
    EXPECT_TRUE(symbol.is_found) << symbol.name;
    needed += symbol.is_needed ? 1 : 0;
  }
  EXPECT_GT(needed, 20);
  EXPECT_TRUE(e5::take_inventory("/nowhere/Espresso").empty());
  const auto missing = e5::open_e5_driver("/nowhere/Espresso");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kDevice);
}

TEST_F(E5, ComputesWithItsWeightsAgainAndAgain) {
  const auto driver = open(library());
  for (int round = 0; round < 2; ++round) {
    auto weights = *write_matrices(*driver, {std::vector<float>(8 * 4, 0.5f)});
    auto program = SmallProgram::make(*driver, conv_text(MilDialect::kTerse, 8, 4, 32, weights.offsets[0]),
                                      std::move(weights.file), {{"i00", 4, 32}}, {{"o00", 8, 32}});
    ASSERT_TRUE(program) << words_of(program.error());
    for (const float x : {1.0f, 3.0f}) {
      const auto y = (*program)->run({Plane(4 * 32, x)});
      ASSERT_TRUE(y) << words_of(y.error());
      EXPECT_EQ((*y)[0][0], 2 * x);
    }
  }
  const auto scratch = driver->scratch_folder();
  EXPECT_TRUE(std::filesystem::exists(scratch));
}

TEST_F(E5, TensorsAreFoundByName) {
  const auto driver = open(library());
  MilFunction function(MilDialect::kTerse, 32);
  const Argument arguments[] = {{"x", "zz"}, {"y", "aa"}};
  const std::string out[] = {function.statement("sub", arguments, 4, "o")};
  const std::vector<DeclaredTensor> in = {{"zz", 4, 32}, {"aa", 4, 32}};
  auto program = SmallProgram::make(*driver, function.program(in, out), WeightFile(), in, {{"o", 4, 32}});
  ASSERT_TRUE(program) << words_of(program.error());
  const auto y = (*program)->run({Plane(128, 5.0f), Plane(128, 3.0f)});
  ASSERT_TRUE(y);
  EXPECT_EQ((*y)[0][0], 2);
}

TEST_F(E5, RebindsAfterAReset) {
  const auto driver = open(library());
  auto staged = *driver->stage(unary_text(MilDialect::kTerse, "abs", 4, 32), WeightFile(), DictionaryContent::kDigest);
  ASSERT_TRUE(staged->compile());
  auto loaded = *staged->load();
  EXPECT_FALSE(loaded->evaluate());
  for (int round = 0; round < 2; ++round) {
    auto in = *driver->make_surface(256), out = *driver->make_surface(256);
    const Binding inputs[] = {{0, in.get()}}, outputs[] = {{0, out.get()}};
    ASSERT_TRUE(loaded->bind(inputs, outputs, 0));
    EXPECT_TRUE(loaded->evaluate());
  }
}

TEST_F(E5, WhatItRefusesIsAFailure) {
  const auto driver = open(library());
  auto staged = *driver->stage("program(1.3)\n{\n}\n", WeightFile(), DictionaryContent::kDigest);
  EXPECT_FALSE(staged->load());
  const auto compiled = staged->compile();
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, 11);
  EXPECT_EQ(kind_of(compiled.error()), FailureKind::kCannotLower);
  // Packed rows that are no rows of 64 bytes: told when the attributes are read.
  const auto narrow = SmallProgram::make(*driver, unary_text(MilDialect::kTerse, "abs", 4, 8), WeightFile(),
                                         {{"i00", 4, 8}}, {{"o00", 4, 8}});
  ASSERT_FALSE(narrow);
  EXPECT_NE(narrow.error().text.find("stride"), std::string::npos) << narrow.error().text;
}

TEST_F(E5, TheFolderGoesWithTheDriver) {
  std::filesystem::path scratch;
  {
    const auto driver = open(library());
    scratch = driver->scratch_folder();
    EXPECT_TRUE(std::filesystem::exists(scratch));
  }
  EXPECT_FALSE(std::filesystem::exists(scratch));
}

}  // namespace
}  // namespace anedvd
