#!/usr/bin/env python3
"""Writes src/tensor/quant/iq_tables.inc: the codebooks of the IQ1, IQ2 and IQ3 types.

An entry of a codebook is eight (IQ1, IQ2) or four (IQ3) small values out of a handful of levels. It is written as one 16-bit word:
bits 2j and 2j + 1 (IQ3: bits 4j to 4j + 3) are the level of value j. The levels themselves stand in quant/iq_grids.h.

The numbers come from the `gguf` package (gguf/quants.py, `grid_hex` of each class), which has them from ggml/src/ggml-common.h.

    python3 tools/make_iq_tables.py > src/tensor/quant/iq_tables.inc
"""

import numpy as np
from gguf import quants

TABLES = [
    ("kIq1Packed", quants.IQ1_S),
    ("kIq2XxsPacked", quants.IQ2_XXS),
    ("kIq2XsPacked", quants.IQ2_XS),
    ("kIq2SPacked", quants.IQ2_S),
    ("kIq3XxsPacked", quants.IQ3_XXS),
    ("kIq3SPacked", quants.IQ3_S),
]
WORDS_A_LINE = 15


def packed_words(quant) -> list[int]:
    """One 16-bit word an entry, level numbers from the lowest bits up."""
    quant.init_grid()
    levels = {float(level): i for i, level in enumerate(quant.grid_map)}
    entries = np.asarray(quant.grid).reshape(quant.grid_shape)
    bits = 16 // quant.grid_shape[1]
    return [sum(levels[float(v)] << (bits * j) for j, v in enumerate(entry)) for entry in entries]


def main() -> None:
    print("// Made by tools/make_iq_tables.py; do not edit. Source: ggml's codebooks, by way of the Python package `gguf`.")
    for name, quant in TABLES:
        words = packed_words(quant)
        print(f"constexpr uint16_t {name}[{len(words)}] = {{")
        for i in range(0, len(words), WORDS_A_LINE):
            print("    " + ", ".join(f"{w:#06x}" for w in words[i : i + WORDS_A_LINE]) + ",")
        print("};")


if __name__ == "__main__":
    main()
