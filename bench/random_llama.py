#!/usr/bin/env python3
"""Writes a GGUF file of Llama's shape with random weights: speeds of sizes for which no model is at hand.

    python3 bench/random_llama.py SMOLLM2.gguf OUT.gguf [--hidden 2048] [--layers 22] [--ffn 5632] [--heads 32] [--kv-heads 4] [--type Q4_0]

The tokenizer is copied from SMOLLM2.gguf, so that every program opens it. With the defaults, TinyLlama's, there are 1.07 billion weights. Needs the packages
gguf and numpy. Blocks get random quants and small scales: what a file of that size costs to read and to multiply, and no sense.
"""

import argparse

import gguf
import numpy


def blocks(rng, rows, cols, kind):
    """Rows of random blocks as bytes."""
    if kind == gguf.GGMLQuantizationType.F32:
        return numpy.ones((rows, cols), dtype=numpy.float32)
    values, size = gguf.GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (rows, cols // values, size), dtype=numpy.uint8)
    scale = numpy.full((rows, cols // values), 0.02 / (8 if kind == gguf.GGMLQuantizationType.Q4_0 else 127), dtype=numpy.float16)
    data[:, :, 0:2] = scale.view(numpy.uint8).reshape(rows, cols // values, 2)
    return data.reshape(rows, -1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer")
    parser.add_argument("out")
    for name, value in (("hidden", 2048), ("layers", 22), ("ffn", 5632), ("heads", 32), ("kv-heads", 4)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--type", choices=["Q4_0", "Q8_0"], default="Q4_0")
    args = parser.parse_args()
    kind = gguf.GGMLQuantizationType[args.type]
    reader = gguf.GGUFReader(args.tokenizer)
    writer = gguf.GGUFWriter(args.out, "llama")
    for field in reader.fields.values():
        if field.name.startswith("tokenizer."):
            value_type = field.types[0]
            writer.add_key_value(field.name, field.contents(), value_type, field.types[-1] if value_type == gguf.GGUFValueType.ARRAY else None)
    vocab = len(reader.fields["tokenizer.ggml.tokens"].data)
    head = args.hidden // args.heads
    writer.add_context_length(4096)
    writer.add_embedding_length(args.hidden)
    writer.add_block_count(args.layers)
    writer.add_feed_forward_length(args.ffn)
    writer.add_head_count(args.heads)
    writer.add_head_count_kv(args.kv_heads)
    writer.add_rope_dimension_count(head)
    writer.add_layer_norm_rms_eps(1e-5)
    rng = numpy.random.default_rng(1)

    def add(name, rows, cols):
        writer.add_tensor(name, blocks(rng, rows, cols, kind), raw_dtype=kind)

    def add_norm(name):
        writer.add_tensor(name, numpy.ones(args.hidden, dtype=numpy.float32))

    add("token_embd.weight", vocab, args.hidden)
    for layer in range(args.layers):
        add_norm(f"blk.{layer}.attn_norm.weight")
        add(f"blk.{layer}.attn_q.weight", args.heads * head, args.hidden)
        add(f"blk.{layer}.attn_k.weight", args.kv_heads * head, args.hidden)
        add(f"blk.{layer}.attn_v.weight", args.kv_heads * head, args.hidden)
        add(f"blk.{layer}.attn_output.weight", args.hidden, args.heads * head)
        add_norm(f"blk.{layer}.ffn_norm.weight")
        add(f"blk.{layer}.ffn_gate.weight", args.ffn, args.hidden)
        add(f"blk.{layer}.ffn_up.weight", args.ffn, args.hidden)
        add(f"blk.{layer}.ffn_down.weight", args.hidden, args.ffn)
    add_norm("output_norm.weight")
    add("output.weight", vocab, args.hidden)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
