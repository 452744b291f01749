// What of the private framework is here: asked before any message is sent, printed by `anedvd info`.
//
// An update of the system that renames a class or a selector then gives a readable table and a refusal, not "unrecognized selector".
#pragma once

#include <string>
#include <vector>

#include "ane/objc/runtime.h"

namespace anedvd::objc {

struct InventoryEntry {
  std::string class_name;
  std::string selector;  // "+name:" of the class, "-name:" of its objects; empty: the class itself
  bool required = false;
  enum class State {
    kFound,
    kOtherType,  // there, but its arguments are encoded otherwise than we send them
    kMissing,
  } state = State::kMissing;
  std::string encoding;  // as the runtime tells it, digits removed; empty for a class
};

// Every class and selector that the bridge may use, in a fixed order. load_runtime() must have succeeded.
std::vector<InventoryEntry> take_inventory();

// kDevice naming the first required entry that is missing or has other types.
Result<> check_inventory(const std::vector<InventoryEntry>& inventory);

// The table as text, one line an entry: "found       optional  _ANEInMemoryModel -model".
std::string inventory_table(const std::vector<InventoryEntry>& inventory);

}  // namespace anedvd::objc
