#!/usr/bin/env python3
"""Measures anedvd beside llama.cpp on the same GGUF files, interleaved, and prints the ratios.

    python3 bench/compare_llamacpp.py ANEDVD_BINARY LLAMA_BIN_FOLDER MODEL.gguf [MODEL.gguf …] [--threads 1,2] [--rounds 5] [--markdown FILE] [--quick]

Each cell runs anedvd and llama.cpp in turn, A B, B A, A B …, one process a measurement. A ratio is anedvd's speed over llama.cpp's (above 1: anedvd is
faster), from the best of each side; the spread is that of the ratios pair by pair. llama.cpp gets its better flash-attention setting in every cell and
huge pages (GLIBC_TUNABLES=glibc.malloc.hugetlb=1). Besides speed: time to the first token and peak memory of whole processes.
Nothing else should run meanwhile.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

CELLS = [  # name, prompt tokens, generated tokens, depth
    ("answer", 0, 64, 0),
    ("answer at depth 512", 0, 64, 512),
    ("answer at depth 2,048", 0, 32, 2048),
    ("prompt 1", 1, 0, 0),
    ("prompt 32", 32, 0, 0),
    ("prompt 128", 128, 0, 0),
    ("prompt 512", 512, 0, 0),
]
QUICK = {"answer", "answer at depth 512", "prompt 128", "prompt 512"}
PEER_ENVIRONMENT = dict(os.environ, GLIBC_TUNABLES="glibc.malloc.hugetlb=1")


def run_json(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed with {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def ours(args, model, threads, prompt, generated, depth):
    # Two repetitions in a process, the better one counts: the first touches cold pages on both sides.
    command = [args.anedvd, "bench", "--model", model, "--prompt-tokens", prompt, "--gen-tokens", generated, "--depth", depth, "--reps", 2,
               "--threads", threads, "--json", "--quiet"]
    result = run_json([str(word) for word in command])
    return max(result["tg_tok_s_all" if generated else "pp_tok_s_all"])


def theirs(args, model, threads, prompt, generated, depth, flash):
    command = [args.llama / "llama-bench", "-m", model, "-p", prompt, "-n", generated, "-d", depth, "-r", 2, "-t", threads, "-fa", flash, "-o", "json"]
    result = run_json([str(word) for word in command], PEER_ENVIRONMENT)[0]
    return max(result["samples_ts"])


def pairs(args, first, second):
    """Both sides in turn, the order changing from round to round."""
    a, b = [], []
    for i in range(args.rounds):
        for side in ((0, 1) if i % 2 == 0 else (1, 0)):
            (b if side else a).append((second if side else first)())
    return a, b


def speed_cell(args, model, threads, cell):
    name, prompt, generated, depth = cell
    flash = max((0, 1), key=lambda f: theirs(args, model, threads, prompt, generated, depth, f))
    a, b = pairs(args, lambda: ours(args, model, threads, prompt, generated, depth),
                 lambda: theirs(args, model, threads, prompt, generated, depth, flash))
    ratios = [x / y for x, y in zip(a, b)]
    return {"cell": name, "unit": "tok/s", "ours": max(a), "peer": max(b), "ratio": max(a) / max(b), "low": min(ratios), "high": max(ratios),
            "median": statistics.median(ratios)}


def whole_process(command, environment):
    """Seconds and peak resident bytes of a process."""
    start = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command}: exit code {child.returncode}")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def process_cells(args, model, threads):
    prompt = "The capital of France is"
    mine = [args.anedvd, "run", model, "--no-chat", "--prompt", prompt, "-n", 1, "--temp", 0, "--threads", threads, "--quiet"]
    peer = [args.llama / "llama-completion", "-m", model, "-no-cnv", "-p", prompt, "-n", 1, "--temp", 0, "-t", threads, "-c", 4096, "--no-warmup"]
    a, b = pairs(args, lambda: whole_process(mine, os.environ), lambda: whole_process(peer, PEER_ENVIRONMENT))
    first = [x[0] / y[0] for x, y in zip(a, b)]
    seconds = {"cell": "first token, whole process", "unit": "s", "ours": min(x[0] for x in a), "peer": min(x[0] for x in b), "low": min(first),
               "high": max(first), "median": statistics.median(first)}
    memory = {"cell": "peak memory", "unit": "MB", "ours": min(x[1] for x in a) / 1e6, "peer": min(x[1] for x in b) / 1e6}
    memory["low"] = memory["high"] = memory["median"] = memory["ours"] / memory["peer"]
    for cell in (seconds, memory):
        cell["ratio"] = cell["ours"] / cell["peer"]
    return [seconds, memory]


def processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("anedvd")
    parser.add_argument("llama", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    lines = [f"Processor: {processor()}, {os.cpu_count()} visible. {args.rounds} rounds a cell.", "",
             "| model | threads | cell | anedvd | llama.cpp | ratio | pair by pair |", "| --- | --- | --- | --- | --- | --- | --- |"]
    print("\n".join(lines))
    for model in args.models:
        for threads in map(int, args.threads.split(",")):
            cells = [speed_cell(args, model, threads, cell) for cell in CELLS if not args.quick or cell[0] in QUICK]
            for c in cells + process_cells(args, model, threads):
                line = (f"| {Path(model).stem} | {threads} | {c['cell']} | {c['ours']:,.3g} {c['unit']} | {c['peer']:,.3g} {c['unit']} | "
                        f"{c['ratio']:.2f} | {c['low']:.2f}–{c['high']:.2f} |")
                lines.append(line)
                print(line, flush=True)
    if args.markdown:
        args.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
