#!/usr/bin/env python3
"""Makes tests/data/hf-tiny: the model of tests/data/tiny-llama-f32.gguf as a Hugging Face folder, with the same numbers.

    python3 tools/make_tiny_hf.py [DATA_FOLDER]      default: tests/data; needs gguf, numpy, safetensors, tokenizers (tools/requirements.txt)

Rows of q and k are put back from adjacent rotation pairs (GGUF) to half-split ones (Hugging Face): within a head of d rows, row i comes from
row 2i and row i + d/2 from row 2i + 1. Everything else is copied bit for bit, so the folder's logits must be the GGUF file's.

The folder's prompt is encoded with the tokenizers package and compared with the GGUF's ids. If torch and transformers are there, the
folder is also loaded by transformers, and its logits are compared with tiny-llama-f32.logits.npy.
"""

import json
import pathlib
import sys

import gguf
import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from make_tiny_model import PROMPT_TEXT

NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def hf_name(name):
    stem, ending = name.rsplit(".", 1)
    if not stem.startswith("blk."):
        return f"{NAMES[stem]}.{ending}"
    _, layer, role = stem.split(".")
    return f"model.layers.{layer}.{NAMES[role]}.{ending}"


def half_split(rows, head_dim):
    heads = rows.reshape(-1, head_dim, rows.shape[-1])
    return np.ascontiguousarray(np.concatenate([heads[:, 0::2], heads[:, 1::2]], axis=1).reshape(rows.shape))


def read_weights(reader, head_dim):
    weights = {}
    for t in reader.tensors:
        data = np.array(t.data, dtype=np.float32).reshape(tuple(int(n) for n in reversed(t.shape)))
        if ".attn_q." in t.name or ".attn_k." in t.name:
            data = half_split(data, head_dim)
        weights[hf_name(t.name)] = data
    return weights


def tokenizer_json(tokens, types, merges):
    control = [i for i, kind in enumerate(types) if kind == int(gguf.TokenType.CONTROL)]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": tokens[i], **flags} for i in control],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": merges,
        },
    }


def check_with_transformers(folder, data):
    try:
        import torch
        from transformers import AutoModelForCausalLM
    except ImportError:
        return "not compared with transformers (not installed)"
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    ids = json.loads((data / "tiny-llama-f32.ids.json").read_text())
    with torch.no_grad():
        got = model(torch.tensor([ids])).logits[0].numpy()
    want = np.load(data / "tiny-llama-f32.logits.npy")
    worst = float(np.abs(got - want).max() / np.abs(want).max())
    if worst > 1e-5:
        sys.exit(f"transformers' logits differ by {worst:.2e}")
    return f"transformers' logits differ by {worst:.1e}"


def main():
    data = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "tests" / "data"
    folder = data / "hf-tiny"
    folder.mkdir(exist_ok=True)
    reader = gguf.GGUFReader(data / "tiny-llama-f32.gguf")
    value = lambda key: reader.get_field(key).contents()
    head_dim = value("llama.attention.key_length")
    weights = read_weights(reader, head_dim)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    def write(name, content):
        (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    write(
        "config.json",
        {
            "architectures": ["LlamaForCausalLM"],
            "attention_bias": False,
            "bos_token_id": 1,
            "dtype": "float32",
            "eos_token_id": 2,
            "head_dim": None,
            "hidden_act": "silu",
            "hidden_size": value("llama.embedding_length"),
            "intermediate_size": value("llama.feed_forward_length"),
            "max_position_embeddings": value("llama.context_length"),
            "mlp_bias": False,
            "model_type": "llama",
            "num_attention_heads": value("llama.attention.head_count"),
            "num_hidden_layers": value("llama.block_count"),
            "num_key_value_heads": value("llama.attention.head_count_kv"),
            "rms_norm_eps": float(np.float32(value("llama.attention.layer_norm_rms_epsilon"))),
            "rope_scaling": None,
            "rope_theta": value("llama.rope.freq_base"),
            "tie_word_embeddings": "lm_head.weight" not in weights,
            "vocab_size": len(value("tokenizer.ggml.tokens")),
        },
    )
    write("generation_config.json", {"bos_token_id": 1, "do_sample": True, "eos_token_id": [2, 0], "temperature": 0.7, "top_p": 0.9})
    tokens = value("tokenizer.ggml.tokens")
    merges = [merge.split(" ") for merge in value("tokenizer.ggml.merges")]
    write("tokenizer.json", tokenizer_json(tokens, value("tokenizer.ggml.token_type"), merges))
    write(
        "tokenizer_config.json",
        {
            "add_bos_token": False,
            "bos_token": "<|im_start|>",
            "chat_template": value("tokenizer.chat_template"),
            "eos_token": "<|im_end|>",
            "pad_token": "<|im_end|>",
            "tokenizer_class": "GPT2Tokenizer",
            "unk_token": "<|endoftext|>",
        },
    )
    ids = [1] + Tokenizer.from_file(str(folder / "tokenizer.json")).encode(PROMPT_TEXT, add_special_tokens=False).ids
    if ids != json.loads((data / "tiny-llama-f32.ids.json").read_text()):
        sys.exit(f"the tokenizers package gives other ids: {ids}")
    size = sum(f.stat().st_size for f in folder.iterdir())
    print(f"{folder.name}: {len(weights)} tensors, {size:,} bytes, {check_with_transformers(folder, data)}")


if __name__ == "__main__":
    main()
