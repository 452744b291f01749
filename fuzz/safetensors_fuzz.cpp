// Reads arbitrary bytes as a safetensors file, an index and a config.json: every byte of every tensor, every setting in every way.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "formats/hf_config.h"
#include "formats/hf_index.h"
#include "formats/hf_names.h"
#include "formats/safetensors_contents.h"

namespace {

using namespace anedvd;

// One line that names the file, whatever the bytes are.
void check_message(const Error& error, std::string_view where) {
  if (error.message.find('\n') != std::string::npos) __builtin_trap();
  if (!error.message.starts_with(where)) __builtin_trap();
}

void read_tensors(std::span<const std::byte> file) {
  const auto contents = read_safetensors(file, "fuzz");
  if (!contents) return check_message(contents.error(), "fuzz: ");
  uint64_t sum = 0, covered = 0;
  const std::byte* end = nullptr;
  for (const TensorView& tensor : contents->tensors) {
    if (uint64_t(tensor.rows()) * uint64_t(tensor.row_bytes()) != tensor.bytes.size()) __builtin_trap();
    if (tensor.shape.empty() || tensor.shape.size() > 4 || tensor.bytes.empty()) __builtin_trap();
    if (end != nullptr && tensor.bytes.data() < end) __builtin_trap();
    end = tensor.bytes.data() + tensor.bytes.size();
    for (const std::byte byte : tensor.bytes) sum += uint64_t(byte);
    covered += tensor.bytes.size();
    sum += canonical_tensor_name(tensor.name).size() + uint64_t(is_vision_or_audio(tensor.name));
  }
  if (covered > file.size()) __builtin_trap();
  asm volatile("" : : "r"(sum));
}

void read_index(std::string_view text) {
  const auto index = read_hf_index(text, "fuzz");
  if (!index) return check_message(index.error(), "fuzz: ");
  for (const auto& [name, tensors] : *index)
    if (name.find('/') != std::string::npos || name.find('\0') != std::string::npos || name.starts_with("."))
      __builtin_trap();
}

void read_settings(std::string_view text) {
  const auto config = HfConfig::read(text, text, "fuzz");
  if (!config) return check_message(config.error(), "fuzz/");
  for (const auto& [key, words] : config->describe()) {
    if (words.find('\n') != std::string::npos) __builtin_trap();
    config->has(key);
    config->integer(key);
    config->number(key);
    config->boolean(key);
    config->string(key);
    config->array_size(key);
    (void)config->strings(key);
    (void)config->integers(key);
    (void)config->numbers(key);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_tensors(bytes);
  read_index(text);
  read_settings(text);
  // The same text behind an honest length, so that the fuzzer need not keep both in step.
  if (size > 0) {
    const uint64_t header = size - size % 5;
    std::string file(8, '\0');
    for (int i = 0; i < 8; ++i) file[size_t(i)] = char(header >> (8 * i));
    file += text;
    read_tensors(std::as_bytes(std::span(file)));
  }
  return 0;
}
