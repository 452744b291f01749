#!/usr/bin/env python3
"""Measures anedvd's logits on a real `llama` GGUF file against float64 arithmetic on the dequantised weights.

    python3 tools/logits_reference.py ANEDVD_BINARY MODEL.gguf [--text FILE] [--tokens 96]

Prints for normal and --exact mode: the largest difference over the largest logit, the root mean square of the differences over that of the logits,
the mean and largest KL divergence from the reference distribution, and how often the likeliest token is the same. Needs numpy and gguf.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import gguf
import numpy as np

from make_tiny_model import Model, logits_of

TEXT = """The harbour was quiet when the first boat came in. Two men stood on the deck with a box between them, and neither spoke.
"How much?" asked the woman on the quay. They looked at each other. "It is not for sale," said the older one, "but you may look inside."
She bent over the box, and what she saw there she told nobody for thirty years. for i in range(12): print(i ** 2)"""


def read_model(path):
    reader = gguf.GGUFReader(path)
    number = lambda key: reader.fields[f"llama.{key}"].contents()
    heads, hidden = number("attention.head_count"), number("embedding_length")
    key_length = reader.fields.get("llama.attention.key_length")
    weights = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64) for t in reader.tensors}
    model = Model.__new__(Model)
    values = {"layers": number("block_count"), "hidden": hidden, "heads": heads, "kv_heads": number("attention.head_count_kv"),
              "head_dim": key_length.contents() if key_length else hidden // heads, "tied": "output.weight" not in weights,
              "rope_base": float(number("rope.freq_base")), "eps": float(number("attention.layer_norm_rms_epsilon"))}
    for name, value in values.items():
        object.__setattr__(model, name, value)
    return model, weights


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("anedvd")
    parser.add_argument("model")
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--tokens", type=int, default=96)
    args = parser.parse_args()
    text = args.text.read_text() if args.text else TEXT
    ids = json.loads(subprocess.run([args.anedvd, "tokenize", args.model, "--text", text], check=True, capture_output=True).stdout)[:args.tokens]
    model, weights = read_model(args.model)
    want = logits_of(model, weights, ids)
    p = log_softmax(want)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "ids.json").write_text(json.dumps(ids))
        for mode in ([], ["--exact"]):
            subprocess.run([args.anedvd, "logits", args.model, "--ids-file", folder / "ids.json", "--out", folder / "out.npy", "--quiet"] + mode,
                           check=True, stdout=subprocess.DEVNULL)
            got = np.load(folder / "out.npy").astype(np.float64)
            difference = got - want
            kl = (np.exp(p) * (p - log_softmax(got))).sum(axis=-1)
            print(f"{'exact' if mode else 'normal':6}  {len(ids)} tokens  max rel {np.abs(difference).max() / np.abs(want).max():.2e}  "
                  f"rms rel {np.sqrt((difference ** 2).mean() / (want ** 2).mean()):.2e}  KL mean {kl.mean():.2e} max {kl.max():.2e}  "
                  f"argmax equal {(got.argmax(-1) == want.argmax(-1)).sum()}/{len(ids)}")


if __name__ == "__main__":
    main()
