// Reads the outline of a MIL program: enough for the tiny backend. It shares no line with the writer or with the simulator's parser.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace standin {

struct MilStatement {
  std::string type, name, operation;
  std::map<std::string, std::string> arguments;   // raw text of each value
  std::map<std::string, std::string> attributes;  // "name", "val": raw text
};

struct MilParameter {
  std::string type, name;
};

struct MilFunction {
  std::vector<MilParameter> parameters;
  std::vector<MilStatement> statements;
  std::vector<std::string> results;
};

// The function `main`; nullopt when the text is not understood.
std::optional<MilFunction> read_mil(std::string_view text);

// The numbers in the square brackets of "tensor<fp16, [1, 8, 1, 4]>".
std::vector<long long> dimensions_of(std::string_view type);

}  // namespace standin
