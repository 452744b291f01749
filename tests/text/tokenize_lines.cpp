// Tokenises many texts with one load of a vocabulary, for tools/text/tokenizer_parity.py. Not shipped.
//
// MODEL is a .gguf file, a tokenizer.json or a folder with one.
//
//   tokenize_lines MODEL < LINES        a line: FLAG HEX, where HEX is the text's bytes and FLAG is 1 if control tokens stand for tokens
//
// Answers each line with: the ids, a bar, and the hex bytes that the ids decode to (control tokens shown).
// `tokenize_lines MODEL --time FILE [REPEATS]` prints how long loading, the first call and the whole file take instead.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "formats/tensor_source.h"
#include "text/hf_tokenizer.h"
#include "text/tokenizer.h"

namespace {

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  return bytes;
}

// Processor time, so that other programs on the machine count less.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_since(double start) { return processor_seconds() - start; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  auto start = processor_seconds();
  const bool is_gguf = std::string_view(argv[1]).ends_with(".gguf");
  std::unique_ptr<anedvd::TensorSource> source;
  if (is_gguf) {
    auto opened_source = anedvd::open_model(argv[1]);
    if (!opened_source) return std::fprintf(stderr, "%s\n", opened_source.error().message.c_str()), 1;
    source = std::move(*opened_source);
  }
  const double opened = seconds_since(start);
  start = processor_seconds();
  const auto made =
      is_gguf ? anedvd::make_gguf_tokenizer(source->config(), argv[1]) : anedvd::make_hf_tokenizer(argv[1]);
  if (!made) return std::fprintf(stderr, "%s\n", made.error().message.c_str()), 1;
  const anedvd::Tokenizer& tokenizer = **made;
  if (argc >= 4 && std::string_view(argv[2]) == "--time") {
    const double loaded = seconds_since(start);
    start = processor_seconds();
    tokenizer.encode("Hello", anedvd::Specials::kAsText);
    const double first = seconds_since(start);
    std::ifstream file(argv[3], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const int repeats = argc > 4 ? std::atoi(argv[4]) : 1;
    std::printf("open %.4f s, make %.4f s, first encode %.4f s\n", opened, loaded, first);
    for (int i = 0; i < repeats; ++i) {
      start = processor_seconds();
      const auto ids = tokenizer.encode(text, anedvd::Specials::kAsText);
      const double taken = seconds_since(start);
      std::printf("%zu bytes, %zu ids, %.3f s, %.2f MB/s\n", text.size(), ids.size(), taken,
                  static_cast<double>(text.size()) / 1e6 / taken);
    }
    return 0;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    const bool as_tokens = !line.empty() && line[0] == '1';
    const std::string text = from_hex(std::string_view(line).substr(std::min<size_t>(line.size(), 2)));
    const auto ids = tokenizer.encode(text, as_tokens ? anedvd::Specials::kAsTokens : anedvd::Specials::kAsText);
    for (const anedvd::Token id : ids) std::printf("%d ", id);
    const std::string decoded = anedvd::text_of(tokenizer, ids, true);
    std::fputs("|", stdout);
    for (const char byte : decoded) std::printf("%02x", static_cast<unsigned char>(byte));
    std::fputs("\n", stdout);
  }
  return 0;
}
