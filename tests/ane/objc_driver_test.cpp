#include <chrono>
#include <csignal>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>

#include "ane/objc_fixture.h"

namespace anedvd {
namespace {

using test::conv_program;
using test::StandIn;
using test::two_sided_program;
using test::write_weights;
using namespace std::chrono_literals;

class ObjcDriver : public StandIn {
 protected:
  // Everything up to load for y = W x with rows 2 and columns 3.
  std::unique_ptr<StagedProgram> stage_conv(Driver& driver, int width, const std::string& label = "y") {
    auto staged =
        driver.stage(conv_program(2, 3, width, label), write_weights(driver.scratch_folder(), {1, 2, 3, -1, 0.5f, 0}),
                     DictionaryContent::kDigest);
    EXPECT_TRUE(staged) << words_of(staged.error());
    return staged ? std::move(*staged) : nullptr;
  }
};

void put(Surface& surface, const TensorLayout& layout, int64_t channel, int64_t column, float value) {
  auto memory = surface.lock(Surface::Access::kWrite);
  ASSERT_TRUE(memory);
  const uint16_t half = float_to_half(value);
  std::memcpy(memory->data() + channel * layout.plane_stride + column * 2, &half, 2);
  ASSERT_TRUE(surface.unlock(Surface::Access::kWrite));
}

float get(Surface& surface, const TensorLayout& layout, int64_t channel, int64_t column) {
  auto memory = surface.lock(Surface::Access::kRead);
  EXPECT_TRUE(memory);
  uint16_t half = 0;
  std::memcpy(&half, memory->data() + channel * layout.plane_stride + column * 2, 2);
  EXPECT_TRUE(surface.unlock(Surface::Access::kRead));
  return half_to_float(half);
}

TEST_F(ObjcDriver, RunsAConvolutionThroughTheWholeRoute) {
  auto driver = open();
  for (const int width : {1, 32, 33}) {
    auto staged = stage_conv(*driver, width);
    EXPECT_FALSE(staged->is_compiled());
    auto compiled = staged->compile();
    ASSERT_TRUE(compiled) << words_of(compiled.error());
    EXPECT_TRUE(staged->is_compiled());
    auto loaded = staged->load();
    ASSERT_TRUE(loaded) << words_of(loaded.error());
    staged.reset();
    EXPECT_TRUE(programs_on_disk().empty()) << "the folder goes after load";

    const DeclaredTensor x{"x", 3, width}, y{"y", 2, width};
    auto layout = find_layout((*loaded)->attributes(), "main", {&x, 1}, {&y, 1});
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_EQ(layout->inputs[0].plane_stride, width == 33 ? 128 : 64);
    auto in = driver->make_surface(65536);
    auto out = driver->make_surface(65536);
    ASSERT_TRUE(in && out);
    const Binding input{layout->inputs[0].symbol, in->get()}, output{layout->outputs[0].symbol, out->get()};
    auto bound = (*loaded)->bind({&input, 1}, {&output, 1}, layout->procedure);
    ASSERT_TRUE(bound) << words_of(bound.error());
    for (int step = 1; step <= 3; ++step) {
      for (int c = 0; c < 3; ++c) put(**in, layout->inputs[0], c, width - 1, float(c + step));
      auto done = (*loaded)->evaluate();
      ASSERT_TRUE(done) << words_of(done.error());
      EXPECT_EQ(get(**out, layout->outputs[0], 0, width - 1), float(6 * step + 8));  // 1·s + 2·(s + 1) + 3·(s + 2)
      EXPECT_EQ(get(**out, layout->outputs[0], 1, width - 1), -float(step) + 0.5f * float(step + 1));
    }
  }
}

TEST_F(ObjcDriver, BindsBySymbolNotByTheOrderOfTheText) {
  auto driver = open();
  auto staged = driver->stage(two_sided_program(4, 8), WeightFile(), DictionaryContent::kDigest);
  ASSERT_TRUE(staged) << words_of(staged.error());
  ASSERT_TRUE((*staged)->compile());
  auto loaded = (*staged)->load();
  ASSERT_TRUE(loaded) << words_of(loaded.error());
  const DeclaredTensor in[] = {{"b", 4, 8}, {"a", 4, 8}}, out[] = {{"zoom", 4, 8}, {"sum", 4, 8}};
  auto layout = find_layout((*loaded)->attributes(), "main", in, out);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->inputs[0].symbol, 1);
  EXPECT_EQ(layout->outputs[0].symbol, 1);
  std::vector<std::unique_ptr<Surface>> surfaces;
  for (int i = 0; i < 4; ++i) surfaces.push_back(std::move(*driver->make_surface(16384)));
  const Binding inputs[] = {{layout->inputs[0].symbol, surfaces[0].get()},
                            {layout->inputs[1].symbol, surfaces[1].get()}};
  const Binding outputs[] = {{layout->outputs[0].symbol, surfaces[2].get()},
                             {layout->outputs[1].symbol, surfaces[3].get()}};
  ASSERT_TRUE((*loaded)->bind(inputs, outputs, 0));
  put(*surfaces[0], layout->inputs[0], 3, 7, 5);  // b
  put(*surfaces[1], layout->inputs[1], 3, 7, 2);  // a
  ASSERT_TRUE((*loaded)->evaluate());
  EXPECT_EQ(get(*surfaces[2], layout->outputs[0], 3, 7), 10);  // zoom = a · b
  EXPECT_EQ(get(*surfaces[3], layout->outputs[1], 3, 7), 12);  // sum = a + zoom
}

TEST_F(ObjcDriver, KeepsWhatTheFrameworkSaidOfAFailure) {
  auto driver = open();
  auto staged = stage_conv(*driver, 8);
  ASSERT_TRUE(staged->compile());
  order("load=com.apple.appleneuralengine,54,0x5,2,Program load failed (transient)");
  for (int i = 0; i < 2; ++i) {
    auto loaded = staged->load();
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().domain, "com.apple.appleneuralengine");
    EXPECT_EQ(loaded.error().code, 54);
    EXPECT_EQ(loaded.error().status, 5u);
    EXPECT_EQ(loaded.error().text, "Program load failed (transient)");
    EXPECT_EQ(loaded.error().program, staged->id());
    EXPECT_EQ(kind_of(loaded.error()), FailureKind::kNoResources);
  }
  EXPECT_TRUE(staged->load()) << "the third try";
}

TEST_F(ObjcDriver, FindsTheStatusInTheTextOfOlderSystems) {
  auto driver = open();
  auto staged = stage_conv(*driver, 8);
  order("compile=com.apple.appleneuralengine,8,0,1,ProcessRequestDirect() Failed with status=0x1d : statusType=0x9");
  auto compiled = staged->compile();
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().status, 0x1du);
  EXPECT_EQ(kind_of(compiled.error()), FailureKind::kSurfaceTooSmall);
}

TEST_F(ObjcDriver, TellsThatAProgramIsInvalid) {
  auto driver = open();
  auto staged = driver->stage("program(1.3) { nonsense", WeightFile(), DictionaryContent::kDigest);
  ASSERT_TRUE(staged);
  auto compiled = (*staged)->compile();
  ASSERT_FALSE(compiled);
  EXPECT_EQ(kind_of(compiled.error()), FailureKind::kInvalidProgram) << words_of(compiled.error());
}

TEST_F(ObjcDriver, TurnsAnExceptionIntoAFailureAndDoesNotCallAgain) {
  auto driver = open();
  auto staged = driver->stage(two_sided_program(1, 1), WeightFile(), DictionaryContent::kDigest);
  ASSERT_TRUE((*staged)->compile());
  auto loaded = (*staged)->load();
  ASSERT_TRUE(loaded);
  std::vector<std::unique_ptr<Surface>> surfaces;
  for (int i = 0; i < 4; ++i) surfaces.push_back(std::move(*driver->make_surface(16384)));
  const Binding inputs[] = {{0, surfaces[0].get()}, {1, surfaces[1].get()}};
  const Binding outputs[] = {{0, surfaces[2].get()}, {1, surfaces[3].get()}};
  ASSERT_TRUE((*loaded)->bind(inputs, outputs, 0));
  order("evaluate=raise,1");
  auto done = (*loaded)->evaluate();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text.find("exception"), std::string::npos) << done.error().text;
  done = (*loaded)->evaluate();
  ASSERT_FALSE(done) << "an object that raised is left alone";
}

TEST_F(ObjcDriver, LeavesAServiceThatDoesNotAnswer) {
  {
    auto driver = open({.patience = 50ms, .keep_folders = false});
    auto staged = stage_conv(*driver, 8, "stall");
    order("compile=stall,1500");
    const auto start = std::chrono::steady_clock::now();
    auto compiled = staged->compile();
    EXPECT_LT(std::chrono::steady_clock::now() - start, 1200ms);
    ASSERT_FALSE(compiled);
    EXPECT_NE(compiled.error().text.find("does not answer"), std::string::npos) << compiled.error().text;
    EXPECT_FALSE(staged->compile()) << "a service that hung is not called again";
    EXPECT_FALSE(staged->is_compiled());
    EXPECT_LT(std::chrono::steady_clock::now() - start, 1200ms) << "nor asked anything";
  }
  std::this_thread::sleep_for(2s);  // the call that was left comes back and lets its objects go
}

TEST_F(ObjcDriver, HoldsSignalsBackUntilTheServiceAnswers) {
  static volatile std::sig_atomic_t seen;
  seen = 0;
  auto* before = std::signal(SIGTERM, [](int) { seen = 1; });
  auto driver = open();
  auto staged = stage_conv(*driver, 8, "signal");
  order("compile=stall,1500");
  std::thread sender([] {
    std::this_thread::sleep_for(100ms);
    ::kill(::getpid(), SIGTERM);
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(seen, 0) << "the program's own handler waits";
  });
  EXPECT_TRUE(staged->compile());
  sender.join();
  EXPECT_EQ(seen, 1) << "and is called afterwards";
  std::signal(SIGTERM, before);
}

TEST_F(ObjcDriver, SharesAFolderBetweenEqualProgramsAndShutsOthersOut) {
  auto driver = open();
  auto first = stage_conv(*driver, 8);
  auto second = stage_conv(*driver, 8);
  ASSERT_EQ(first->id(), second->id());
  ASSERT_EQ(programs_on_disk().size(), 1u);
  const auto folder = temporary_ / std::string(first->id());
  struct stat status {};
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((folder / "model.mil").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  first.reset();
  EXPECT_TRUE(second->compile()) << "the other user's folder stays";
  second.reset();
  EXPECT_TRUE(programs_on_disk().empty());
}

TEST_F(ObjcDriver, GivesTheWeightsBackForAnotherText) {
  auto driver = open();
  auto staged = stage_conv(*driver, 8);
  auto weights = staged->take_weights_back();
  ASSERT_TRUE(weights) << words_of(weights.error());
  EXPECT_TRUE(std::filesystem::exists(weights->path()));
  EXPECT_TRUE(programs_on_disk().empty());
  EXPECT_FALSE(staged->load());
  auto again = driver->stage(conv_program(2, 3, 16), std::move(*weights), DictionaryContent::kTrueData);
  ASSERT_TRUE(again);
  ASSERT_TRUE((*again)->compile());
  EXPECT_TRUE((*again)->load());
}

TEST_F(ObjcDriver, KeepsFoldersWhenAsked) {
  auto driver = open({.patience = 60s, .keep_folders = true});
  auto staged = stage_conv(*driver, 8);
  ASSERT_TRUE(staged->compile());
  auto loaded = staged->load();
  ASSERT_TRUE(loaded);
  staged.reset();
  EXPECT_EQ(programs_on_disk().size(), 1u);
  loaded->reset();
  EXPECT_TRUE(programs_on_disk().empty());
}

TEST_F(ObjcDriver, RemovesWhatAKilledProcessLeft) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto driver = open();
    auto staged = stage_conv(*driver, 8);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(programs_on_disk().size(), 1u) << "the test needs a leftover";
  auto driver = open();
  EXPECT_TRUE(programs_on_disk().empty());
  // Our own folder and the lock stay.
  size_t ours = 0;
  for (const auto& entry : std::filesystem::directory_iterator(temporary_)) ours += entry.is_directory() ? 1 : 0;
  EXPECT_EQ(ours, 1u);
}

TEST_F(ObjcDriver, LeavesFoldersOfALivingProcessAlone) {
  auto first = open();
  auto staged = stage_conv(*first, 8);
  auto second = open();
  EXPECT_EQ(programs_on_disk().size(), 1u);
  EXPECT_TRUE(staged->compile());
}

TEST_F(ObjcDriver, WarnsOfNothingButReportsItsMachine) {
  auto driver = open();
  EXPECT_EQ(driver->name(), "ane");
  EXPECT_EQ(driver->machine(), "standin, 0");
  auto staged = stage_conv(*driver, 8);
  ASSERT_TRUE(staged->compile());
  auto loaded = staged->load();
  ASSERT_TRUE(loaded);
  auto none = (*loaded)->evaluate();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().text, "evaluate before bind");
}

}  // namespace
}  // namespace anedvd
