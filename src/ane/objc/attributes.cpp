#include "ane/objc/attributes.h"

#include <limits>

#include "ane/objc/foundation.h"

namespace anedvd::objc {
namespace {

constexpr size_t kMostProcedures = 4096;  // the largest bank that was published has 256

std::vector<std::string> names_in(Id array) {
  std::vector<std::string> out;
  // An element that is no string keeps its place: positions are indices.
  for (Id item : items_of(array)) out.push_back(text_of(item).value_or(""));
  return out;
}

// Indices come as an array of numbers, or as an NSIndexSet on some systems.
std::vector<int> indices_in(Id list) {
  std::vector<int64_t> wide = members_of(list);
  for (Id item : items_of(list)) wide.push_back(number_of(item).value_or(-1));
  std::vector<int> out;
  for (int64_t index : wide) out.push_back(index >= 0 && index <= std::numeric_limits<int>::max() ? int(index) : -1);
  return out;
}

LiveTensor tensor_in(Id entry) {
  LiveTensor out;
  out.name = text_at(entry, "Name").value_or("");
  out.symbol = text_at(entry, "Symbol").value_or("");
  out.type = text_at(entry, "Type").value_or("");
  const std::pair<const char*, int64_t*> numbers[] = {{"Batches", &out.batches},
                                                      {"Channels", &out.channels},
                                                      {"Depth", &out.depth},
                                                      {"Height", &out.height},
                                                      {"Width", &out.width},
                                                      {"BatchStride", &out.batch_stride},
                                                      {"DepthStride", &out.depth_stride},
                                                      {"PlaneStride", &out.plane_stride},
                                                      {"RowStride", &out.row_stride},
                                                      {"PlaneCount", &out.plane_count},
                                                      {"Interleave", &out.interleave}};
  for (const auto& [key, number] : numbers) *number = number_at(entry, key).value_or(0);
  return out;
}

std::vector<LiveTensor> tensors_in(Id list) {
  std::vector<LiveTensor> out;
  for (Id entry : items_of(list)) out.push_back(tensor_in(entry));
  return out;
}

std::string name_of_procedure(Id names, int id) {
  if (!is_kind(names, "NSDictionary")) return "";
  for (Id key : items_of(send<NSArray*>(names, "allKeys"))) {
    const auto name = text_of(key);
    if (name && number_at(names, name->c_str()) == id) return *name;
  }
  return "";
}

}  // namespace

DriverResult<ModelAttributes> read_attributes(Id attributes) {
  if (!is_kind(attributes, "NSDictionary"))
    return tl::unexpected(own_failure("the loaded program tells no attributes"));
  ModelAttributes out;
  Id description = value_of(attributes, "ANEFModelDescription");
  out.input_symbols = names_in(value_of(description, "kANEFModelInputSymbolsArrayKey"));
  out.output_symbols = names_in(value_of(description, "kANEFModelOutputSymbolsArrayKey"));

  const std::vector<Id> statuses = items_of(value_of(attributes, "NetworkStatusList"));
  if (statuses.empty() || statuses.size() > kMostProcedures)
    return tl::unexpected(own_failure("the loaded program's attributes list no tensors"));
  const std::vector<Id> procedures = items_of(value_of(description, "ANEFModelProcedures"));
  Id names = value_of(description, "kANEFModelProcedureNameToIDMapKey");
  for (size_t i = 0; i < statuses.size(); ++i) {
    ProcedureAttributes procedure;
    procedure.inputs = tensors_in(value_of(statuses[i], "LiveInputList"));
    procedure.outputs = tensors_in(value_of(statuses[i], "LiveOutputList"));
    procedure.id = int(i);
    if (i < procedures.size()) {
      procedure.id = int(number_at(procedures[i], "ANEFModelProcedureID").value_or(int64_t(i)));
      procedure.input_indices = indices_in(value_of(procedures[i], "ANEFModelInputSymbolIndexArray"));
      procedure.output_indices = indices_in(value_of(procedures[i], "ANEFModelOutputSymbolIndexArray"));
    }
    procedure.name = name_of_procedure(names, procedure.id);
    if (procedure.name.empty() && statuses.size() == 1) procedure.name = "main";
    out.procedures.push_back(std::move(procedure));
  }
  return out;
}

}  // namespace anedvd::objc
