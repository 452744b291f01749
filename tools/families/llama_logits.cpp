// What llama.cpp computes for prompts of token ids: the other reference beside transformers, for family_matrix.py.
//
//   llama_logits MODEL.gguf PROMPTS OUT
//
// PROMPTS: a line a prompt, ids with spaces between. OUT: float32 [prompts, vocabulary], the logits of each prompt's last token. Standard output: a
// line a prompt, the best id at each position; then 32 greedy ids after the second prompt. Build (LLAMA: a built llama.cpp source tree):
//
//   g++ -std=c++20 -O2 tools/families/llama_logits.cpp -I LLAMA/include -I LLAMA/ggml/include -L LLAMA/build/bin -lllama -lggml -lggml-base
//     -Wl,-rpath,LLAMA/build/bin -o llama_logits
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "llama.h"

namespace {

std::vector<std::vector<llama_token>> read_prompts(const char* path) {
  std::vector<std::vector<llama_token>> prompts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    prompts.emplace_back();
    for (llama_token id; words >> id;) prompts.back().push_back(id);
  }
  return prompts;
}

void add(llama_batch& batch, llama_token token, int position) {
  batch.token[batch.n_tokens] = token;
  batch.pos[batch.n_tokens] = position;
  batch.n_seq_id[batch.n_tokens] = 1;
  batch.seq_id[batch.n_tokens][0] = 0;
  batch.logits[batch.n_tokens] = 1;
  ++batch.n_tokens;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  auto prompts = read_prompts(argv[2]);
  std::ofstream out(argv[3], std::ios::binary);
  std::string greedy;
  for (size_t p = 0; p < prompts.size(); ++p) {
    llama_context_params params = llama_context_default_params();
    // Longrope is chosen by the allotted context: short prompts get a short one.
    params.n_ctx = prompts[p].size() + 32 <= 64 ? 64 : 512;
    params.n_batch = params.n_ubatch = 512;
    params.n_threads = params.n_threads_batch = 1;
    llama_context* context = llama_init_from_model(model, params);
    if (context == nullptr) return 1;
    const auto best = [&](int i) {
      const float* logits = llama_get_logits_ith(context, i);
      return int(std::max_element(logits, logits + vocabulary) - logits);
    };
    llama_batch batch = llama_batch_init(512, 0, 1);
    for (size_t i = 0; i < prompts[p].size(); ++i) add(batch, prompts[p][i], int(i));
    if (llama_decode(context, batch) != 0) return 1;
    const int count = batch.n_tokens;
    for (int i = 0; i < count; ++i) std::printf("%d%c", best(i), i + 1 == count ? '\n' : ' ');
    out.write(reinterpret_cast<const char*>(llama_get_logits_ith(context, count - 1)),
              long(sizeof(float)) * vocabulary);
    if (p == 1) {
      int next = best(count - 1);
      for (int step = 0; step < 32; ++step) {
        greedy += std::to_string(next) + (step == 31 ? "\n" : " ");
        batch.n_tokens = 0;
        add(batch, next, count + step);
        if (llama_decode(context, batch) != 0) return 1;
        next = best(0);
      }
    }
    llama_batch_free(batch);
    llama_free(context);
  }
  std::fputs(greedy.c_str(), stdout);
  llama_model_free(model);
}
