// The stand-in notices what Apple's runtime would crash of or swallow: each wrong message ends the process with its word.
#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "ane/objc/foundation.h"
#include "ane/objc_fixture.h"

namespace anedvd {
namespace {

using namespace objc;

class ObjcMisuse : public test::StandIn {
 protected:
  static NSDictionary* nothing() { return dictionary({}); }

  static Id descriptor(Id mil, Id weights) {
    return send<Id>(class_named("_ANEInMemoryModelDescriptor"), "modelWithMILText:weights:optionsPlist:", mil, weights,
                    Id(nullptr));
  }
  static Id model() {
    return send<Id>(class_named("_ANEInMemoryModel"),
                    "inMemoryModelWithDescriptor:", descriptor(copied_data("program(1.3)"), nothing()));
  }
  static IOSurface* surface() {
    const Runtime& rt = runtime();
    return rt.surface_create(dictionary({{rt.surface_width, number(64)},
                                         {rt.surface_height, number(1)},
                                         {rt.surface_bytes_per_element, number(1)},
                                         {rt.surface_bytes_per_row, number(64)},
                                         {rt.surface_alloc_size, number(64)},
                                         {rt.surface_pixel_format, number(0)}}));
  }
  static Id request(Id inputs, Id indices, Id weights_buffer = nullptr, Id statistics = nullptr, int procedure = 0) {
    return send<Id>(class_named("_ANERequest"),
                    "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
                    inputs, indices, array({}), array({}), weights_buffer, statistics, number(procedure));
  }
  static Id wrapped(IOSurface* it) { return send<Id>(class_named("_ANEIOSurfaceObject"), "objectWithIOSurface:", it); }
  static Id weight_entry() {
    return dictionary({{string("offset"), number(0)}, {string("data"), copied_data("bytes")}});
  }
  static Id model_with(NSDictionary* weights) {
    return send<Id>(class_named("_ANEInMemoryModel"),
                    "inMemoryModelWithDescriptor:", descriptor(copied_data("program(1.3)"), weights));
  }

  // Calls use(model, staged) with a model whose files lie where they should.
  template <class Use>
  void with_files(Use&& use) {
    const auto driver = open();
    const std::string text = test::two_sided_program(1, 1);
    const auto staged = *driver->stage(text, WeightFile(), DictionaryContent::kDigest);
    const Pool pool;
    use(send<Id>(class_named("_ANEInMemoryModel"),
                 "inMemoryModelWithDescriptor:", descriptor(copied_data(text), nothing())),
        *staged);
  }
  static void bring(Id model) {
    NSError* error = nullptr;
    send<Bool>(model, "compileWithQoS:options:error:", 21u, nothing(), &error);
    send<Bool>(model, "loadWithQoS:options:error:", 21u, nothing(), &error);
  }
  static void evaluate(Id model, Id request) {
    NSError* error = nullptr;
    send<Bool>(model, "evaluateWithQoS:options:request:error:", 21u, nothing(), request, &error);
  }
};
using ObjcMisuseDeathTest = ObjcMisuse;

TEST_F(ObjcMisuse, ANilReceiverAnswersZero) {
  EXPECT_EQ(send<Id>(nullptr, "model"), nullptr);
  EXPECT_EQ(send<long long>(nullptr, "longLongValue"), 0);
}

TEST_F(ObjcMisuse, ManyArgumentsArriveThroughTheStack) {
  const Pool pool;
  // Nine words with receiver and selector: the last ones do not fit registers.
  EXPECT_NE(request(array({}), array({})), nullptr);
}

TEST_F(ObjcMisuseDeathTest, TextAsAString) {
  const Pool pool;
  EXPECT_DEATH(descriptor(string("program(1.3)"), nothing()),
               "wrong class: modelWithMILText: wants NSData, got NSString");
}

TEST_F(ObjcMisuseDeathTest, NoWeightDictionary) {
  const Pool pool;
  EXPECT_DEATH(descriptor(copied_data("program(1.3)"), nullptr), "nil argument: weights: wants NSDictionary");
}

TEST_F(ObjcMisuseDeathTest, AStringAsWeightData) {
  const Pool pool;
  EXPECT_DEATH(
      descriptor(copied_data("program(1.3)"),
                 dictionary({{string("@model_path/weights/w.bin"),
                              dictionary({{string("offset"), number(0)}, {string("data"), string("bytes")}})}})),
      "wrong class: \"data\" of weights: wants NSData, got NSString");
}

TEST_F(ObjcMisuseDeathTest, EmptyWeightData) {
  const Pool pool;
  EXPECT_DEATH(
      descriptor(copied_data("program(1.3)"),
                 dictionary({{string("@model_path/weights/w.bin"),
                              dictionary({{string("offset"), number(0)}, {string("data"), copied_data("")}})}})),
      "empty weights");
}

TEST_F(ObjcMisuseDeathTest, AnUnknownSelector) {
  const Pool pool;
  EXPECT_DEATH(send<void>(model(), "compileWithQos:"), "unrecognized selector: -.*_ANEInMemoryModel compileWithQos:");
}

TEST_F(ObjcMisuseDeathTest, OneReleaseTooMany) {
  EXPECT_DEATH(
      {
        const Pool pool;
        runtime().release(number(1));  // the pool's share
      },
      "over-release: release of a freed NSNumber");
}

TEST_F(ObjcMisuseDeathTest, AMessageToAFreedObject) {
  EXPECT_DEATH(
      {
        Id kept = nullptr;
        {
          const Pool pool;
          kept = number(1);
        }
        send<long long>(kept, "longLongValue");
      },
      "freed object: .*NSNumber longLongValue");
}

TEST_F(ObjcMisuseDeathTest, NoPool) { EXPECT_DEATH(number(1), "no pool: an autoreleased NSNumber"); }

TEST_F(ObjcMisuseDeathTest, PoolsInTheWrongOrder) {
  EXPECT_DEATH(
      {
        void* outer = runtime().push_pool();
        runtime().push_pool();
        runtime().pop_pool(outer);
      },
      "unbalanced pools");
}

TEST_F(ObjcMisuseDeathTest, AThreadThatLeavesItsPool) {
  EXPECT_DEATH(std::thread([] { runtime().push_pool(); }).join(), "unbalanced pools: a thread ends");
}

TEST_F(ObjcMisuseDeathTest, TheAddressOfAnUnlockedSurface) {
  const Pool pool;
  EXPECT_DEATH(runtime().surface_base(surface()), "unlocked base address");
}

TEST_F(ObjcMisuseDeathTest, AnUnlockWithOtherOptions) {
  const Pool pool;
  EXPECT_DEATH(
      {
        IOSurface* it = surface();
        runtime().surface_lock(it, 1, nullptr);
        runtime().surface_unlock(it, 0, nullptr);
      },
      "unlock without lock");
}

TEST_F(ObjcMisuseDeathTest, ABareSurfaceInARequest) {
  const Pool pool;
  EXPECT_DEATH(request(array(std::vector<Id>{surface()}), array(std::vector<Id>{number(0)})),
               "wrong class: requestWithInputs: wants _ANEIOSurfaceObject, got IOSurface");
}

TEST_F(ObjcMisuseDeathTest, FewerIndicesThanSurfaces) {
  const Pool pool;
  EXPECT_DEATH(
      {
        Id wrapper = send<Id>(class_named("_ANEIOSurfaceObject"), "objectWithIOSurface:", surface());
        request(array(std::vector<Id>{wrapper}), array({}));
      },
      "wrong index count");
}

TEST_F(ObjcMisuseDeathTest, EvaluateOfAModelThatIsNotLoaded) {
  const Pool pool;
  EXPECT_DEATH(
      {
        NSError* error = nullptr;
        send<Bool>(model(), "evaluateWithQoS:options:request:error:", 21u, nothing(), request(array({}), array({})),
                   &error);
      },
      "not loaded: evaluateWithQoS:");
}

TEST_F(ObjcMisuseDeathTest, AnOldErrorInTheErrorVariable) {
  const Pool pool;
  EXPECT_DEATH(
      {
        NSError* error = nullptr;
        send<Bool>(model(), "compileWithQoS:options:error:", 21u, nothing(), &error);
        send<Bool>(model(), "compileWithQoS:options:error:", 21u, nothing(), &error);
      },
      "stale error");
}

TEST_F(ObjcMisuseDeathTest, TheModelUrl) {
  const Pool pool;
  EXPECT_DEATH(send<void>(model(), "setModelURL:", Id(nullptr)), "forbidden: setModelURL:");
}

TEST_F(ObjcMisuse, ALeakIsCounted) {
  const int64_t before = live_objects();
  auto leaked = Ref<IOSurface>();
  {
    const Pool pool;
    leaked = Ref<IOSurface>::adopt(surface());
  }
  EXPECT_EQ(live_objects(), before + 1);
  EXPECT_NE(live_words().find("1 IOSurface"), std::string::npos) << live_words();
}

// Use after unload needs a loaded model: the driver's own messages, sent by hand.
TEST_F(ObjcMisuseDeathTest, EvaluateAfterUnload) {
  EXPECT_DEATH(
      {
        auto driver = open();
        auto staged = driver->stage(test::two_sided_program(1, 1), WeightFile(), DictionaryContent::kDigest);
        const Pool pool;
        Id again =
            send<Id>(class_named("_ANEInMemoryModel"),
                     "inMemoryModelWithDescriptor:", descriptor(copied_data(test::two_sided_program(1, 1)), nothing()));
        NSError* error = nullptr;
        send<Bool>(again, "compileWithQoS:options:error:", 21u, nothing(), &error);
        send<Bool>(again, "loadWithQoS:options:error:", 21u, nothing(), &error);
        send<Bool>(again, "unloadWithQoS:error:", 21u, &error);
        send<Bool>(again, "evaluateWithQoS:options:request:error:", 21u, nothing(), request(array({}), array({})),
                   &error);
      },
      "use after unload");
}

TEST_F(ObjcMisuseDeathTest, AModelThatIsFreedWhileLoaded) {
  EXPECT_DEATH(
      {
        auto driver = open();
        auto staged = driver->stage(test::two_sided_program(1, 1), WeightFile(), DictionaryContent::kDigest);
        const Pool pool;
        Id again =
            send<Id>(class_named("_ANEInMemoryModel"),
                     "inMemoryModelWithDescriptor:", descriptor(copied_data(test::two_sided_program(1, 1)), nothing()));
        NSError* error = nullptr;
        send<Bool>(again, "compileWithQoS:options:error:", 21u, nothing(), &error);
        send<Bool>(again, "loadWithQoS:options:error:", 21u, nothing(), &error);
      },
      "still loaded");
}

TEST_F(ObjcMisuseDeathTest, AModelThatIsLoadedTwice) {
  const auto twice = [](Id model, auto&) {
    bring(model);
    bring(model);
  };
  EXPECT_DEATH(with_files(twice), "loaded twice");
}

TEST_F(ObjcMisuseDeathTest, ALockedSurfaceInARequest) {
  const auto locked = [](Id model, auto&) {
    bring(model);
    IOSurface* it = surface();
    runtime().surface_lock(it, 0, nullptr);
    evaluate(model, request(array(std::vector<Id>{wrapped(it)}), array(std::vector<Id>{number(0)})));
  };
  EXPECT_DEATH(with_files(locked), "locked surface: evaluate");
}

TEST_F(ObjcMisuseDeathTest, ASurfaceThatIsFreedWhileLocked) {
  EXPECT_DEATH(
      {
        const Pool pool;
        IOSurface* it = surface();
        runtime().surface_lock(it, 0, nullptr);
        runtime().release(it);
      },
      "locked surface: a surface is freed");
}

TEST_F(ObjcMisuseDeathTest, ASymbolThatIsNone) {
  const auto misbound = [](Id model, auto&) {
    bring(model);
    evaluate(model, request(array(std::vector<Id>{wrapped(surface())}), array(std::vector<Id>{number(2)})));
  };
  EXPECT_DEATH(with_files(misbound), "wrong index: input index 2");
}

TEST_F(ObjcMisuseDeathTest, AFolderThatOthersMayRead) {
  const auto opened = [](Id model, const StagedProgram& staged) {
    std::filesystem::permissions(staged.folder(), std::filesystem::perms::others_read,
                                 std::filesystem::perm_options::add);
    bring(model);
  };
  EXPECT_DEATH(with_files(opened), "open folder");
}

TEST_F(ObjcMisuseDeathTest, WeightsOfAnotherName) {
  const Pool pool;
  EXPECT_DEATH(model_with(dictionary({{string("@model_path/weights/other.bin"), weight_entry()}})),
               "wrong argument: weights: names");
  EXPECT_DEATH(model_with(dictionary({{string("@model_path/weights/w.bin"), weight_entry()},
                                      {string("@model_path/weights/other.bin"), weight_entry()}})),
               "several weight files");
}

TEST_F(ObjcMisuseDeathTest, ArgumentsThatHardwareRefusesOrIgnores) {
  const Pool pool;
  EXPECT_DEATH(request(array({}), array({}), array({})), "wrong argument: weightsBuffer:");
  EXPECT_DEATH(request(array({}), array({}), nullptr, array({})), "wrong argument: perfStats:");
  const auto second = [](Id model, const StagedProgram&) {
    bring(model);
    evaluate(model, request(array({}), array({}), nullptr, nullptr, 1));
  };
  EXPECT_DEATH(with_files(second), "wrong index: procedure 1 of a program with 1");
  EXPECT_DEATH(
      {
        NSError* error = nullptr;
        send<Bool>(model(), "compileWithQoS:options:error:", 64u, nothing(), &error);
      },
      "wrong argument: .*quality of service 64");
}

TEST_F(ObjcMisuseDeathTest, ASurfaceWithoutASize) {
  const Pool pool;
  EXPECT_DEATH(runtime().surface_create(dictionary({{runtime().surface_width, number(64)}})),
               "wrong argument: IOSurfaceCreate without");
}

TEST_F(ObjcMisuseDeathTest, CollectionsUsedWrongly) {
  const Pool pool;
  EXPECT_DEATH(dictionary({{string("a"), number(1)}, {string("a"), number(2)}}), "doubled key");
  EXPECT_DEATH(send<Id>(array({}), "objectAtIndex:", NSUInteger(0)), "out of range");
}

TEST_F(ObjcMisuseDeathTest, AMessageToWhatIsNoObject) {
  std::array<uint64_t, 16> memory{};
  EXPECT_DEATH(send<Id>(reinterpret_cast<Id>(memory.data()), "model"), "no object");
}

// Every word that the classes complain with is called forth above.
TEST(ObjcMisuseWords, EachHasATest) {
  const auto root = std::filesystem::path(ANEDVD_TEST_DATA).parent_path();
  const auto text_of_file = [&](const char* path) {
    std::stringstream text;
    text << std::ifstream(root / path).rdbuf();
    return text.str();
  };
  const std::string tests = text_of_file("ane/objc_misuse_test.cpp");
  if (tests.empty()) GTEST_SKIP() << "the sources are not here";
  std::set<std::string> words = {"use after unload"};  // one of two words of one place
  for (const char* path :
       {"standin/foundation.cpp", "standin/neural_engine.cpp", "standin/runtime.cpp", "standin/surface.cpp"}) {
    const std::string source = text_of_file(path), mark = "complain(\"";
    for (size_t at = 0; (at = source.find(mark, at)) != std::string::npos; ++at)
      words.insert(source.substr(at + mark.size(), source.find('"', at + mark.size()) - at - mark.size()));
  }
  words.erase("no memory");  // of the machine
  EXPECT_GT(words.size(), 20u);
  for (const std::string& word : words) EXPECT_NE(tests.find("\"" + word), std::string::npos) << word;
}

}  // namespace
}  // namespace anedvd
