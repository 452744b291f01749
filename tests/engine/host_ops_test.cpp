// Steps one by one on the CPU give the same bits as the whole plan at once: every kind of step, few and many columns.
#include <cstring>
#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cpu/cpu_host_ops.h"
#include "engine/runtime.h"
#include "support_npy.h"

namespace anedvd {
namespace {

const std::filesystem::path kFamilies = std::filesystem::path(ANEDVD_TEST_DATA) / "families";

// All steps of a plan through HostOps, either in one call or in one call each.
class StepByStep : public Executable {
 public:
  StepByStep(const Plan& plan, std::unique_ptr<HostOps> host, int max_columns, bool one_call)
      : plan_(plan), host_(std::move(host)), max_columns_(max_columns), one_call_(one_call), ops_(plan.ops.size()) {
    std::iota(ops_.begin(), ops_.end(), 0);
    for (const Value& value : plan.values) {
      rows_.emplace_back(size_t(column_floats(value.dim) * max_columns));
      values_.push_back(rows_.back().data());
    }
  }

  Result<> prepare() { return host_->prepare(ops_); }
  int max_columns() const override { return max_columns_; }

  Result<> run(std::span<const Slice> slices) override {
    std::vector<HostColumn> columns;
    wanted_.clear();
    for (int s = 0; s < int(slices.size()); ++s)
      for (int i = 0; i < int(slices[size_t(s)].tokens.size()); ++i) {
        const Slice& slice = slices[size_t(s)];
        if (slice.want_all_logits || i + 1 == int(slice.tokens.size())) wanted_.push_back(int(columns.size()));
        columns.push_back({s, slice.first_position + i, slice.tokens[size_t(i)]});
      }
    host_->limit_threads(1 + runs_++ % 3);
    if (one_call_) return host_->run(ops_, {slices, columns}, values_);
    for (const int op : ops_) ANEDVD_TRY_VOID(host_->run({&op, 1}, {slices, columns}, values_));
    return {};
  }

  std::span<const float> logits(int i) const override {
    return {values_[size_t(plan_.logits)] + wanted_[size_t(i)] * column_floats(plan_.vocab), size_t(plan_.vocab)};
  }

 private:
  Plan plan_;
  std::unique_ptr<HostOps> host_;
  int max_columns_;
  bool one_call_;
  int runs_ = 0;
  std::vector<int> ops_, wanted_;
  std::vector<std::vector<float>> rows_;
  std::vector<float*> values_;
};

DeviceCompiler step_by_step(bool one_call) {
  return [one_call](const Plan& plan, const KvLayout& layout, const TensorFinder& find,
                    const DeviceRequest& request) -> Result<DeviceProgram> {
    ANEDVD_TRY(auto host, make_host_ops(plan, layout, find, {request.threads, request.max_columns, request.exact}));
    auto made = std::make_unique<StepByStep>(plan, std::move(host), request.max_columns, one_call);
    ANEDVD_TRY_VOID(made->prepare());
    return DeviceProgram{std::move(made), "steps", "", 0};
  };
}

class StepsOfFamilies : public testing::TestWithParam<std::string> {};

// Logits of a prompt and of six tokens one by one behind it.
std::vector<float> all_logits(const std::filesystem::path& model, std::span<const Token> prompt,
                              const RuntimeOptions& options) {
  std::vector<float> rows;
  const auto runtime = Runtime::load(model, options);
  EXPECT_TRUE(runtime) << runtime.error().message;
  if (!runtime) return rows;
  const auto sequence = (*runtime)->new_sequence();
  const auto keep = [&](int, std::span<const float> row) { rows.insert(rows.end(), row.begin(), row.end()); };
  for (size_t at = 0; at < prompt.size();) {
    const size_t count = at == 0 ? prompt.size() - 6 : 1;
    const auto done = (*runtime)->append_all_logits(*sequence, prompt.subspan(at, count), keep);
    EXPECT_TRUE(done) << done.error().message;
    at += count;
  }
  return rows;
}

TEST_P(StepsOfFamilies, HaveTheBitsOfTheWholePlan) {
  const auto folder = kFamilies / GetParam();
  const auto golden = parse_json(testing_support::read_file(folder / "golden.json"), GetParam());
  ASSERT_TRUE(golden);
  auto prompt = golden->at("prompts").at(0).get<std::vector<Token>>();
  while (prompt.size() < 40) prompt.push_back(Token(prompt.size() * 7 % 60 + 3));
  const auto model = std::filesystem::exists(folder / "model.gguf") ? folder / "model.gguf" : folder;
  for (const bool exact : {false, true})
    for (const bool one_call : {true, false}) {
      RuntimeOptions options{.threads = 2, .chunk = 16, .exact = exact};
      const std::vector<float> want = all_logits(model, prompt, options);
      options.device = step_by_step(one_call);
      options.threads = one_call ? 3 : 1;
      const std::vector<float> got = all_logits(model, prompt, options);
      ASSERT_EQ(got.size(), want.size());
      EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0)
          << (exact ? "exact" : "normal") << (one_call ? ", one call" : ", a call each");
    }
}

std::vector<std::string> all_families() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFamilies))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, StepsOfFamilies, testing::ValuesIn(all_families()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace anedvd
