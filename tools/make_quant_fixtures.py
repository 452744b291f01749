#!/usr/bin/env python3
"""Makes tests/data/quant: blocks of every element type with the floats they stand for, and float rows with their quantised bytes.

The answers come from the Python package `gguf` (gguf.quants, kept bit-exact with ggml's reference); for the types it cannot read
(integers, F64, Q8_1, Q8_K, Q1_0, Q2_0) from the numpy formula below. The seed is fixed: the same package makes the same files.

    python3 tools/make_quant_fixtures.py                               # rewrites tests/data/quant
    python3 tools/make_quant_fixtures.py --blocks 5000 --full --out build/quant   # a larger set: ANEDVD_QUANT_FIXTURES=build/quant
    python3 tools/make_quant_fixtures.py --ggml …/libggml-base.so      # also compares every answer with ggml's own C functions

Every scale field takes its turn at zero, -0, subnormals, the largest number, infinities and NaN; the rest of a block is random.

NAME.bin, all little endian:
    "AQD1", u32 type number, u32 values a block, u32 bytes a block, u32 blocks, u32 full
    blocks × bytes a block          the blocks
    full × values × f32             answers of the first `full` blocks
    blocks × u64                    FNV-1a over the answer of each block, 32-bit words as they are, every NaN as 0x7fc00000

quantize.bin:
    "AQQ1", u32 floats, u32 types, floats × f32, then for each type: u32 type number, u32 bytes, the bytes
"""

import argparse
import ctypes
import enum
import pathlib
import struct

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES

Newer = enum.IntEnum("Newer", {"Q2_0": 42})  # not in gguf yet

HERE = pathlib.Path(__file__).resolve().parent.parent
NAN_BITS = np.uint32(0x7FC00000)
FLAT = {T.F32: "<f4", T.F16: "<f2", T.BF16: None, T.F64: "<f8", T.I8: "<i1", T.I16: "<i2", T.I32: "<i4", T.I64: "<i8"}

# Offsets of the halves (f2), floats (f4) and exponent bytes (u1) that scale a block.
HALF_SCALES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q8_1: [0, 2],
    T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208],
    T.IQ2_XXS: [0], T.IQ2_XS: [0], T.IQ2_S: [0], T.IQ3_XXS: [0], T.IQ3_S: [0], T.IQ1_S: [0], T.IQ4_NL: [0], T.IQ4_XS: [0],
    T.TQ1_0: [52], T.TQ2_0: [64], T.Q1_0: [0], Newer.Q2_0: [0],
}
EDGE_HALVES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E01, 0xFE00, 0x3C00]
EDGE_FLOATS = [0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC00000]
EDGE_EXPONENTS = [0, 1, 2, 3, 126, 127, 128, 252, 253, 254, 255]

QUANTIZED = [T.F32, T.F16, T.BF16, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0]


def sizes(qtype: T) -> tuple[int, int]:
    """Values and bytes of a block. gguf still states Q8_1's old size: two floats instead of two halves."""
    return {T.Q8_1: (32, 36), Newer.Q2_0: (64, 18)}.get(qtype) or GGML_QUANT_SIZES[qtype]


def plain_blocks(qtype: T, count: int, rng) -> np.ndarray:
    """Random words, with the edges of the type first."""
    width = sizes(qtype)[1]
    raw = rng.integers(0, 256, (count, width), dtype=np.uint8)
    edges = {
        T.F32: np.array(EDGE_FLOATS, "<u4"),
        T.F16: np.array(EDGE_HALVES, "<u2"),
        T.BF16: np.array([f >> 16 for f in EDGE_FLOATS] + [0x7FC1], "<u2"),
        T.F64: np.array([0.0, -0.0, 5e-324, 1e-40, -1e-45, 1e39, -1e39, np.inf, -np.inf, np.nan, 1 + 2**-24, 1 + 3 * 2**-24]),
    }.get(qtype)
    if edges is None:
        info = np.iinfo(FLAT[qtype])
        around = [info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max]
        extra = [2**24 + 1, 2**24 + 3, 2**53 + 1, -(2**40) - 2**15]
        edges = np.array(around + [e for e in extra if info.min <= e <= info.max], FLAT[qtype])
    raw[: len(edges)] = edges.view(np.uint8).reshape(-1, width)
    if qtype == T.F64:  # random exponents are mostly outside float's range: bring half of them inside
        near = (rng.standard_normal(count // 2) * 10.0 ** rng.uniform(-46, 40, count // 2)).astype("<f8")
        raw[-len(near):] = near.view(np.uint8).reshape(-1, 8)
    return raw


def random_blocks(qtype: T, count: int, rng) -> np.ndarray:
    """Every other block has an edge scale; the others have a random one, NaN among them."""
    if qtype in FLAT:
        return plain_blocks(qtype, count, rng)
    raw = rng.integers(0, 256, (count, sizes(qtype)[1]), dtype=np.uint8)
    for field, offset in enumerate(HALF_SCALES.get(qtype, [])):
        step = 5 if field else 1  # so that pairs of fields meet in many combinations
        edge = np.array([EDGE_HALVES[i // 2 * step % len(EDGE_HALVES)] for i in range(0, count, 2)], "<u2")
        raw[0::2, offset : offset + 2] = edge.view(np.uint8).reshape(-1, 2)
    if qtype == T.IQ1_M:
        edge = np.array([EDGE_HALVES[i // 2 % len(EDGE_HALVES)] for i in range(0, count, 2)], np.uint16)
        for word in range(4):
            nibble = ((edge >> (4 * word)) & 15).astype(np.uint8)
            high = 48 + 2 * word + 1
            raw[0::2, high] = (raw[0::2, high] & 15) | (nibble << 4)
    if qtype == T.Q8_K:
        edge = np.array([EDGE_FLOATS[i // 2 % len(EDGE_FLOATS)] for i in range(0, count, 2)], "<u4")
        raw[0::2, 0:4] = edge.view(np.uint8).reshape(-1, 4)
    if qtype == T.MXFP4:
        raw[0::2, 0] = [EDGE_EXPONENTS[i // 2 % len(EDGE_EXPONENTS)] for i in range(0, count, 2)]
    return raw


def answers(qtype: T, raw: np.ndarray) -> np.ndarray:
    """[blocks, values] f32."""
    if qtype in FLAT and FLAT[qtype]:
        with np.errstate(over="ignore", invalid="ignore"):
            return raw.view(FLAT[qtype]).astype(np.float32)
    if qtype == T.Q8_1:
        return raw[:, 4:].view(np.int8).astype(np.float32) * np.ascontiguousarray(raw[:, 0:2]).view("<f2").astype(np.float32)
    if qtype == T.Q8_K:
        return np.ascontiguousarray(raw[:, 0:4]).view("<f4") * raw[:, 4:260].view(np.int8).astype(np.float32)
    if qtype in (T.Q1_0, Newer.Q2_0):
        bits = np.unpackbits(raw[:, 2:], axis=1, bitorder="little").astype(np.float32)
        codes = 2 * bits - 1 if qtype == T.Q1_0 else bits[:, 0::2] + 2 * bits[:, 1::2] - 1
        return np.ascontiguousarray(raw[:, 0:2]).view("<f2").astype(np.float32) * codes
    return quants.dequantize(raw, qtype)


def canonical(values: np.ndarray) -> np.ndarray:
    """The bits, every NaN the same."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).copy()
    bits[np.isnan(values)] = NAN_BITS
    return bits


def digests(values: np.ndarray) -> np.ndarray:
    """FNV-1a, 64 bits, one 32-bit word a round, for every row."""
    bits = canonical(values).astype(np.uint64)
    state = np.full(bits.shape[0], 0xCBF29CE484222325, np.uint64)
    for column in bits.T:
        state = (state ^ column) * np.uint64(0x100000001B3)
    return state


def compare_with_ggml(library, qtype: T, raw: np.ndarray, values: np.ndarray) -> str:
    name = "dequantize_row_" + qtype.name.lower().replace("_k", "_K")
    function = getattr(library, name, None) if library else None
    if function is None:
        return ""
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    function.restype = None
    out = np.zeros(values.size, np.float32)
    data = np.ascontiguousarray(raw)
    function(data.ctypes.data, out.ctypes.data, out.size)
    different = np.count_nonzero(canonical(out.reshape(values.shape)) != canonical(values))
    if different:
        raise SystemExit(f"{qtype.name}: {different} values differ between gguf and ggml")
    return " = ggml"


def write_dequantize(qtype: T, args, library) -> None:
    values_a_block, block_bytes = sizes(qtype)
    rng = np.random.default_rng(1000 + int(qtype))
    count = args.blocks * (8 if qtype in FLAT else 1)
    raw = random_blocks(qtype, count, rng)
    with np.errstate(all="ignore"):
        values = answers(qtype, raw)
    full = count if args.full or values_a_block < 256 else min(count, 12)
    note = compare_with_ggml(library, qtype, raw, values)
    with open(args.out / f"{qtype.name}.bin", "wb") as file:
        file.write(b"AQD1" + struct.pack("<5I", int(qtype), values_a_block, block_bytes, count, full))
        file.write(raw.tobytes() + canonical(values[:full]).tobytes() + digests(values).tobytes())
    print(f"{qtype.name}: {count} blocks{note}")


def float_rows(rng) -> np.ndarray:
    """96 blocks of 32: ordinary weights, many magnitudes, ties, zeros, constants, one outlier, all positive."""
    rows = rng.standard_normal((96, 32)) * 10.0 ** rng.uniform(-6, 4, (96, 1))
    rows[0] = 0
    rows[1] = -0.0
    rows[2] = 1.5
    rows[3] = -7
    rows[4] = np.arange(32) - 16
    rows[5] = np.arange(32) / 2
    rows[6] = np.where(np.arange(32) == 7, 100, 0.01)
    rows[7] = [(-1) ** i for i in range(32)]
    rows[8] = np.where(np.arange(32) < 16, 3, -3)
    rows[9] = np.arange(32) * 1e-9
    rows[10] = np.where(np.arange(32) == 0, 127, np.arange(32) - 15.5)  # Q8_0's scale is 1: all the others are ties
    rows[11] = np.abs(rows[11]) + 5
    return rows.astype(np.float32)


def compare_rows_with_ggml(library, qtype: T, rows: np.ndarray, packed: bytes) -> None:
    function = getattr(library, f"quantize_row_{qtype.name.lower()}_ref", None) if library else None
    if function is None:
        return
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    function.restype = None
    out = np.zeros(len(packed), np.uint8)
    function(rows.ctypes.data, out.ctypes.data, rows.size)
    if out.tobytes() != packed:
        raise SystemExit(f"{qtype.name}: quantised bytes differ between gguf and ggml")


def write_quantize(args, library) -> None:
    rows = float_rows(np.random.default_rng(7))
    with open(args.out / "quantize.bin", "wb") as file:
        file.write(b"AQQ1" + struct.pack("<2I", rows.size, len(QUANTIZED)) + rows.tobytes())
        for qtype in QUANTIZED:
            # A block of -0 alone: ggml takes its largest value as +0, gguf as -0, so the sign of the scale differs. ggml is right.
            source = rows + np.float32(0) if qtype in (T.Q4_0, T.Q5_0) else rows
            packed = quants.quantize(source, qtype).tobytes()
            compare_rows_with_ggml(library, qtype, rows, packed)
            file.write(struct.pack("<2I", int(qtype), len(packed)) + packed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "tests/data/quant")
    parser.add_argument("--blocks", type=int, default=64)
    parser.add_argument("--full", action="store_true", help="store every answer, not only a digest")
    parser.add_argument("--ggml", help="libggml-base.so to compare with")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    library = ctypes.CDLL(args.ggml) if args.ggml else None
    for qtype in [*FLAT, *HALF_SCALES, T.IQ1_M, T.Q8_K, T.MXFP4]:
        write_dequantize(qtype, args, library)
    write_quantize(args, library)


if __name__ == "__main__":
    main()
