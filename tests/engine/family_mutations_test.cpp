// Every feature of every family bites: with one thing changed in the spec or the plan, the fixture's logits leave the tolerance of families_test.cpp
// several times over. A fixture that would not notice a missing feature fails here.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cpu/cpu_executable.h"
#include "formats/tensor_source.h"
#include "kv/sequence_cache.h"
#include "model/family.h"
#include "model/plan_builder.h"
#include "model/rope_scaling.h"
#include "support_npy.h"

namespace anedvd {
namespace {

const std::filesystem::path kFamilies = std::filesystem::path(ANEDVD_TEST_DATA) / "families";
constexpr double kUnchanged = 4e-3;  // families_test.cpp's kExactTolerance
constexpr double kChanged = 1.2e-2;

struct Mutation {
  std::string family, name;
  std::function<void(ModelSpec&)> spec = {};
  std::function<void(Plan&)> plan = {};
};

std::filesystem::path model_of(const std::string& family) {
  const auto folder = kFamilies / family;
  return std::filesystem::exists(folder / "model.gguf") ? folder / "model.gguf" : folder;
}

// The last logits of `tokens` in exact mode.
Result<std::vector<float>> last_logits(const Mutation& mutation, std::span<const int32_t> tokens) {
  ANEDVD_TRY(const auto source, open_model(model_of(mutation.family)));
  ANEDVD_TRY(const Family* family, find_family(*source));
  ANEDVD_TRY(ModelSpec spec, family->read(*source));
  if (mutation.spec) mutation.spec(spec);
  const int context = tokens.size() <= 64 ? 64 : 512;
  ANEDVD_TRY(Plan plan, build_plan(spec, *family, *source, context));
  if (mutation.plan) mutation.plan(plan);
  const KvLayout layout(plan.cache);
  const auto find = [&](std::string_view name) { return source->find(name); };
  ANEDVD_TRY(CpuProgram program, compile_for_cpu(plan, layout, find, {.threads = 1, .max_columns = 64, .exact = true}));
  PagePool pool(layout.page_bytes(), INT64_MAX);
  SequenceCache cache(pool);
  ANEDVD_TRY_VOID(cache.reserve(int(tokens.size())));
  for (size_t done = 0; done < tokens.size();) {
    const size_t count = std::min<size_t>(64, tokens.size() - done);
    Slice slice;
    slice.kv.pages = cache.pages();
    slice.first_position = int(done);
    slice.tokens = tokens.subspan(done, count);
    ANEDVD_TRY_VOID(program.executable->run({&slice, 1}));
    done += count;
  }
  const auto row = program.executable->logits(0);
  return std::vector<float>(row.begin(), row.end());
}

// The worst relative error over the prompts of 40 and 150 tokens.
Result<double> error_of(const Mutation& mutation) {
  const auto folder = kFamilies / mutation.family;
  ANEDVD_TRY(const auto json, parse_json(testing_support::read_file(folder / "golden.json"), mutation.family));
  const std::vector<float> golden = testing_support::read_npy(folder / "logits.npy");
  const size_t vocab = golden.size() / json.at("prompts").size();
  double worst = 0;
  for (const size_t i : {2, 4}) {
    const auto tokens = json.at("prompts")[i].get<std::vector<int32_t>>();
    ANEDVD_TRY(const std::vector<float> got, last_logits(mutation, tokens));
    double difference = 0, largest = 0;
    for (size_t v = 0; v < vocab; ++v) {
      const double want = double(golden[i * vocab + v]);
      difference = std::max(difference, std::fabs(want - double(got[v])));
      largest = std::max(largest, std::fabs(want));
    }
    worst = std::max(worst, std::isfinite(difference) ? difference / largest : 1e9);
  }
  return worst;
}

// --- what can be changed ---------------------------------------------------------------------------------------------

auto for_layers(std::function<void(LayerSpec&)> change) {
  return [change](ModelSpec& spec) { std::for_each(spec.layers.begin(), spec.layers.end(), change); };
}

auto window_by(int difference) {
  return for_layers([difference](LayerSpec& layer) {
    if (layer.window) *layer.window += difference;
  });
}

auto no_window() {
  return for_layers([](LayerSpec& layer) { layer.window.reset(); });
}

auto scores_by(float factor) {
  return for_layers([factor](LayerSpec& layer) { layer.attention_scale *= factor; });
}

auto experts(std::function<void(MoeSpec&)> change) {
  return for_layers([change](LayerSpec& layer) {
    if (layer.moe) change(*layer.moe);
  });
}

auto rope_base(size_t rope, double base) {
  return
      [=](ModelSpec& spec) { spec.ropes[rope].inverse_frequency = plain_frequencies(base, spec.ropes[rope].rotated); };
}

// Drops the biases of the linears whose value ends like this.
auto no_bias(std::string value) {
  return [value](Plan& plan) {
    for (Op& op : plan.ops)
      if (op.kind == OpKind::kLinear && plan.values[size_t(op.out)].name.ends_with("." + value)) op.bias = -1;
  };
}

// Turns a step into one that leaves its input as it is.
auto skip(OpKind kind) {
  return [kind](Plan& plan) {
    for (Op& op : plan.ops)
      if (op.kind == kind) {
        op.kind = OpKind::kScale;
        op.in[1] = -1;
        op.param = 1;
      }
  };
}

const Mutation kMutations[] = {
    {"llama", "rows of q and k taken for half-split", [](ModelSpec& s) { s.adjacent_rope_rows = false; }},
    {"llama", "rope_freqs ignored", rope_base(0, 700)},
    {"llama", "rope base", rope_base(0, 10000)},
    {"llama", "norm epsilon", [](ModelSpec& s) { s.norm_eps = 0.1f; }},
    {"llama", "no bias of q", {}, no_bias("q")},
    {"llama", "no bias of v", {}, no_bias("v")},
    {"llama", "no bias of o", {}, no_bias("o")},
    {"llama", "no bias of gate", {}, no_bias("gate")},
    {"llama", "no bias of up", {}, no_bias("up")},
    {"llama", "no bias of down", {}, no_bias("down")},
    {"llama", "head tied", [](ModelSpec& s) { s.tied_head = true; }},
    {"llama-linear", "no linear scaling", rope_base(0, 900)},
    {"mistral", "window + 1", window_by(1)},
    {"mistral", "window − 1", window_by(-1)},
    {"mistral", "no window", no_window()},
    {"mixtral", "weights not divided by their sum", experts([](MoeSpec& m) { m.renormalise = false; })},
    {"mixtral", "one expert less", experts([](MoeSpec& m) { --m.experts_used; })},
    {"mixtral", "one expert more", experts([](MoeSpec& m) { ++m.experts_used; })},
    {"qwen2", "no bias of q", {}, no_bias("q")},
    {"qwen2", "no bias of v", {}, no_bias("v")},
    {"qwen2", "rows of q and k taken for adjacent", [](ModelSpec& s) { s.adjacent_rope_rows = true; }},
    {"qwen2-yarn", "no magnitude", [](ModelSpec& s) { s.ropes[0].magnitude = 1; }},
    {"qwen2-yarn", "no interpolation", rope_base(0, 1300)},
    {"qwen2-window", "window + 1", window_by(1)},
    {"qwen2-window", "window on every layer", for_layers([](LayerSpec& l) { l.window = 9; })},
    {"qwen3", "no norm of q and k", for_layers([](LayerSpec& l) { l.qk_norm = QkNorm::kNone; })},
    {"qwen2moe", "weights divided by their sum", experts([](MoeSpec& m) { m.renormalise = true; })},
    {"qwen2moe", "no shared expert", experts([](MoeSpec& m) { m.shared_ffn_width = 0; })},
    {"qwen2moe", "no gate of the shared expert", {}, skip(OpKind::kGateBy)},
    {"qwen3moe", "weights not divided by their sum", experts([](MoeSpec& m) { m.renormalise = false; })},
    {"qwen3moe", "no norm of q and k", for_layers([](LayerSpec& l) { l.qk_norm = QkNorm::kNone; })},
    {"gemma", "embedding not scaled", [](ModelSpec& s) { s.embed_scale = 1; }},
    {"gemma", "1 + w in GGUF too", [](ModelSpec& s) { s.norm_offset = 1; }},
    {"gemma", "SiLU", [](ModelSpec& s) { s.activation = Activation::kSilu; }},
    {"gemma2", "window + 1", window_by(1)},
    {"gemma2", "window − 1", window_by(-1)},
    {"gemma2", "window on the other layers",
     [](ModelSpec& s) {
       for (size_t i = 0; i < s.layers.size(); ++i) s.layers[i].window = i % 2 == 0 ? std::nullopt : std::optional(9);
     }},
    {"gemma2", "scores not capped", for_layers([](LayerSpec& l) { l.attention_softcap = 0; })},
    {"gemma2", "scores capped a tenth higher", for_layers([](LayerSpec& l) { l.attention_softcap *= 1.1f; })},
    {"gemma2", "logits not capped", [](ModelSpec& s) { s.final_softcap = 0; }},
    {"gemma2", "no norms behind the blocks", for_layers([](LayerSpec& l) { l.sandwich_norm = false; })},
    {"gemma2", "scores a tenth larger", scores_by(1.1f)},
    {"gemma3", "window + 1", window_by(1)},
    {"gemma3", "window − 1", window_by(-1)},
    {"gemma3", "the global rotation everywhere", for_layers([](LayerSpec& l) { l.rope = 0; })},
    {"gemma3", "the local rotation everywhere", for_layers([](LayerSpec& l) { l.rope = 1; })},
    {"gemma3", "no linear scaling", rope_base(0, 70000)},
    {"gemma3", "no norm of q and k", for_layers([](LayerSpec& l) { l.qk_norm = QkNorm::kNone; })},
    {"gemma4", "v not normed", for_layers([](LayerSpec& l) { l.value_norm = false; })},
    {"gemma4", "every pair turns", rope_base(0, 70000)},
    {"gemma4", "no factor behind layers", for_layers([](LayerSpec& l) { l.output_scale = 1; })},
    {"gemma4", "scores by 1/√head",
     for_layers([](LayerSpec& l) { l.attention_scale = float(1 / std::sqrt(double(l.head_dim))); })},
    {"gemma4", "window + 1", window_by(1)},
    {"gemma4-e", "another layer's keys and values", [](ModelSpec& s) { s.layers[4].kv_from_layer = 0; }},
    {"gemma4-e", "no inputs for layers", [](ModelSpec& s) { s.per_layer_inputs = 0; }},
    {"gemma4-e",
     "inputs of the first layer for all",
     {},
     [](Plan& plan) {
       for (Op& op : plan.ops)
         if (op.kind == OpKind::kSlice) op.spec = 0;
     }},
    {"gemma4-moe",
     "no factors of experts",
     {},
     [](Plan& p) {
       for (PlanMoe& moe : p.moes) moe.scale = -1;
     }},
    {"gemma4-moe",
     "SiLU in experts",
     {},
     [](Plan& p) {
       for (PlanMoe& moe : p.moes) moe.activation = ExpertActivation::kSilu;
     }},
    {"phi3", "no magnitude", [](ModelSpec& s) { s.ropes[0].magnitude = 1; }},
    {"phi3", "short divisors at any length", [](ModelSpec& s) { s.ropes[0].long_inverse_frequency.clear(); }},
    {"phi3", "long divisors at any length", [](ModelSpec& s) { s.ropes[0].original_context = 1; }},
    {"phi3", "the whole head turns",
     [](ModelSpec& s) {
       s.ropes[0].rotated = 16;
       s.ropes[0].long_inverse_frequency.clear();
       s.ropes[0].inverse_frequency = plain_frequencies(1700, 16);
     }},
    {"phi3", "window − 1", window_by(-1)},
    {"phi3",
     "gate and up exchanged",
     {},
     [](Plan& p) {
       for (WeightRef& w : p.weights)
         if (w.tensor.ends_with("ffn_up.weight")) w.first_row = w.first_row == 0 ? w.rows : 0;
     }},
    {"smollm3", "every layer rotates", for_layers([](LayerSpec& l) { l.rope = 0; })},
    {"granite", "embedding not scaled", [](ModelSpec& s) { s.embed_scale = 1; }},
    {"granite", "residual not scaled", [](ModelSpec& s) { s.residual_scale = 1; }},
    {"granite", "logits not divided", [](ModelSpec& s) { s.logit_scale = 1; }},
    {"granite", "scores by 1/√head", scores_by(float(1 / std::sqrt(8.0) / 0.4))},
    {"olmo2", "no norms behind the blocks", for_layers([](LayerSpec& l) { l.sandwich_norm = false; })},
    {"olmo2", "norm of q and k over each head", for_layers([](LayerSpec& l) { l.qk_norm = QkNorm::kPerHead; })},
    {"olmo3", "window + 1", window_by(1)},
    {"olmo3", "scaled rotation everywhere", for_layers([](LayerSpec& l) { l.rope = 0; })},
    {"gpt-oss", "no sinks", for_layers([](LayerSpec& l) { l.sinks = false; })},
    {"gpt-oss", "SiLU in experts", [](ModelSpec& s) { s.activation = Activation::kSilu; }},
    {"gpt-oss", "no bias of the router", {}, no_bias("router")},
    {"gpt-oss",
     "no bias of gates",
     {},
     [](Plan& p) {
       for (PlanMoe& moe : p.moes) moe.gate_bias = -1;
     }},
    {"gpt-oss",
     "no bias of ups",
     {},
     [](Plan& p) {
       for (PlanMoe& moe : p.moes) moe.up_bias = -1;
     }},
    {"gpt-oss",
     "no bias of downs",
     {},
     [](Plan& p) {
       for (PlanMoe& moe : p.moes) moe.down_bias = -1;
     }},
    {"gpt-oss", "softmax over all experts", experts([](MoeSpec& m) { m.renormalise = false; })},
    {"gpt-oss", "window + 1", window_by(1)},
    {"lfm2",
     "a shorter convolution",
     {},
     [](Plan& p) {
       for (PlanConv& conv : p.convs) --conv.kernel;
     }},
    {"lfm2", "no norm of q and k", for_layers([](LayerSpec& l) { l.qk_norm = QkNorm::kNone; })},
    {"lfm2", "rope base", rope_base(0, 10000)},
};

TEST(FamilyMutations, EveryFeatureBites) {
  std::string family;
  for (const Mutation& mutation : kMutations) {
    if (mutation.family != family) {
      family = mutation.family;
      const auto unchanged = error_of({family, "unchanged"});
      ASSERT_TRUE(unchanged) << family << ": " << unchanged.error().message;
      EXPECT_LT(*unchanged, kUnchanged) << family;
    }
    const auto changed = error_of(mutation);
    ASSERT_TRUE(changed) << family << ", " << mutation.name << ": " << changed.error().message;
    EXPECT_GT(*changed, kChanged) << family << ": " << mutation.name;
  }
}

}  // namespace
}  // namespace anedvd
