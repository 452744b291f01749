#include <algorithm>

#include "ane/objc/inventory.h"
#include "ane/objc_fixture.h"

namespace anedvd {
namespace {

using objc::InventoryEntry;

class ObjcInventory : public test::StandIn {};

const InventoryEntry* find(const std::vector<InventoryEntry>& all, const std::string& owner,
                           const std::string& selector) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& entry) {
    return entry.class_name == owner && entry.selector == selector;
  });
  return found == all.end() ? nullptr : &*found;
}

TEST_F(ObjcInventory, FindsEverythingInTheStandIn) {
  const auto all = objc::take_inventory();
  for (const InventoryEntry& entry : all)
    EXPECT_EQ(entry.state, InventoryEntry::State::kFound)
        << entry.class_name << " " << entry.selector << " " << entry.encoding;
  EXPECT_TRUE(objc::check_inventory(all));
  const auto* evaluate = find(all, "_ANEInMemoryModel", "-evaluateWithQoS:options:request:error:");
  ASSERT_NE(evaluate, nullptr);
  EXPECT_EQ(evaluate->encoding, "B@:I@@^@");
}

TEST_F(ObjcInventory, NamesARequiredClassThatIsMissing) {
  order("hide=_ANERequest");
  const auto all = objc::take_inventory();
  const auto checked = objc::check_inventory(all);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kDevice);
  EXPECT_NE(checked.error().message.find("_ANERequest"), std::string::npos) << checked.error().message;
  EXPECT_NE(objc::inventory_table(all).find("missing     required  _ANERequest\n"), std::string::npos)
      << objc::inventory_table(all);
  const std::string library = ANEDVD_STANDIN_LIBRARY;
  EXPECT_FALSE(objc::open_objc_driver({library, library, library, library}));
}

TEST_F(ObjcInventory, DoesWithoutWhatIsOptional) {
  order(
      "hide=_ANEInMemoryModel -compiledModelExists|hide=_ANEInMemoryModel -localModelPath|hide=_ANEInMemoryModel "
      "-model");
  EXPECT_TRUE(objc::check_inventory(objc::take_inventory()));
  auto driver = open();
  auto staged = driver->stage(test::two_sided_program(1, 1), WeightFile(), DictionaryContent::kDigest);
  ASSERT_TRUE(staged);
  EXPECT_FALSE((*staged)->is_compiled());
  ASSERT_TRUE((*staged)->compile());
  auto loaded = (*staged)->load();
  ASSERT_TRUE(loaded) << words_of(loaded.error());
  EXPECT_EQ((*loaded)->attributes().input_symbols, (std::vector<std::string>{"a", "b"}));
}

TEST(ObjcRuntime, SaysThatThereIsNoFramework) {
  const auto loaded = objc::load_runtime({"/no/such/libobjc", "/no/such/a", "/no/such/b", "/no/such/c"});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("/no/such/"), std::string::npos) << loaded.error().message;
}

}  // namespace
}  // namespace anedvd
