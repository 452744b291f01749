#!/usr/bin/env python3
"""Makes tiny random models of every family and what transformers computes with them: the oracle of tests/engine/families_test.cpp.

    python3 -m venv /some/where && /some/where/bin/pip install -r tools/requirements-oracle.txt
    /some/where/bin/python tools/families/make_family_fixtures.py [--out FOLDER] [--matrix q8_0|f16|f32] [--no-hf] [NAME…]

Default: every family into tests/data/families. For each NAME
    NAME/model.gguf            written by family_gguf.py
    NAME/config.json, NAME/model.safetensors      the same model as a Hugging Face folder, bfloat16
    NAME/golden.json           {"prompts": ids, "argmax": the best id at each position (−1: a near tie), "greedy": 32 ids after prompt 1}
    NAME/logits.npy            float32 [prompts, vocabulary]: the last position's logits of each prompt

Every feature is made to bite: windows are shorter than the prompts, soft-caps cut, norm weights are far from 1, biases are not zero, rope bases are
odd, experts are chosen clearly. Weights lie on a grid that F32, F16, BF16 and Q8_0 hold without loss. The same inputs give the same bytes.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

import numpy as np
import safetensors.torch
import torch
import transformers

import family_gguf

VOCABULARY = 192
PROMPT_LENGTHS = (1, 7, 40, 100, 150)  # 150: past the 128 positions that one pass of attention covers
GREEDY_PROMPT, GREEDY_STEPS = 1, 32
NEAR_TIE = 0.03  # of the largest logit
SMALLEST_GREEDY_MARGIN = 0.015
SEEDS = 400


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    kind: str  # transformers' class without ForCausalLM
    config: dict
    architecture: str = ""  # in GGUF; "": no GGUF says this
    keys: dict = dataclasses.field(default_factory=dict)  # GGUF keys beyond the usual
    rope_tensors: object = None  # config → {name: array}
    norm_offset: bool = False  # the checkpoint holds w − 1
    mxfp4: bool = False  # the folder holds experts as gpt-oss's releases do
    embed_spread: float = 1.0


USUAL = dict(
    vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=512, rms_norm_eps=1e-5, tie_word_embeddings=False, attention_dropout=0.0,
    bos_token_id=None, eos_token_id=None, pad_token_id=None,
)  # fmt: skip


def rope(base, **more):
    return {"rope_type": "default", "rope_theta": base} | more


def llama3_divisors(c):
    p = c.rope_parameters
    d = c.head_dim
    f = p["rope_theta"] ** (-np.arange(0, d, 2) / d)
    wave = 2 * np.pi / f
    low, high, s, n = p["low_freq_factor"], p["high_freq_factor"], p["factor"], p["original_max_position_embeddings"]
    m = (n / wave - low) / (high - low)
    scaled = np.where(wave < n / high, f, np.where(wave > n / low, f / s, f * ((1 - m) / s + m)))
    return {"rope_freqs.weight": (f / scaled).astype(np.float32)}


def phi3_factors(c):
    return {f"rope_factors_{k}.weight": np.array(c.rope_parameters[f"{k}_factor"], np.float32) for k in ("long", "short")}


def gemma4_divisors(c):
    d = 32
    turning = int(c.rope_parameters["full_attention"]["partial_rotary_factor"] * d / 2)
    return {"rope_freqs.weight": np.array([1.0] * turning + [1e30] * (d // 2 - turning), np.float32)}


SHORT = [1.0, 1.1, 1.3, 1.7, 2.1, 2.8]
LONG = [1.0, 1.6, 2.5, 4.0, 7.0, 9.0]
PHI3_ROPE = dict(rope_type="longrope", rope_theta=1700.0, short_factor=SHORT, long_factor=LONG, partial_rotary_factor=0.75)
PHI3_KEYS = {
    "rope.freq_base": 1700.0, "rope.dimension_count": 12, "rope.scaling.attn_factor": float(np.sqrt(1 + np.log(512 / 64) / np.log(64))),
    "rope.scaling.original_context_length": 64, "attention.sliding_window": 23,
}  # fmt: skip
PHI3 = USUAL | dict(hidden_size=64, original_max_position_embeddings=64, sliding_window=23)
MOE = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, decoder_sparse_step=1, mlp_only_layers=[])
MOE_KEYS = {"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 32}
GEMMA_HEAD = {"attention.key_length": 16, "attention.value_length": 16}
GEMMA3 = dict(head_dim=16, query_pre_attn_scalar=16, sliding_window=9, num_hidden_layers=7, tie_word_embeddings=True,
              layer_types=["sliding_attention"] * 5 + ["full_attention", "sliding_attention"])  # fmt: skip
G4_LAYERS = ["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"]
GEMMA4 = dict(
    head_dim=16, global_head_dim=32, sliding_window=9, num_hidden_layers=6, layer_types=G4_LAYERS, tie_word_embeddings=True, final_logit_softcapping=4.0,
    num_key_value_heads=2, num_global_key_value_heads=None, attention_k_eq_v=False, num_kv_shared_layers=0,
    hidden_size_per_layer_input=0, vocab_size_per_layer_input=VOCABULARY, use_double_wide_mlp=False, enable_moe_block=False,
    rope_parameters={"sliding_attention": rope(900.0), "full_attention": {"rope_type": "proportional", "rope_theta": 70000.0, "partial_rotary_factor": 0.25}},
)  # fmt: skip
GEMMA4_KEYS = {
    "attention.key_length": 32, "attention.value_length": 32, "attention.key_length_swa": 16, "attention.value_length_swa": 16, "attention.sliding_window": 9,
    "attention.sliding_window_pattern": [t == "sliding_attention" for t in G4_LAYERS], "attention.shared_kv_layers": 0, "embedding_length_per_layer_input": 0,
    "rope.freq_base": 70000.0, "rope.freq_base_swa": 900.0, "rope.dimension_count": 32, "rope.dimension_count_swa": 16, "final_logit_softcapping": 4.0,
}  # fmt: skip
OLMO3_LAYERS = ["sliding_attention"] * 3 + ["full_attention"] + ["sliding_attention"]
LFM2_LAYERS = ["conv", "conv", "full_attention", "conv", "full_attention", "conv"]
YARN = dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=64)
YARN_KEYS = {"rope.scaling.type": "yarn", "rope.scaling.factor": 8.0, "rope.scaling.original_context_length": 64}

MODELS = [
    Model("llama", "Llama", USUAL | dict(head_dim=24, attention_bias=True, mlp_bias=True, rope_parameters=dict(
        rope_type="llama3", rope_theta=700.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)),
        "llama", {"rope.freq_base": 700.0, "rope.dimension_count": 24, "attention.key_length": 24, "attention.value_length": 24}, llama3_divisors),
    Model("llama-linear", "Llama", USUAL | dict(tie_word_embeddings=True, num_hidden_layers=2, head_dim=16, rope_parameters=rope(900.0, rope_type="linear", factor=3.0)),
        "llama", {"rope.freq_base": 900.0, "rope.dimension_count": 16, "attention.key_length": 16, "attention.value_length": 16, "rope.scaling.type": "linear", "rope.scaling.factor": 3.0}),
    Model("mistral", "Mistral", USUAL | dict(head_dim=16, sliding_window=9, rope_parameters=rope(900.0))),
    Model("mixtral", "Mixtral", USUAL | dict(head_dim=16, num_local_experts=5, num_experts_per_tok=2, intermediate_size=64, sliding_window=None, rope_parameters=rope(900.0)),
        "llama", {"rope.freq_base": 900.0, "rope.dimension_count": 16, "attention.key_length": 16, "attention.value_length": 16, "expert_count": 5, "expert_used_count": 2}),
    Model("qwen2", "Qwen2", USUAL | dict(tie_word_embeddings=True, rope_parameters=rope(1300.0)), "qwen2", {"rope.freq_base": 1300.0}),
    Model("qwen2-yarn", "Qwen2", USUAL | dict(num_hidden_layers=2, rope_parameters=rope(1300.0, **YARN)), "qwen2", {"rope.freq_base": 1300.0} | YARN_KEYS),
    Model("qwen2-window", "Qwen2", USUAL | dict(use_sliding_window=True, sliding_window=9, max_window_layers=1, rope_parameters=rope(1300.0))),
    Model("qwen3", "Qwen3", USUAL | dict(head_dim=24, rope_parameters=rope(1300.0)), "qwen3",
        {"rope.freq_base": 1300.0, "attention.key_length": 24, "attention.value_length": 24}),
    Model("qwen2moe", "Qwen2Moe", USUAL | MOE | dict(shared_expert_intermediate_size=64, norm_topk_prob=False, num_hidden_layers=2, rope_parameters=rope(1300.0)), "qwen2moe",
        MOE_KEYS | {"rope.freq_base": 1300.0, "expert_shared_feed_forward_length": 64}),
    Model("qwen3moe", "Qwen3Moe", USUAL | MOE | dict(head_dim=24, norm_topk_prob=True, num_hidden_layers=2, rope_parameters=rope(1300.0)), "qwen3moe",
        MOE_KEYS | {"rope.freq_base": 1300.0, "attention.key_length": 24, "attention.value_length": 24}),
    Model("gemma", "Gemma", USUAL | dict(head_dim=24, num_key_value_heads=1, tie_word_embeddings=True, rope_parameters=rope(900.0)), "gemma",
        {"attention.key_length": 24, "attention.value_length": 24, "rope.freq_base": 900.0}, norm_offset=True, embed_spread=0.12),
    Model("gemma2", "Gemma2", USUAL | dict(head_dim=16, query_pre_attn_scalar=16, sliding_window=9, attn_logit_softcapping=3.0, final_logit_softcapping=4.0,
        tie_word_embeddings=True, num_hidden_layers=4, rope_parameters=rope(900.0)), "gemma2",
        GEMMA_HEAD | {"attention.sliding_window": 9, "attn_logit_softcapping": 3.0, "final_logit_softcapping": 4.0, "rope.freq_base": 900.0}, norm_offset=True, embed_spread=0.12),
    Model("gemma3", "Gemma3", USUAL | GEMMA3 | dict(rope_parameters={"sliding_attention": rope(900.0), "full_attention": rope(70000.0, rope_type="linear", factor=4.0)}), "gemma3",
        GEMMA_HEAD | {"attention.sliding_window": 9, "rope.freq_base": 70000.0, "rope.freq_base_swa": 900.0, "rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
        norm_offset=True, embed_spread=0.2),
    Model("gemma4", "Gemma4", USUAL | GEMMA4, "gemma4", GEMMA4_KEYS, gemma4_divisors, embed_spread=0.2),
    Model("gemma4-e", "Gemma4", USUAL | GEMMA4 | dict(hidden_size_per_layer_input=32, num_kv_shared_layers=3, use_double_wide_mlp=True), "gemma4",
        GEMMA4_KEYS | {"attention.shared_kv_layers": 3, "embedding_length_per_layer_input": 32, "feed_forward_length": [64, 64, 64, 128, 128, 128]}, gemma4_divisors, embed_spread=0.2),
    Model("gemma4-moe", "Gemma4", USUAL | GEMMA4 | dict(enable_moe_block=True, num_experts=6, top_k_experts=2, moe_intermediate_size=32, attention_k_eq_v=True,
        num_global_key_value_heads=1), "gemma4", GEMMA4_KEYS | {"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 32,
        "attention.head_count_kv": [2, 1, 2, 1, 2, 1]}, gemma4_divisors, embed_spread=0.2),
    Model("phi3", "Phi3", PHI3 | dict(rope_parameters=PHI3_ROPE), "phi3", PHI3_KEYS, phi3_factors),
    Model("smollm3", "SmolLM3", USUAL | dict(num_hidden_layers=5, tie_word_embeddings=True, no_rope_layers=[1, 1, 1, 0, 1], use_sliding_window=False, layer_types=None,
        rope_parameters=rope(900.0)), "smollm3", {"rope.freq_base": 900.0, "rope.dimension_count": 8}),
    Model("granite", "Granite", USUAL | dict(embedding_multiplier=3.5, attention_multiplier=0.4, residual_multiplier=0.6, logits_scaling=2.5, tie_word_embeddings=True,
        attention_bias=False, rope_parameters=rope(900.0)), "granite",
        {"embedding_scale": 3.5, "attention.scale": 0.4, "residual_scale": 0.6, "logit_scale": 2.5, "rope.freq_base": 900.0, "rope.dimension_count": 8}),
    Model("olmo2", "Olmo2", USUAL | dict(rope_parameters=rope(900.0)), "olmo2", {"rope.freq_base": 900.0}),
    Model("olmo3", "Olmo3", USUAL | dict(num_hidden_layers=5, sliding_window=9, layer_types=OLMO3_LAYERS,
        rope_parameters={"sliding_attention": rope(1300.0), "full_attention": rope(1300.0) | YARN}), "olmo2",
        YARN_KEYS | {"rope.freq_base": 1300.0, "attention.sliding_window": 9, "attention.sliding_window_pattern": [t == "sliding_attention" for t in OLMO3_LAYERS]}),
    Model("gpt-oss", "GptOss", USUAL | dict(head_dim=16, num_local_experts=5, num_experts_per_tok=2, intermediate_size=64, sliding_window=9, num_hidden_layers=4, attention_bias=True,
        layer_types=["sliding_attention", "full_attention"] * 2, rope_parameters=rope(1300.0, **YARN, beta_fast=32.0, beta_slow=1.0, truncate=True)), "gpt-oss",
        YARN_KEYS | {"rope.freq_base": 1300.0, "attention.key_length": 16, "attention.value_length": 16, "attention.sliding_window": 9, "expert_count": 5, "expert_used_count": 2,
        "expert_feed_forward_length": 64}),
    Model("gpt-oss-mxfp4", "GptOss", USUAL | dict(head_dim=16, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32, sliding_window=9, num_hidden_layers=2,
        attention_bias=True, layer_types=["sliding_attention", "full_attention"],
        rope_parameters=rope(1300.0, **YARN, beta_fast=32.0, beta_slow=1.0, truncate=False)), mxfp4=True),
    Model("lfm2", "Lfm2", {k: v for k, v in USUAL.items() if k != "rms_norm_eps"} | dict(norm_eps=1e-5, num_hidden_layers=6, layer_types=LFM2_LAYERS, conv_L_cache=4, conv_bias=False,
        block_auto_adjust_ff_dim=False, tie_word_embeddings=True, rope_parameters=rope(900.0)), "lfm2",
        {"attention.head_count_kv": [0, 0, 2, 0, 2, 0], "shortconv.l_cache": 4, "rope.freq_base": 900.0}),
]  # fmt: skip


def random_weight(name, shape, rng, m):
    """Weights that make features bite. Matrices have their inputs last, but for gpt-oss' expert stacks."""
    normal = lambda spread: rng.standard_normal(shape) * spread
    if "layer_scalar" in name:
        return rng.uniform(0.6, 1.4, shape)
    if "per_expert_scale" in name:
        return rng.uniform(0.5, 1.5, shape)
    if "sinks" in name:
        return normal(1.5) + 1
    if name.endswith("bias") or "_proj_bias" in name:
        return normal(0.4)
    if "norm" in name or name.endswith("router.scale"):
        w = normal(0.4) + 1
        if name.endswith(("model.norm.weight", "embedding_norm.weight")):
            w *= rng.choice([-1, 1], shape)  # else a tied head answers each token with itself
        if m.kind == "Gemma4" and ("q_norm" in name or "k_norm" in name):
            w *= 0.45  # scores are not divided by √head: without this one position would take everything
        return w - 1 if m.norm_offset else w
    if name.endswith("embed_tokens_per_layer.weight"):
        return normal(0.3)
    if "embed_tokens" in name:
        return normal(m.embed_spread)
    if "conv.conv" in name:
        return normal(0.7)
    inputs = shape[1] if m.kind == "GptOss" and "experts" in name else shape[-1]
    gain = 1.0
    if any(p in name for p in ("q_proj", "k_proj", "qkv_proj", "gate_proj", "w1.", "down_proj", "w2.")):
        gain = 1.5  # attention picks positions instead of averaging them
    if any(p in name for p in ("mlp.gate.weight", "router.")):
        gain = 3.0  # experts are chosen clearly
    if "lm_head" in name:
        gain = 3.0
    if name.endswith("shared_expert_gate.weight"):
        gain = 2.0
    return normal(gain / np.sqrt(inputs))


def build(m, seed):
    config = getattr(transformers, config_class(m))(**m.config)
    config._attn_implementation = "eager"  # the only one with soft-caps and sinks
    model = getattr(transformers, f"{m.kind}ForCausalLM")(config).float().eval()
    rng = np.random.default_rng(seed)
    state = model.state_dict()
    for name, old in state.items():
        if "rotary" in name or name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if "embed_scale" in name or name.endswith("_root_size") or "softcap" in name:
            continue
        w = random_weight(name, tuple(old.shape), rng, m)
        is_experts = m.kind == "GptOss" and "experts" in name and not name.endswith("bias")
        w = family_gguf.to_mxfp4_grid(w) if is_experts else family_gguf.to_grid(w)
        old.copy_(torch.from_numpy(np.asarray(w, np.float32)))
    if config.tie_word_embeddings:
        model.tie_weights()
    return model


def config_class(m):
    return {"Gemma3": "Gemma3TextConfig", "Gemma4": "Gemma4TextConfig"}.get(m.kind, f"{m.kind}Config")


@torch.no_grad()
def logits_of(model, ids):
    # One pass over the whole text, no cache: the plain definition.
    return model(torch.tensor([ids]), use_cache=False).logits[0].float().numpy()


def golden(m, model, seed):
    """(prompts, argmax lists, last logits, greedy ids), or None if a greedy step is a near tie."""
    rng = np.random.default_rng(1000 + seed)
    prompts = [rng.integers(0, VOCABULARY, n).tolist() for n in PROMPT_LENGTHS]
    ids = list(prompts[GREEDY_PROMPT])
    for _ in range(GREEDY_STEPS):
        last = logits_of(model, ids)[-1]
        if not np.isfinite(last).all():
            return None
        top = np.sort(last)
        if top[-1] - top[-2] < SMALLEST_GREEDY_MARGIN * np.abs(last).max():
            return None
        ids.append(int(last.argmax()))
    greedy = ids[len(prompts[GREEDY_PROMPT]) :]
    if len(set(greedy)) < 8:
        return None
    argmax, last_rows = [], []
    for p in prompts:
        rows = logits_of(model, p)
        top = np.sort(rows, -1)
        clear = top[:, -1] - top[:, -2] >= NEAR_TIE * np.abs(rows).max()
        argmax.append(np.where(clear, rows.argmax(-1), -1).tolist())
        last_rows.append(rows[-1])
    return prompts, argmax, np.stack(last_rows).astype(np.float32), greedy


def split_mxfp4(folder):
    """Experts as _blocks [experts, outputs, inputs / 32, 16] (elements 2i and 2i + 1 in byte i) and _scales (E8M0), as gpt-oss's releases have them."""
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    for name in [n for n in tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        w = tensors.pop(name).float().numpy().swapaxes(1, 2)
        exponent, codes = family_gguf.mxfp4_codes(w)
        codes = codes.reshape(*w.shape[:2], w.shape[2] // 32, 32)
        tensors[name + "_blocks"] = torch.from_numpy(codes[..., 0::2] | codes[..., 1::2] << 4)
        tensors[name + "_scales"] = torch.full(codes.shape[:3], exponent, dtype=torch.uint8)
    safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4"}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def make(m, folder, matrix, with_hf):
    for seed in range(SEEDS):
        model = build(m, seed)
        found = golden(m, model, seed)
        if found:
            break
    else:
        sys.exit(f"{m.name}: no seed gives clear greedy steps")
    prompts, argmax, logits, greedy = found
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "golden.json").write_text(json.dumps({"prompts": prompts, "argmax": argmax, "greedy": greedy}, separators=(",", ":")) + "\n")
    np.save(folder / "logits.npy", logits)
    if m.architecture:
        weights = {n: w.numpy() for n, w in model.state_dict().items()}
        keys = dict(m.keys)
        tensors = m.rope_tensors(model.config) if m.rope_tensors else None
        family_gguf.write_model(folder / "model.gguf", m.architecture, weights, model.config, keys, matrix, tensors)
    if with_hf:
        model.to(torch.bfloat16).save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        if m.mxfp4:
            split_mxfp4(folder)
    sizes = sum(f.stat().st_size for f in folder.iterdir())
    clear = sum(a >= 0 for row in argmax for a in row) / sum(map(len, argmax))
    print(f"{m.name}: seed {seed}, {sizes:,} bytes, logits deviate by {logits.std():.2f}, {clear:.0%} of positions clear, greedy {greedy[:10]}…", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent.parent / "tests/data/families")
    parser.add_argument("--matrix", choices=("q8_0", "f16", "f32"), default="q8_0")
    parser.add_argument("--no-hf", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for m in MODELS:
        if not args.names or m.name in args.names:
            make(m, args.out / m.name, args.matrix, not args.no_hf)


if __name__ == "__main__":
    main()
