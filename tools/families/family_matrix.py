#!/usr/bin/env python3
"""The table of docs/families.md: every family in every container and type against transformers and llama.cpp.

    python3 tools/families/family_matrix.py ANEDVD [--llama LLAMA_LOGITS] [--out docs/families.md] [NAME…]

Starts from the folders of tests/data/families (tiny random models, and what transformers computed with them: make_family_fixtures.py) and makes the
other columns itself: the folder in fp32 by rewriting its tensors, GGUF files by `anedvd quantize`. For each column, over prompts of 1, 7, 40 and 100
tokens:

    exact, normal   the worst error of the last logits, relative to their norm, with `--exact` and without
    argmax          positions whose best token is transformers', of those that are no near tie there
    greedy          32 greedy tokens equal transformers' (found by feeding them and comparing each choice with the next)
    llama.cpp       the same error of llama.cpp on the same file, and of ours against it (llama_logits.cpp)

The fixture's own GGUF file is Q8_0 without loss. Files that `quantize` makes as Q8_0 or Q4_K_M lose something (and rows as short as these fall back
inside): their reference is llama.cpp on the same file turned to F32. A prompt in one step and token by token is compared bit for bit. Needs numpy.
"""

import argparse
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

FAMILIES = pathlib.Path(__file__).resolve().parents[2] / "tests/data/families"
LENGTHS = (1, 7, 40, 100)
GREEDY_PROMPT = 1
TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_K_M")
NO_PEER = {
    "phi3": "llama.cpp reads the window and ignores it",
    "mistral": "a GGUF file of it has no window",
}
LOSSY = ("Q8_0", "Q4_K_M")  # transformers is no reference for what quantising changed


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True)


def to_fp32(folder, target):
    """A copy of a Hugging Face folder whose bfloat16 tensors are float32."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("*.gguf", "*.npy", "golden.json"))
    raw = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8 : 8 + size]), raw[8 + size :]
    out, blob = {}, b""
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        piece = data[slice(*entry["data_offsets"])]
        if entry["dtype"] == "BF16":
            piece = (np.frombuffer(piece, "<u2").astype("<u4") << 16).tobytes()
            entry = entry | {"dtype": "F32"}
        out[name] = entry | {"data_offsets": [len(blob), len(blob) + len(piece)]}
        blob += piece
    text = json.dumps(out).encode()
    (target / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + blob)


class Family:
    def __init__(self, name, anedvd, llama, work):
        self.name, self.anedvd, self.llama, self.work = name, anedvd, llama, work
        golden = json.loads((FAMILIES / name / "golden.json").read_text())
        self.prompts = [p for p in golden["prompts"] if len(p) in LENGTHS]
        kept = [i for i, p in enumerate(golden["prompts"]) if len(p) in LENGTHS]
        self.argmax = [golden["argmax"][i] for i in kept]
        self.last = np.load(FAMILIES / name / "logits.npy")[kept]
        self.greedy = golden["greedy"]
        (work / "prompts.txt").write_text("".join(" ".join(map(str, p)) + "\n" for p in self.prompts))

    def logits(self, model, ids, *flags):
        (self.work / "ids.json").write_text(json.dumps(ids))
        out = self.work / "out.npy"
        # transformers chooses longrope's frequencies by the text's length, we by the session's.
        if self.name == "phi3" and len(ids) <= 64:
            flags += ("--max-seq", 64)
        done = run(self.anedvd, "logits", model, "--ids-file", self.work / "ids.json", "--out", out, "--quiet", *flags)
        if done.returncode != 0:
            sys.exit(f"{self.name}: {done.stderr.strip()}")
        return np.load(out)

    def peer(self, model):
        """llama.cpp's last logits, best ids and greedy ids; None if it does not load the file."""
        if self.llama is None or model.is_dir() or self.name in NO_PEER:
            return None
        done = run(self.llama, model, self.work / "prompts.txt", self.work / "peer.bin")
        if done.returncode != 0:
            return None
        lines = [list(map(int, line.split())) for line in done.stdout.splitlines()]
        last = np.fromfile(self.work / "peer.bin", np.float32).reshape(len(self.prompts), -1)
        return last, lines[: len(self.prompts)], lines[-1]

    def row(self, column, model, reference=None):
        last, argmax, greedy = reference or (self.last, self.argmax, self.greedy)
        worst = {}
        agree = total = 0
        ours = {}
        for flags in (("--exact",), ()):
            errors = []
            for i, ids in enumerate(self.prompts):
                logits = self.logits(model, ids, *flags)
                ours[flags, i] = logits[-1]
                errors.append(relative(logits[-1], last[i]))
                if flags:
                    wanted = np.array(argmax[i])
                    agree += int(np.sum((logits.argmax(-1) == wanted)[wanted >= 0]))
                    total += int(np.sum(wanted >= 0))
            worst[flags] = max(errors)
        forced = self.logits(model, self.prompts[GREEDY_PROMPT] + greedy[:-1], "--exact")
        chosen = forced[len(self.prompts[GREEDY_PROMPT]) - 1 :].argmax(-1)
        long = self.prompts[-1]
        same_bits = np.array_equal(self.logits(model, long), self.logits(model, long, "--chunk", 1))
        peer = self.peer(model)
        theirs = max(relative(peer[0][i], last[i]) for i in range(len(self.prompts))) if peer else None
        between = max(relative(ours[(), i], peer[0][i]) for i in range(len(self.prompts))) if peer else None
        return (self.name, column, f"{worst[('--exact',)]:.1e}", f"{worst[()]:.1e}", f"{agree}/{total}",
                "yes" if list(chosen) == greedy else f"{int(np.argmin(chosen == np.array(greedy)))} of 32",
                "yes" if same_bits else "NO", "–" if theirs is None else f"{theirs:.1e}", "–" if between is None else f"{between:.1e}")


def relative(a, b):
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def rows_of(name, anedvd, llama, work):
    family = Family(name, anedvd, llama, work)
    folder = FAMILIES / name
    rows = []
    if (folder / "model.safetensors").exists():
        rows.append(family.row("HF bf16", folder))
        to_fp32(folder, work / "fp32")
        rows.append(family.row("HF fp32", work / "fp32"))
    if (folder / "model.gguf").exists():
        rows.append(family.row("fixture Q8_0", folder / "model.gguf"))
    source = folder
    first = run(anedvd, "quantize", folder, work / "F32.gguf", "F32") if (folder / "config.json").exists() else None
    if first is None or first.returncode != 0:
        source = folder / "model.gguf"
    if not source.exists():
        return rows
    for kind in TYPES:
        path = work / f"{kind}.gguf"
        done = run(anedvd, "quantize", source, path, kind)
        if done.returncode != 0:
            rows.append((name, f"GGUF {kind}", done.stderr.strip().split(": ", 2)[-1], "", "", "", "", "", ""))
            continue
        if name == "mistral":
            continue  # a GGUF of it has no window, so that transformers is no reference
        reference = None
        if kind in LOSSY:
            run(anedvd, "quantize", path, work / "back.gguf", "F32")
            reference = family.peer(work / "back.gguf")
            if reference is None:
                continue
        rows.append(family.row(f"GGUF {kind}", path, reference))
    return rows


HEAD = """# Families

Tiny random models in which every feature bites (`tools/families/make_family_fixtures.py`), each in the containers and types below, against
transformers; prompts of 1, 7, 40 and 100 tokens. Made by

    python3 tools/families/family_matrix.py build/bin/anedvd --llama LLAMA_LOGITS --out docs/families.md

| column | what it is |
| --- | --- |
| exact, normal | the worst relative error of the last logits, with `--exact` and with the quantised kernels |
| argmax | positions whose best token is transformers', of those that are no near tie there |
| greedy | 32 greedy tokens equal transformers' (with `--exact`) |
| chunks | a prompt computed in one step and token by token: the same bits |
| llama.cpp | its error on the same file, against transformers |
| ours – llama.cpp | ours (normal) against it |

`fixture Q8_0` holds the weights without loss (they lie on a grid). The other GGUF files are made by `anedvd quantize`, from the folder where it can be
converted, else from the fixture. The reference of those as Q8_0 and Q4_K_M, which lose something, is llama.cpp on the same file turned to F32; rows
shorter than 256 fall back to Q5_0, Q8_0 and F16 inside Q4_K_M.
Without llama.cpp: folders, which it does not read; phi3, whose window it ignores; gemma4-e, on whose shared layers it stops. Mistral is not compared as GGUF: a file of it has no window.
Where an error of the quantised kernels stands out (mixtral Q8_0: at 5 of 100 positions, 3 % at the others), a router's near tie fell the other way: `exact` shows the same file without rounding.
Mixtral Q4_K_M's greedy text parts at a tie (0.001 between logits of 6.0).
llama.cpp rounds activations as our normal mode does, but in other groups; its GELU is a half-precision table.

| family | container | exact | normal | argmax | greedy | chunks | llama.cpp | ours – llama.cpp |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("anedvd", type=pathlib.Path)
    parser.add_argument("--llama", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    names = args.names or sorted(p.name for p in FAMILIES.iterdir() if (p / "golden.json").exists())
    table = ""
    for name in names:
        with tempfile.TemporaryDirectory() as work:
            for row in rows_of(name, args.anedvd.resolve(), args.llama and args.llama.resolve(), pathlib.Path(work)):
                line = "| " + " | ".join(row) + " |"
                print(line, flush=True)
                table += line + "\n"
    if args.out:
        # Sections behind the table are written by hand.
        old = args.out.read_text() if args.out.exists() else ""
        args.out.write_text(HEAD + table + (old[old.index("\n## ") :] if "\n## " in old else ""))


if __name__ == "__main__":
    main()
