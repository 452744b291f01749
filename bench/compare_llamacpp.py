#!/usr/bin/env python3
"""Measures anedvd beside llama.cpp on the same GGUF files, interleaved, and prints the ratios.

    python3 bench/compare_llamacpp.py ANEDVD_BINARY LLAMA_BIN_FOLDER MODEL.gguf [MODEL.gguf …] [--threads 1,2] [--rounds 5] [--json FILE] [--quick]

bench/build_llamacpp.py builds the second and prints its folder; bench/performance_page.py puts the file of --json into docs/performance.md.

Each cell runs anedvd and llama.cpp in turn, A B, B A, A B …, one process a measurement. A ratio is anedvd's speed over llama.cpp's (above 1: anedvd is
faster), from the best of each side; the spread is that of the ratios pair by pair. llama.cpp gets its better flash-attention setting in every cell and
huge pages (GLIBC_TUNABLES=glibc.malloc.hugetlb=1). Besides speed: time to the first token and peak memory of whole processes.
`N answers` is N sequences at the same time, all their tokens together. Beside every model stand the limits of the same minute (bench --limits).
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
BATCHES = (2, 4, 8, 16)
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


def ours_together(args, model, threads, answers):
    command = [args.anedvd, "bench", "--model", model, "--parallel", answers, "--prompt-tokens", 32, "--gen-tokens", 48, "--reps", 3, "--threads", threads,
               "--json", "--quiet"]
    return max(run_json([str(word) for word in command])["tg_tok_s_all"])


def theirs_together(args, model, threads, answers):
    command = [args.llama / "llama-batched-bench", "-m", model, "-npp", 32, "-ntg", 48, "-npl", answers, "-c", answers * 128, "-t", threads, "--output-format", "jsonl"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=PEER_ENVIRONMENT, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(f"llama-batched-bench: {done.stderr[-500:]}")
    return json.loads(lines[-1])["speed_tg"]


def pairs(args, first, second):
    """Both sides in turn, the order changing from round to round."""
    a, b = [], []
    for i in range(args.rounds):
        for side in ((0, 1) if i % 2 == 0 else (1, 0)):
            (b if side else a).append((second if side else first)())
    return a, b


def speed_cell(args, model, threads, cell):
    name, prompt, generated, depth = cell
    flashes = [0, 1]  # the peer's flash-attention settings: both in the first round, the better one from then on

    def peer():
        speed, flash = max((theirs(args, model, threads, prompt, generated, depth, flash), flash) for flash in flashes)
        flashes[:] = [flash]
        return speed

    return rated(name, *pairs(args, lambda: ours(args, model, threads, prompt, generated, depth), peer))


def batch_cell(args, model, threads, answers):
    return rated(f"{answers} answers", *pairs(args, lambda: ours_together(args, model, threads, answers),
                                              lambda: theirs_together(args, model, threads, answers)))


def rated(name, a, b):
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
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="four cells and four answers")
    args = parser.parse_args()
    found = {"processor": processor(), "cores": os.cpu_count(), "rounds": args.rounds, "date": time.strftime("%Y-%m-%d"), "rows": []}
    print(f"Processor: {found['processor']}, {found['cores']} visible. {args.rounds} rounds a cell.\n")
    print("| model | threads | cell | anedvd | llama.cpp | ratio | pair by pair |\n| --- | --- | --- | --- | --- | --- | --- |")
    for model in args.models:
        for threads in map(int, args.threads.split(",")):
            jobs = [lambda cell=cell: [speed_cell(args, model, threads, cell)] for cell in CELLS if not args.quick or cell[0] in QUICK]
            jobs += [lambda n=n: [batch_cell(args, model, threads, n)] for n in ((4,) if args.quick else BATCHES)]
            jobs.append(lambda: process_cells(args, model, threads))
            for job in jobs:
                for c in job():
                    print(f"| {Path(model).stem} | {threads} | {c['cell']} | {c['ours']:,.3g} {c['unit']} | {c['peer']:,.3g} {c['unit']} | {c['ratio']:.2f} | "
                          f"{c['low']:.2f}–{c['high']:.2f} |", flush=True)
                    found["rows"].append({"model": Path(model).stem, "threads": threads, **c})
            limits = run_json([str(word) for word in (args.anedvd, "bench", "--model", model, "--threads", threads, "--reps", 3, "--limits", "--json", "--quiet")])["limits"]
            print(f"| {Path(model).stem} | {threads} | limits | {limits} | | | |", flush=True)
            found["rows"].append({"model": Path(model).stem, "threads": threads, "cell": "limits", **limits})
            if args.json:  # after each model: a run that is cut short keeps what it has
                args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
