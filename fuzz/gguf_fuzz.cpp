// Opens arbitrary bytes as a GGUF file and reads everything it offers: every setting in every way, every byte of every tensor.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "formats/gguf_contents.h"

namespace {

// Keys are not listed by the interface but their shown form is; it is the key itself unless control characters were escaped.
void read_settings(const anedvd::ConfigView& config) {
  for (const auto& [key, words] : config.describe()) {
    config.has(key);
    config.integer(key);
    config.number(key);
    config.boolean(key);
    config.string(key);
    config.array_size(key);
    if (const auto strings = config.strings(key)) {
      size_t total = 0;
      for (const std::string_view text : *strings) total += text.empty() ? 0 : size_t(text.back());
      asm volatile("" : : "r"(total));
    }
    (void)config.integers(key);
    (void)config.numbers(key);
  }
}

void read_tensors(const std::vector<anedvd::TensorView>& tensors) {
  uint64_t sum = 0;
  for (const anedvd::TensorView& tensor : tensors) {
    if (uint64_t(tensor.rows()) * uint64_t(tensor.row_bytes()) != tensor.bytes.size()) __builtin_trap();
    if (tensor.shape.empty() || tensor.shape.size() > 4) __builtin_trap();
    sum += uint64_t(tensor.row(tensor.rows() - 1).back());
    sum += uint64_t(tensor.bytes.front());
  }
  asm volatile("" : : "r"(sum));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto contents = anedvd::read_gguf(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!contents) {
    // One line, whatever the file holds.
    if (contents.error().message.find('\n') != std::string::npos) __builtin_trap();
    if (!contents.error().message.starts_with("fuzz.gguf: ")) __builtin_trap();
    return 0;
  }
  read_settings(contents->metadata);
  read_tensors(contents->tensors);
  return 0;
}
