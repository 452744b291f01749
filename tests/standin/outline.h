// What a program takes and gives, as the compiler service tells it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "backend.h"
#include "mil_reader.h"

namespace standin {

// Sorted by name, whatever the text's order: that is what symbols are.
struct Outline {
  std::vector<TensorInfo> inputs, outputs;
};

// nullopt unless every input and output is a [1, C, 1, W] tensor.
std::optional<Outline> outline_of(const MilFunction& function);

// The only procedure of a program with that outline.
std::vector<Procedure> procedures_of(const Outline& outline);

std::string content_of(const std::filesystem::path& path);

// What the compiler says of a text that it does not take.
Failure invalid_program();
// What the service says when a program is to be loaded that it never compiled.
Failure not_compiled();

}  // namespace standin
