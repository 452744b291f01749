// Log-probabilities of a step's logits.
#pragma once

#include <span>

#include "engine/request.h"

namespace anedvd {

// `token` under softmax(logits) at temperature 1, and the `top` most probable tokens (fewer if the vocabulary is smaller).
TokenRecord record_of(std::span<const float> logits, Token token, int top);

}  // namespace anedvd
