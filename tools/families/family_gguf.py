"""How the tiny models of make_family_fixtures.py become GGUF files: keys, tensor names, row orders and types, family by family.

Every weight lies on a grid (whole numbers up to ±127 times one power of two a tensor), so F32, F16, BF16 and Q8_0 hold it without loss and one set
of expected logits serves them all. Facts: llama.cpp's converter (conversion/) and gguf-py.
"""

import numpy as np

import gguf


def step_of(w):
    """The power of two that the tensor's whole numbers are multiples of."""
    largest = float(np.abs(w).max())
    return 1.0 if largest == 0 else 2.0 ** np.ceil(np.log2(largest / 127))


def to_grid(w):
    step = step_of(w)
    return (np.round(w / step) * step).astype(np.float32)


def pack_q8_0(w):
    """Q8_0 blocks that dequantise to exactly `w`: one scale for the whole tensor."""
    step = step_of(w)
    q = w / step
    assert np.array_equal(q, np.round(q)) and np.abs(q).max() <= 127, "weights are not on the grid"
    q = q.astype(np.int8).reshape(*w.shape[:-1], w.shape[-1] // 32, 32)
    blocks = np.empty((*q.shape[:-1], 34), np.uint8)
    blocks[..., :2] = np.frombuffer(np.float16(step).tobytes(), np.uint8)
    blocks[..., 2:] = q.view(np.uint8)
    return blocks.reshape(*w.shape[:-1], -1)


MXFP4_VALUES = np.array([0, 1, 2, 3, 4, 6, 8, 12], np.float32)  # in halves


def to_mxfp4_grid(w):
    """Nearest e2m1 numbers under one power of two for the whole tensor."""
    step = 2.0 ** np.ceil(np.log2(np.abs(w).max() / 12))
    code = np.abs(np.abs(w / step)[..., None] - MXFP4_VALUES).argmin(-1)
    return (np.sign(w) * MXFP4_VALUES[code] * step).astype(np.float32)


def mxfp4_codes(w):
    """(exponent byte, nibbles) of a tensor on the grid."""
    positive = np.abs(w[w != 0])
    for exponent in range(-40, 40):
        step = 2.0**exponent
        if np.isin(np.abs(w) / step, MXFP4_VALUES).all() and positive.max() / step <= 12:
            code = np.abs(np.abs(w / step)[..., None] - MXFP4_VALUES).argmin(-1).astype(np.uint8)
            # E8M0: 2^(e − 127) for whole numbers; the codebook counts halves, so one more.
            return exponent + 1 + 127, code | np.where(np.signbit(w) & (code > 0), 8, 0).astype(np.uint8)
    raise AssertionError("weights are not on the MXFP4 grid")


def pack_mxfp4(w):
    """Blocks of 32: exponent, then 16 bytes with elements 0…15 in the low and 16…31 in the high nibbles."""
    exponent, codes = mxfp4_codes(w)
    codes = codes.reshape(*w.shape[:-1], w.shape[-1] // 32, 32)
    blocks = np.empty((*codes.shape[:-1], 17), np.uint8)
    blocks[..., 0] = exponent
    blocks[..., 1:] = codes[..., :16] | codes[..., 16:] << 4
    return blocks.reshape(*w.shape[:-1], -1)


def adjacent_rows(w, heads):
    """Half-split rotation pairs (i, i + d/2) become adjacent ones (2i, 2i + 1), within each head of rows."""
    d = w.shape[0] // heads
    return w.reshape(heads, 2, d // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


class Writer:
    """A GGUF file under construction. `matrix`: type of the matrices, "q8_0", "f16" or "f32"."""

    def __init__(self, path, architecture, matrix="q8_0"):
        self.file = gguf.GGUFWriter(path, architecture)
        self.architecture = architecture
        self.matrix = matrix

    def key(self, name, value):
        name = f"{self.architecture}.{name}"
        if isinstance(value, bool):
            self.file.add_bool(name, value)
        elif isinstance(value, int):
            self.file.add_uint32(name, value)
        elif isinstance(value, float):
            self.file.add_float32(name, value)
        elif isinstance(value, str):
            self.file.add_string(name, value)
        else:
            self.file.add_array(name, value)

    def tensor(self, name, w, kind=None):
        """kind "plain": F32 whatever the file's type (norms, biases, routers, convolution kernels)."""
        w = np.ascontiguousarray(w, np.float32)
        types = gguf.GGMLQuantizationType
        if kind == "mxfp4" and w.shape[-1] % 32 == 0:
            self.file.add_tensor(name, pack_mxfp4(w), raw_dtype=types.MXFP4)
        elif kind == "plain" or w.ndim < 2 or self.matrix == "f32":
            self.file.add_tensor(name, w)
        elif self.matrix == "f16" or w.shape[-1] % 32 != 0:
            half = w.astype(np.float16)
            assert np.array_equal(half.astype(np.float32), w), f"{name} does not fit F16"
            self.file.add_tensor(name, half)
        else:
            self.file.add_tensor(name, pack_q8_0(w), raw_dtype=types.Q8_0)

    def close(self):
        self.file.write_header_to_file()
        self.file.write_kv_data_to_file()
        self.file.write_tensors_to_file()
        self.file.close()


# GGUF name after "blk.N." → name after "model.layers.N."
USUAL = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "attn_q.bias": "self_attn.q_proj.bias",
    "attn_k.bias": "self_attn.k_proj.bias",
    "attn_v.bias": "self_attn.v_proj.bias",
    "attn_output.bias": "self_attn.o_proj.bias",
    "attn_q_norm.weight": "self_attn.q_norm.weight",
    "attn_k_norm.weight": "self_attn.k_norm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
    "ffn_gate.bias": "mlp.gate_proj.bias",
    "ffn_up.bias": "mlp.up_proj.bias",
    "ffn_down.bias": "mlp.down_proj.bias",
    "ffn_gate_inp.weight": "mlp.gate.weight",
    "ffn_gate_up_exps.weight": "mlp.experts.gate_up_proj",
    "ffn_down_exps.weight": "mlp.experts.down_proj",
    "ffn_gate_inp_shexp.weight": "mlp.shared_expert_gate.weight",
    "ffn_gate_shexp.weight": "mlp.shared_expert.gate_proj.weight",
    "ffn_up_shexp.weight": "mlp.shared_expert.up_proj.weight",
    "ffn_down_shexp.weight": "mlp.shared_expert.down_proj.weight",
}
GEMMA_NORMS = {
    "post_attention_norm.weight": "post_attention_layernorm.weight",
    "ffn_norm.weight": "pre_feedforward_layernorm.weight",
    "post_ffw_norm.weight": "post_feedforward_layernorm.weight",
}
OLMO_NORMS = {
    "ffn_norm.weight": None,
    "post_attention_norm.weight": "post_attention_layernorm.weight",
    "post_ffw_norm.weight": "post_feedforward_layernorm.weight",
}
PHI3 = {"attn_qkv.weight": "self_attn.qkv_proj.weight", "ffn_up.weight": "mlp.gate_up_proj.weight"}
GPT_OSS = {
    "ffn_norm.weight": None,
    "post_attention_norm.weight": "post_attention_layernorm.weight",
    "attn_sinks.weight": "self_attn.sinks",
    "ffn_gate_inp.weight": "mlp.router.weight",
    "ffn_gate_inp.bias": "mlp.router.bias",
    "ffn_gate_up_exps.weight": None,
    "ffn_down_exps.weight": None,
}
LFM2 = {
    "attn_norm.weight": "operator_norm.weight",
    "ffn_norm.weight": "ffn_norm.weight",
    "attn_output.weight": "self_attn.out_proj.weight",
    "attn_q_norm.weight": "self_attn.q_layernorm.weight",
    "attn_k_norm.weight": "self_attn.k_layernorm.weight",
    "ffn_gate.weight": "feed_forward.w1.weight",
    "ffn_up.weight": "feed_forward.w3.weight",
    "ffn_down.weight": "feed_forward.w2.weight",
    "shortconv.in_proj.weight": "conv.in_proj.weight",
    "shortconv.out_proj.weight": "conv.out_proj.weight",
}
GEMMA4 = GEMMA_NORMS | {
    "layer_output_scale.weight": "layer_scalar",
    "inp_gate.weight": "per_layer_input_gate.weight",
    "proj.weight": "per_layer_projection.weight",
    "post_norm.weight": "post_per_layer_input_norm.weight",
    "ffn_gate_inp.weight": "router.proj.weight",
    "ffn_gate_inp.scale": "router.scale",
    "ffn_down_exps.scale": "router.per_expert_scale",
    "ffn_gate_up_exps.weight": "experts.gate_up_proj",
    "ffn_down_exps.weight": "experts.down_proj",
    "post_ffw_norm_1.weight": "post_feedforward_layernorm_1.weight",
    "pre_ffw_norm_2.weight": "pre_feedforward_layernorm_2.weight",
    "post_ffw_norm_2.weight": "post_feedforward_layernorm_2.weight",
}
ADJACENT = ("llama", "granite", "smollm3")
NORM_OFFSET = ("gemma", "gemma2", "gemma3")
FUSED_EXPERTS = ("gemma4",)  # the others' converters split gate and up
LAYER_TABLES = {"gemma2": GEMMA_NORMS, "gemma3": GEMMA_NORMS, "gemma4": GEMMA4, "olmo2": OLMO_NORMS, "phi3": PHI3, "gpt-oss": GPT_OSS, "lfm2": LFM2}
PLAIN = ("ffn_gate_inp", "shortconv.conv", "norm", "bias", "scale", "sinks")


def write_model(path, architecture, weights, config, extra_keys, matrix="q8_0", rope_tensors=None):
    """`weights`: numpy float32 by the names that transformers holds in memory."""
    w = Writer(path, architecture, matrix)
    for name, value in (usual_keys(config) | extra_keys).items():
        w.key(name, value)
    put = lambda name, x: w.tensor(name, x, "plain" if any(p in name for p in PLAIN) else None)
    prefix = "model.language_model." if "model.language_model.embed_tokens.weight" in weights else "model."
    put("token_embd.weight", weights[prefix + "embed_tokens.weight"])
    offset = 1 if architecture in NORM_OFFSET else 0
    if architecture == "lfm2":
        put("token_embd_norm.weight", weights[prefix + "embedding_norm.weight"])
    else:
        put("output_norm.weight", weights[prefix + "norm.weight"] + offset)
    if not config.tie_word_embeddings:
        put("output.weight", weights["lm_head.weight"])
    for name, x in (rope_tensors or {}).items():
        w.tensor(name, x, "plain")
    if prefix + "per_layer_model_projection.weight" in weights:
        put("per_layer_token_embd.weight", weights[prefix + "embed_tokens_per_layer.weight"])
        put("per_layer_model_proj.weight", weights[prefix + "per_layer_model_projection.weight"])
        put("per_layer_proj_norm.weight", weights[prefix + "per_layer_projection_norm.weight"])
    table = USUAL | LAYER_TABLES.get(architecture, {})
    for n in range(config.num_hidden_layers):
        layer = {k.removeprefix(f"{prefix}layers.{n}."): x for k, x in weights.items() if k.startswith(f"{prefix}layers.{n}.")}
        for ours, theirs in table.items():
            if theirs in layer:
                put_layer_tensor(w, put, architecture, f"blk.{n}.", ours, layer[theirs], config, offset)
        if "conv.conv.weight" in layer:
            put(f"blk.{n}.shortconv.conv.weight", layer["conv.conv.weight"][:, 0, :])
        if architecture == "gpt-oss":
            put_gpt_oss_experts(w, f"blk.{n}.", layer)
    w.close()


def usual_keys(c):
    if hasattr(c, "allow_global_per_layer_attribute_access"):
        c.allow_global_per_layer_attribute_access = True  # Gemma 4: what differs by layer is in the extra keys
    return {
        "block_count": c.num_hidden_layers,
        "context_length": c.max_position_embeddings,
        "embedding_length": c.hidden_size,
        "feed_forward_length": c.intermediate_size,
        "attention.head_count": c.num_attention_heads,
        "attention.head_count_kv": c.num_key_value_heads,
        "attention.layer_norm_rms_epsilon": float(getattr(c, "rms_norm_eps", None) or c.norm_eps),
        "vocab_size": c.vocab_size,
    }


def put_layer_tensor(w, put, architecture, p, name, x, config, offset):
    if architecture in ADJACENT and name.split(".")[0] in ("attn_q", "attn_k"):
        x = adjacent_rows(x, config.num_attention_heads if "attn_q" in name else config.num_key_value_heads)
    if offset and "norm" in name:
        x = x + offset
    if name == "ffn_gate_up_exps.weight" and architecture not in FUSED_EXPERTS:
        half = x.shape[1] // 2
        put(p + "ffn_gate_exps.weight", x[:, :half])
        put(p + "ffn_up_exps.weight", x[:, half:])
        return
    if name == "layer_output_scale.weight":
        x = x.reshape(1)
    put(p + name, x)


def put_gpt_oss_experts(w, p, layer):
    """In memory the stacks are [experts, in, out], gate and up interleaved along the output."""
    both = layer["mlp.experts.gate_up_proj"].swapaxes(1, 2)
    bias = layer["mlp.experts.gate_up_proj_bias"]
    for i, name in enumerate(("gate", "up")):
        w.tensor(p + f"ffn_{name}_exps.weight", both[:, i::2], "mxfp4")
        w.tensor(p + f"ffn_{name}_exps.bias", bias[:, i::2], "plain")
    w.tensor(p + "ffn_down_exps.weight", layer["mlp.experts.down_proj"].swapaxes(1, 2), "mxfp4")
    w.tensor(p + "ffn_down_exps.bias", layer["mlp.experts.down_proj_bias"], "plain")
