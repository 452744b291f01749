#include "engine/cache_identity.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/sha256.h"

namespace anedvd {
namespace {

// Pages of another version are not found.
constexpr std::string_view kKernels = "kernels 1";

// Reading all of a large file would take longer than computing the prompt: its first bytes, its last ones and some between.
constexpr size_t kSample = 64, kSamples = 16;

void add_text(Sha256& digest, std::string_view text) {
  digest.add(std::as_bytes(std::span(text.data(), text.size())));
  digest.add(std::as_bytes(std::span("\n", 1)));
}

void add_samples(Sha256& digest, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < kSamples; ++i) {
    const size_t most = bytes.size() > kSample ? bytes.size() - kSample : 0;
    const size_t at = most / (kSamples - 1) * i;
    digest.add(bytes.subspan(at, std::min(kSample, bytes.size() - at)));
  }
}

template <class T>
void add_numbers(Sha256& digest, std::span<const T> numbers) {
  digest.add(std::as_bytes(numbers));
}

}  // namespace

std::string plan_digest(const Plan& plan) {
  Sha256 digest;
  for (const Op& op : plan.ops)
    add_text(digest, fmt::format("{} {} {} {} {} {}", op_name(op.kind), op.param, op.group, op.spec, op.out,
                                 plan.values[size_t(op.out)].dim));
  for (const PlanRope& rope : plan.ropes) {
    add_text(digest, fmt::format("{} {}", rope.rotated, rope.magnitude));
    add_numbers<double>(digest, rope.inverse_frequency);
  }
  for (const PlanAttention& attention : plan.attentions)
    add_text(digest, fmt::format("{} {} {} {} {} {} {}", attention.cache_layer, attention.heads, attention.kv_heads,
                                 attention.head_dim, attention.window.value_or(0), attention.scale, attention.softcap));
  for (const WeightRef& weight : plan.weights)
    add_text(digest, fmt::format("{} {} {} {}", weight.tensor, weight.first_row, int(weight.order), weight.add));
  return digest.finish();
}

std::string cache_identity(const Runtime& runtime) {
  Sha256 digest;
  add_text(digest, kKernels);
  add_text(digest, runtime.info().device);
  add_text(digest, runtime.info().arithmetic);
  for (const TensorView& tensor : runtime.source().tensors()) {
    add_text(digest, fmt::format("{} {} {}", tensor.name, int(tensor.dtype), tensor.bytes.size()));
    add_samples(digest, tensor.bytes);
  }
  return digest.finish();
}

}  // namespace anedvd
