// A tokenizer and the file it borrows from, opened without loading weights.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "formats/tensor_source.h"
#include "text/tokenizer.h"

namespace anedvd {

struct OpenTokenizer {
  std::unique_ptr<TensorSource> source;  // null for a folder that has only a tokenizer.json
  std::unique_ptr<Tokenizer> tokenizer;
};

// `model`: a name, a .gguf file (also one that holds a vocabulary only), a Hugging Face folder, or a folder with only a tokenizer.json.
Result<OpenTokenizer> open_tokenizer(const std::string& model);

}  // namespace anedvd
