// tests/text/tokenize_lines.cpp's protocol, answered by llama.cpp. tools/text/tokenizer_parity.py compiles it against a llama.cpp tree.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "llama.h"

static std::string from_hex(const std::string& line, size_t from) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (size_t i = from; i + 1 < line.size(); i += 2)
    bytes.push_back(static_cast<char>(digit(line[i]) * 16 + digit(line[i + 1])));
  return bytes;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  llama_model* model = llama_model_load_from_file(argv[1], params);
  if (model == nullptr) return std::fprintf(stderr, "llama.cpp cannot load %s\n", argv[1]), 1;
  const llama_vocab* vocab = llama_model_get_vocab(model);
  std::string line;
  std::vector<llama_token> ids;
  while (std::getline(std::cin, line)) {
    const std::string text = from_hex(line, 2);
    ids.resize(text.size() * 4 + 16);
    const int count = llama_tokenize(vocab, text.data(), static_cast<int>(text.size()), ids.data(),
                                     static_cast<int>(ids.size()), false, line[0] == '1');
    std::string decoded;
    for (int i = 0; i < count; ++i) {
      std::printf("%d ", ids[i]);
      char piece[4096];
      const int length = llama_token_to_piece(vocab, ids[i], piece, sizeof piece, 0, true);
      if (length > 0) decoded.append(piece, static_cast<size_t>(length));
    }
    std::fputs("|", stdout);
    for (const char byte : decoded) std::printf("%02x", static_cast<unsigned char>(byte));
    std::fputs("\n", stdout);
  }
  return 0;
}
