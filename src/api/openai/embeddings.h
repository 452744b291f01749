// /v1/embeddings: one vector a text, from the loaded model's own hidden states.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/generation/generation_job.h"

namespace anedvd {

struct EmbeddingsJob {
  std::string model;
  std::vector<RawPrompt> inputs;
  bool as_base64 = false;
  int dimensions = 0;  // 0: all
};

ApiResult<EmbeddingsJob> read_embeddings_request(const nlohmann::ordered_json& body);

ApiResult<std::unique_ptr<Response>> start_embeddings(std::shared_ptr<ServedModel> model, const EmbeddingsJob& job,
                                                      bool no_queue, std::string request_id);

// Little-endian float32, base64 (RFC 4648).
std::string base64_of(const std::vector<float>& values);

}  // namespace anedvd
