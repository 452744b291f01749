#include "ane/objc/inventory.h"

#include <algorithm>
#include <cctype>

#include "ane/objc/message.h"

namespace anedvd::objc {
namespace {

struct Row {
  const char* class_name;
  const char* selector;  // "" for the class
  bool required;
  const char*
      encoding;  // result and arguments by method_getTypeEncoding without digits (docs/ane.md#selectors); "" where none was published
};

constexpr bool kRequired = true;
constexpr bool kOptional = false;

// Foundation is public and stable, yet listed: the stand-in must have what the bridge sends.
constexpr Row kRows[] = {
    {"NSString", "", kRequired, ""},
    {"NSString", "+stringWithUTF8String:", kRequired, ""},
    {"NSString", "-UTF8String", kRequired, ""},
    {"NSNumber", "", kRequired, ""},
    {"NSNumber", "+numberWithLongLong:", kRequired, ""},
    {"NSNumber", "-longLongValue", kRequired, ""},
    {"NSData", "", kRequired, ""},
    {"NSData", "+dataWithBytes:length:", kRequired, ""},
    {"NSData", "+dataWithBytesNoCopy:length:freeWhenDone:", kRequired, ""},
    {"NSArray", "", kRequired, ""},
    {"NSArray", "+arrayWithObjects:count:", kRequired, ""},
    {"NSArray", "-count", kRequired, ""},
    {"NSArray", "-objectAtIndex:", kRequired, ""},
    {"NSDictionary", "", kRequired, ""},
    {"NSDictionary", "+dictionaryWithObjects:forKeys:count:", kRequired, ""},
    {"NSDictionary", "-objectForKey:", kRequired, ""},
    {"NSDictionary", "-allKeys", kRequired, ""},
    {"NSError", "", kRequired, ""},
    {"NSError", "-domain", kRequired, ""},
    {"NSError", "-code", kRequired, ""},
    {"NSError", "-localizedDescription", kRequired, ""},
    {"NSError", "-userInfo", kRequired, ""},
    {"NSIndexSet", "-firstIndex", kOptional, ""},
    {"NSIndexSet", "-indexGreaterThanIndex:", kOptional, ""},
    {"_ANEInMemoryModelDescriptor", "", kRequired, ""},
    {"_ANEInMemoryModelDescriptor", "+modelWithMILText:weights:optionsPlist:", kRequired, "@@:@@@"},
    {"_ANEInMemoryModel", "", kRequired, ""},
    {"_ANEInMemoryModel", "+inMemoryModelWithDescriptor:", kRequired, "@@:@"},
    {"_ANEInMemoryModel", "-hexStringIdentifier", kRequired, "@@:"},
    {"_ANEInMemoryModel", "-compileWithQoS:options:error:", kRequired, "B@:I@^@"},
    {"_ANEInMemoryModel", "-loadWithQoS:options:error:", kRequired, "B@:I@^@"},
    {"_ANEInMemoryModel", "-evaluateWithQoS:options:request:error:", kRequired, "B@:I@@^@"},
    {"_ANEInMemoryModel", "-unloadWithQoS:error:", kOptional, "B@:I^@"},
    {"_ANEInMemoryModel", "-modelAttributes", kRequired, "@@:"},
    {"_ANEInMemoryModel", "-compiledModelExists", kOptional, "B@:"},
    {"_ANEInMemoryModel", "-localModelPath", kOptional, "@@:"},
    {"_ANEInMemoryModel", "-setDescriptor:", kOptional, "v@:@"},
    {"_ANEInMemoryModel", "-model", kOptional, "@@:"},
    {"_ANEModel", "-modelAttributes", kOptional, "@@:"},
    {"_ANERequest", "", kRequired, ""},
    {"_ANERequest", "+requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
     kRequired, "@@:@@@@@@@"},
    {"_ANEIOSurfaceObject", "", kRequired, ""},
    {"_ANEIOSurfaceObject", "+objectWithIOSurface:", kRequired, "@@:^{__IOSurface=}"},
    {"_ANEDeviceInfo", "+hasANE", kOptional, "B@:"},
    {"_ANEDeviceInfo", "+aneSubType", kOptional, "@@:"},
    {"_ANEDeviceInfo", "+buildVersion", kOptional, "@@:"},
};

// "B24@0:8I16@20^@28" → "B@:I@^@". A signed char is BOOL where BOOL is no bool.
std::string bare_encoding(const char* encoding) {
  std::string out;
  int depth = 0;  // names of structures are no types
  for (const char* c = encoding; c != nullptr && *c != '\0'; ++c) {
    depth += *c == '{' ? 1 : *c == '}' ? -1 : 0;
    if (depth == 0 && std::isdigit(static_cast<unsigned char>(*c)) != 0) continue;
    out += depth == 0 && *c == 'c' ? 'B' : *c;
  }
  return out;
}

InventoryEntry look_up(const Row& row) {
  InventoryEntry out{row.class_name, row.selector, row.required, InventoryEntry::State::kMissing, ""};
  const Runtime& rt = runtime();
  Class* found = rt.get_class(row.class_name);
  if (found == nullptr) return out;
  if (*row.selector == '\0') {
    out.state = InventoryEntry::State::kFound;
    return out;
  }
  const Selector selector = rt.register_selector(row.selector + 1);
  Method* method = *row.selector == '+' ? rt.class_method(found, selector) : rt.instance_method(found, selector);
  if (method == nullptr) return out;
  out.encoding = bare_encoding(rt.method_encoding(method));
  // A runtime that tells no encoding cannot contradict.
  const bool differs = *row.encoding != '\0' && !out.encoding.empty() && out.encoding != row.encoding;
  out.state = differs ? InventoryEntry::State::kOtherType : InventoryEntry::State::kFound;
  return out;
}

const char* word_of(InventoryEntry::State state) {
  switch (state) {
    case InventoryEntry::State::kFound: return "found";
    case InventoryEntry::State::kOtherType: return "other type";
    case InventoryEntry::State::kMissing: return "missing";
  }
  return "";
}

}  // namespace

std::vector<InventoryEntry> take_inventory() {
  std::vector<InventoryEntry> out;
  for (const Row& row : kRows) out.push_back(look_up(row));
  return out;
}

Result<> check_inventory(const std::vector<InventoryEntry>& inventory) {
  for (const InventoryEntry& entry : inventory) {
    if (!entry.required || entry.state == InventoryEntry::State::kFound) continue;
    if (entry.state == InventoryEntry::State::kMissing)
      return fail(ErrorCode::kDevice, "{} {}: missing on this system; use --device cpu, and report `anedvd info`",
                  entry.class_name, entry.selector);
    return fail(ErrorCode::kDevice, "{} {}: takes \"{}\" on this system; use --device cpu, and report `anedvd info`",
                entry.class_name, entry.selector, entry.encoding);
  }
  return {};
}

std::string inventory_table(const std::vector<InventoryEntry>& inventory) {
  std::string out;
  for (const InventoryEntry& entry : inventory) {
    out += fmt::format("{:<10}  {:<8}  {}", word_of(entry.state), entry.required ? "required" : "optional",
                       entry.class_name);
    if (!entry.selector.empty()) out += " " + entry.selector;
    if (entry.state == InventoryEntry::State::kOtherType) out += "  " + entry.encoding;
    out += '\n';
  }
  return out;
}

}  // namespace anedvd::objc
