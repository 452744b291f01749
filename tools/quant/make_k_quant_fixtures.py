#!/usr/bin/env python3
"""Makes tests/data/quant/quantize_k.bin: rows of floats and the K blocks that ggml's reference quantisers choose for them.

    python3 tools/quant/make_k_quant_fixtures.py …/libggml-base.so

The test asks that our blocks are as near to the floats as these, not that they are the same. All little endian:
    "AQK1", u32 floats, u32 types, floats × f32, then for each type: u32 type number, u32 bytes, the bytes
The rows: normal weights, weights with outliers, a group that is all of one sign, tiny and large scales, groups of zeros, a constant.
"""

import ctypes
import pathlib
import struct
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.constants import GGML_QUANT_SIZES

FUNCTIONS = {T.Q4_K: "quantize_row_q4_K_ref", T.Q5_K: "quantize_row_q5_K_ref", T.Q6_K: "quantize_row_q6_K_ref"}


def rows():
    rng = np.random.default_rng(7)
    normal = rng.standard_normal(8 * 256) * 0.02
    outliers = rng.standard_t(3, 4 * 256) * 0.02
    one_sign = np.abs(rng.standard_normal(256)) * np.repeat([1, -1, 1, -1, 1, 1, -1, -1], 32)
    scales = rng.standard_normal(2 * 256) * np.repeat(10.0 ** rng.uniform(-3, 3, 16), 32)
    zeros = rng.standard_normal(256) * np.repeat([0, 1, 0, 0, 1, 1, 0, 1], 32)
    shifted = rng.standard_normal(256) * 0.1 - 0.5
    constant = np.full(256, 0.25)
    return np.concatenate([normal, outliers, one_sign, scales, zeros, shifted, constant]).astype("<f4")


def main():
    ggml = ctypes.CDLL(sys.argv[1])
    x = rows()
    out = b"AQK1" + struct.pack("<II", len(x), len(FUNCTIONS)) + x.tobytes()
    for qtype, name in FUNCTIONS.items():
        values, width = GGML_QUANT_SIZES[qtype]
        blocks = ctypes.create_string_buffer(len(x) // values * width)
        getattr(ggml, name)(x.ctypes.data_as(ctypes.c_void_p), blocks, ctypes.c_int64(len(x)))
        out += struct.pack("<II", int(qtype), len(blocks.raw)) + blocks.raw
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/data/quant/quantize_k.bin"
    path.write_bytes(out)
    print(f"{path.name}: {len(x)} floats, {len(out)} bytes")


if __name__ == "__main__":
    main()
