#!/usr/bin/env python3
"""Loading a model onto the Neural Engine never holds more than its largest tensor and its embedding.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/standin/load_memory_test.py         Linux

The stand-in keeps no weights here (its "hollow" backend), and its surfaces are shared memory, so the process's anonymous memory is what anedvd
allocated. The model is 300 MB of zeros that take no disk space; what any model costs is measured with a tiny one and taken off.
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from tests.standin import machines

HIDDEN, FFN, LAYERS, HEAD = 2048, 4096, 4, 32
F32, F16 = 0, 1
LARGEST = HIDDEN * FFN * 2  # bytes, as halves


def write_large_model(path: pathlib.Path) -> int:
    """The tiny model's tokenizer and template before far larger tensors of zeros. Returns the embedding's bytes."""
    tiny = (machines.DATA / "tiny-llama-q4_1.gguf").read_bytes()
    end = tiny.index(b"\x11\0\0\0\0\0\0\0token_embd.weight")  # where the list of tensors begins
    settings = bytearray(tiny[:end])
    for key, value in {
        "embedding_length": HIDDEN, "block_count": LAYERS, "feed_forward_length": FFN,
        "attention.head_count": HIDDEN // HEAD, "attention.head_count_kv": HIDDEN // HEAD,
    }.items():  # fmt: skip
        name = f"llama.{key}".encode()
        at = settings.index(struct.pack("<Q", len(name)) + name) + 8 + len(name) + 4
        struct.pack_into("<I", settings, at, value)
    vocabulary = struct.unpack_from("<I", settings, settings.index(b"llama.vocab_size") + 20)[0]

    tensors = [("token_embd.weight", F16, (HIDDEN, vocabulary)), ("output_norm.weight", F32, (HIDDEN,))]
    for layer in range(LAYERS):
        tensors += [(f"blk.{layer}.{name}.weight", F32, (HIDDEN,)) for name in ("attn_norm", "ffn_norm")]
        tensors += [(f"blk.{layer}.{name}.weight", F16, (HIDDEN, HIDDEN)) for name in ("attn_q", "attn_k", "attn_v", "attn_output")]
        tensors += [(f"blk.{layer}.{name}.weight", F16, (HIDDEN, FFN)) for name in ("ffn_gate", "ffn_up")]
        tensors += [(f"blk.{layer}.ffn_down.weight", F16, (FFN, HIDDEN))]
    struct.pack_into("<Q", settings, 8, len(tensors))
    infos, offset = b"", 0
    for name, kind, shape in tensors:
        infos += struct.pack("<Q", len(name)) + name.encode() + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", kind, offset)
        elements = shape[0] * (shape[1] if len(shape) > 1 else 1)
        offset += (elements * (4 if kind == F32 else 2) + 31) // 32 * 32
    with path.open("wb") as file:
        file.write(settings + infos)
        file.truncate((file.tell() + 31) // 32 * 32 + offset)
    return HIDDEN * vocabulary * 2


def peak_of(machine: machines.Machine, model: str, folder: str) -> int:
    """The most anonymous memory, in bytes, that a run of two tokens was seen to hold."""
    env = {"ANEDVD_ANE_FRAMEWORK": str(machine.library), "ANEDVD_STANDIN_BACKEND": "hollow", "TMPDIR": folder, "PATH": "/usr/bin:/bin"}
    command = [*map(str, machine.command), "run", model, "hi there", "--no-chat", "--device", "ane", "--temp", "0", "-n", "2", "--json"]
    with subprocess.Popen(command, env=env, cwd=machines.DATA, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        peak = samples = 0
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            if "RssAnon:" in status:
                peak = max(peak, int(status.split("RssAnon:")[1].split()[0]) * 1024)
                samples += 1
            time.sleep(0.001)
        out, err = process.communicate()
    if process.returncode != 0:
        raise AssertionError(err.decode())
    if b'"host_programs":0' not in out.replace(b" ", b""):
        raise AssertionError(f"not all on the device: {out.decode()}")
    return peak


@unittest.skipUnless(sys.platform == "linux", "memory is read from /proc")
class LoadMemory(unittest.TestCase):
    def test_largest_tensor_and_embedding(self):
        machine = machines.native()
        if isinstance(machine, str):
            self.skipTest(machine)
        with tempfile.TemporaryDirectory() as folder:
            large = pathlib.Path(folder) / "large.gguf"
            embedding = write_large_model(large)
            usual = peak_of(machine, "tiny-llama-q4_1.gguf", folder)
            peak = peak_of(machine, str(large), folder)
        print(f"\n{peak / 1e6:.1f} MB at most, {usual / 1e6:.1f} MB with a tiny model; tensor {LARGEST / 1e6:.1f}, embedding {embedding / 1e6:.1f} MB", file=sys.stderr)
        self.assertLess(peak - usual, LARGEST + embedding)


if __name__ == "__main__":
    unittest.main()
