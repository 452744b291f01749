#!/usr/bin/env python3
"""Makes tests/data/rope/scaling.json: rotary frequencies as transformers computes them, in float32.

    python3 tools/make_rope_fixtures.py [OUT_FILE]         needs torch and transformers (tools/requirements.txt)

A list of cases {name, config, session, inverse_frequency, magnitude}: `config` is what a config.json would hold, `session` the sequence
length that longrope chooses its divisors by.
"""

import json
import pathlib
import sys

from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

SIZES = {"hidden_size": 256, "num_attention_heads": 4}  # heads of 64
SHORT = [1.0 + 0.01 * i for i in range(24)]
LONG = [1.5 + 0.75 * i for i in range(24)]

CASES = [
    ("linear, old spelling", {"rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 4.0}}),
    ("linear, new spelling", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}}),
    ("linear over a part of the head", {"partial_rotary_factor": 0.75, "rope_theta": 5e5, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    (
        "llama3",
        {
            "rope_theta": 500000.0,
            "max_position_embeddings": 131072,
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 32.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            },
        },
    ),
    (
        "yarn with defaults",
        {
            "max_position_embeddings": 131072,
            "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 32768},
        },
    ),
    (
        "yarn as gpt-oss: no rounding",
        {
            "rope_theta": 150000,
            "max_position_embeddings": 131072,
            "rope_scaling": {
                "rope_type": "yarn",
                "factor": 32.0,
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "truncate": False,
                "original_max_position_embeddings": 4096,
            },
        },
    ),
    (
        "yarn with its magnitude given",
        {
            "max_position_embeddings": 65536,
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 5e5,
                "factor": 8.0,
                "attention_factor": 1.2079,
                "beta_fast": 16.0,
                "beta_slow": 2.0,
                "original_max_position_embeddings": 8192,
            },
        },
    ),
    (
        "yarn with two mscales",
        {
            "max_position_embeddings": 163840,
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 40.0,
                "mscale": 1.0,
                "mscale_all_dim": 0.707,
                "original_max_position_embeddings": 4096,
            },
        },
    ),
    (
        "yarn whose borders cross",
        {
            "max_position_embeddings": 8,
            "rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 4},
        },
    ),
    (
        "yarn whose borders meet",
        {
            "max_position_embeddings": 8,
            "rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 6},
        },
    ),
    (
        "yarn, original context at the top level",
        {
            "original_max_position_embeddings": 2048,
            "max_position_embeddings": 16384,
            "rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 4096},
        },
    ),
] + [
    (
        f"longrope, session of {session}",
        {
            "partial_rotary_factor": 0.75,
            "rope_theta": 10000.0,
            "original_max_position_embeddings": 4096,
            "max_position_embeddings": 131072,
            "rope_scaling": {"type": "longrope", "short_factor": SHORT, "long_factor": LONG},
        },
        session,
    )
    for session in (4096, 4097)
]


def compute(config, session):
    c = LlamaConfig(**SIZES, **json.loads(json.dumps(config)))
    kind = c.rope_parameters["rope_type"]
    frequencies, magnitude = ROPE_INIT_FUNCTIONS[kind](c, "cpu", seq_len=session or None)
    return [float(f) for f in frequencies], float(magnitude)


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "tests/data/rope/scaling.json"
    lines = []
    for name, config, *session in CASES:
        session = session[0] if session else 0
        frequencies, magnitude = compute(config, session)
        lines.append(
            json.dumps(
                {
                    "name": name,
                    "config": {**SIZES, **config},
                    "session": session,
                    "inverse_frequency": frequencies,
                    "magnitude": magnitude,
                }
            )
        )
    out.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{out}: {len(lines)} cases")


if __name__ == "__main__":
    main()
