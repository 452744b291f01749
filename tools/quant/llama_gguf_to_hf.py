#!/usr/bin/env python3
"""Turns a Llama-like GGUF file (SmolLM2) back into a Hugging Face folder: the same weights in the other container, to compare answers.

    python3 tools/quant/llama_gguf_to_hf.py MODEL.gguf FOLDER [--type F32|F16|BF16]

Matrices are dequantised by the `gguf` package, rows of q and k put back in half-split order, the vocabulary written as tokenizer.json (byte-level BPE
with the "smollm" or "gpt-2" pre-tokenizer only), the chat template as tokenizer_config.json. Needs numpy and gguf.
"""

import argparse
import json
import pathlib
import re
import struct

import numpy as np
from gguf import GGUFReader, quants

LAYER = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}  # fmt: skip
WHOLE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def half_split_rows(w, heads):
    """Adjacent rotation pairs (2i, 2i + 1) become half-split ones (i, i + d/2), within each head of rows."""
    d = w.shape[0] // heads
    return w.reshape(heads, d // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def hf_name(name):
    stem, kind = name.rsplit(".", 1)
    if match := re.fullmatch(r"blk\.(\d+)\.(\w+)", stem):
        return f"model.layers.{match[1]}.{LAYER[match[2]]}.{kind}"
    return f"{WHOLE[stem]}.{kind}"


def stored(w, kind):
    if kind == "F16":
        return w.astype("<f2").tobytes()
    if kind == "BF16":
        bits = w.astype("<f4").view("<u4")
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()
    return w.astype("<f4").tobytes()


def write_safetensors(path, tensors, kind):
    header, offset = {}, 0
    for name, w in tensors.items():
        size = w.size * (4 if kind == "F32" else 2)
        header[name] = {"dtype": kind, "shape": list(w.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for w in tensors.values():
            file.write(stored(w, kind))


def tokenizer_json(value):
    tokens, types = value("tokenizer.ggml.tokens"), value("tokenizer.ggml.token_type")
    pre = {"smollm": [{"type": "Digits", "individual_digits": True}], "gpt-2": []}[value("tokenizer.ggml.pre")]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = [
        {"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for i, t in enumerate(tokens) if types[i] == 3
    ]  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": pre + [byte_level]} if pre else byte_level,
        "post_processor": None, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": {t: i for i, t in enumerate(tokens)},
                  "merges": value("tokenizer.ggml.merges")},
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--type", choices=("F32", "F16", "BF16"), default="F32")
    args = parser.parse_args()
    reader = GGUFReader(args.model)
    value = lambda key, other=None: reader.fields[key].contents() if key in reader.fields else other
    setting = lambda key, other=None: value(f"llama.{key}", other)
    heads, kv_heads = setting("attention.head_count"), setting("attention.head_count_kv")
    tensors = {}
    for tensor in reader.tensors:
        shape = [int(n) for n in tensor.shape[::-1]]
        w = quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
        if re.search(r"attn_[qk]\.", tensor.name):
            w = half_split_rows(w, heads if "attn_q" in tensor.name else kv_heads)
        tensors[hf_name(tensor.name)] = w
    args.folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(args.folder / "model.safetensors", tensors, args.type)
    tokens = value("tokenizer.ggml.tokens")
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": setting("embedding_length"),
        "intermediate_size": setting("feed_forward_length"), "num_hidden_layers": setting("block_count"), "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "rms_norm_eps": setting("attention.layer_norm_rms_epsilon"), "rope_theta": setting("rope.freq_base", 10000.0),
        "max_position_embeddings": setting("context_length"), "vocab_size": len(tokens), "hidden_act": "silu",
        "tie_word_embeddings": "lm_head.weight" not in tensors, "bos_token_id": value("tokenizer.ggml.bos_token_id"),
        "eos_token_id": value("tokenizer.ggml.eos_token_id"), "torch_dtype": {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[args.type],
    }  # fmt: skip
    write = lambda name, data: (args.folder / name).write_text(json.dumps(data, ensure_ascii=False))
    write("config.json", config)
    write("tokenizer.json", tokenizer_json(value))
    named = lambda key: tokens[value(f"tokenizer.ggml.{key}_token_id")]
    write("tokenizer_config.json", {
        "bos_token": named("bos"), "eos_token": named("eos"), "add_bos_token": bool(value("tokenizer.ggml.add_bos_token", False)),
        "chat_template": value("tokenizer.chat_template"), "tokenizer_class": "GPT2Tokenizer",
    })  # fmt: skip


if __name__ == "__main__":
    main()
