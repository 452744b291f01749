// The stand-in notices what Apple's runtime would crash of or swallow: each wrong message ends the process with its word.
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
  static Id request(Id inputs, Id indices) {
    return send<Id>(class_named("_ANERequest"),
                    "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
                    inputs, indices, array({}), array({}), Id(nullptr), Id(nullptr), number(0));
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

}  // namespace
}  // namespace anedvd
