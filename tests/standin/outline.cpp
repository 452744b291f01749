#include "outline.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

namespace standin {
namespace {

std::optional<TensorInfo> info_of(const std::string& type, const std::string& name) {
  const auto dims = dimensions_of(type);
  if (dims.size() != 4 || dims[0] != 1 || dims[2] != 1) return std::nullopt;
  return TensorInfo{name, dims[1], dims[3]};
}

void sort_by_name(std::vector<TensorInfo>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

}  // namespace

std::optional<Outline> outline_of(const MilFunction& function) {
  Outline out;
  std::map<std::string, std::string> types;
  for (const MilParameter& parameter : function.parameters) {
    const auto info = info_of(parameter.type, parameter.name);
    if (!info) return std::nullopt;
    out.inputs.push_back(*info);
  }
  for (const MilStatement& statement : function.statements) types[statement.name] = statement.type;
  for (const std::string& result : function.results) {
    const auto info = info_of(types[result], result);
    if (!info) return std::nullopt;
    out.outputs.push_back(*info);
  }
  sort_by_name(out.inputs);
  sort_by_name(out.outputs);
  return out;
}

std::vector<Procedure> procedures_of(const Outline& outline) {
  Procedure main{"main", {}, {}};
  for (const TensorInfo& tensor : outline.inputs) main.inputs.push_back({int(main.inputs.size()), tensor});
  for (const TensorInfo& tensor : outline.outputs) main.outputs.push_back({int(main.outputs.size()), tensor});
  return {main};
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

Failure invalid_program() {
  return {"com.apple.appleneuralengine.compiler", 1, "_ANECompiler : ANECCompile() FAILED err=(InvalidMILProgram)",
          std::nullopt};
}

Failure not_compiled() {
  return {"com.apple.appleneuralengine", 5, "Program load failed — not compiled", std::nullopt};
}

}  // namespace standin
