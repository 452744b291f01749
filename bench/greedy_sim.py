#!/usr/bin/env python3
"""Compares greedy text on the simulated Neural Engine with the exact CPU's.

    python3 bench/greedy_sim.py ANEDVD_BINARY MODEL [--tokens 64] [--prompts 20] [--decode] [--threads 2] [-- OPTIONS OF THE SIMULATOR]

For 20 varied prompts `--device cpu --exact` writes the text. The simulator then computes the logits at every position of it, several at a time: while
its choices are the text's own, greedy decoding on the simulator would have written the same, because a column's result does not depend on what is
computed beside it. The first position where its choice is another one is where the texts part. `--decode` decodes on the simulator instead, token by
token (slow), and looks at the logits afterwards.
Prints equal or parted for each prompt. Of a parting: the place, both tokens, the exact logits' margin between them, and the noise there: how far the
simulator's logits of these two moved against each other, the root mean square of the row's differences, and the largest exact logit's size. A parting
is a near-tie when its margin is at most 3 sigma; sigma is the root mean square, over all positions before partings, of how far the difference of the
two best tokens' logits moved. Exit code 3 if a text parts at more than a near-tie. Only the standard library is needed.
"""

import argparse
import array
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

from greedy_prompts import PROMPTS


def logits(args, ids, folder, options):
    """Rows of [tokens, vocabulary]."""
    (folder / "ids.json").write_text(json.dumps(ids))
    subprocess.run([args.anedvd, "logits", args.model, "--threads", args.threads, "--ids-file", folder / "ids.json",
                    "--out", folder / "out.npy", "--quiet", *options], check=True, stdout=subprocess.DEVNULL)
    data = (folder / "out.npy").read_bytes()
    start = 10 + int.from_bytes(data[8:10], "little")
    values = array.array("f", data[start:])
    width = len(values) // len(ids)
    return [values[i * width:(i + 1) * width] for i in range(len(ids))]


def run(args, text, options):
    return json.loads(subprocess.run([args.anedvd, "run", args.model, "--no-chat", "--prompt", text, "--temp", "0", "-n", str(args.tokens),
                                      "--json", "--threads", args.threads, *options], check=True, capture_output=True).stdout)["ids"]


def best(row):
    return row.index(max(row))


def two_best(row):
    first = best(row)
    second = max((i for i in range(len(row)) if i != first), key=row.__getitem__)
    return first, second


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("anedvd")
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    parser.add_argument("--decode", action="store_true")
    parser.add_argument("--threads", default="2")
    ours, simulator = sys.argv[1:], []
    if "--" in ours:
        at = ours.index("--")
        ours, simulator = ours[:at], ours[at + 1:]
    args = parser.parse_args(ours)
    simulator = ["--device", "sim", *simulator]
    moved, partings, equal = [], [], 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for text in PROMPTS[:args.prompts]:
            ids = json.loads(subprocess.run([args.anedvd, "tokenize", args.model, "--special", "--text", text],
                                            check=True, capture_output=True).stdout)
            written = run(args, text, ["--device", "cpu", "--exact"])
            if not written:
                equal += 1
                print(f"equal   0 tokens  {text[:50]!r}: the exact text ends at once, not compared", flush=True)
                continue
            decoded = run(args, text, simulator) if args.decode else None
            # Row i chooses written[i].
            exact, given = (logits(args, ids + written[:-1], folder, options)[len(ids) - 1:]
                            for options in (["--device", "cpu", "--exact"], simulator))
            if decoded is None:
                decoded = [best(row) for row in given]
            at = next((i for i in range(len(written)) if i >= len(decoded) or decoded[i] != written[i]), None)
            for i in range(len(written) if at is None else at + 1):
                first, second = two_best(exact[i])
                moved.append((given[i][first] - given[i][second]) - (exact[i][first] - exact[i][second]))
            if at is None:
                equal += 1
                print(f"equal {len(written):3} tokens  {text[:50]!r}", flush=True)
                continue
            wanted, other = written[at], decoded[at]
            margin, there = (float(rows[at][wanted] - rows[at][other]) for rows in (exact, given))
            rms = math.sqrt(sum((a - b)**2 for a, b in zip(exact[at], given[at])) / len(exact[at]))
            largest = max(abs(value) for value in exact[at])
            partings.append(abs(margin))
            print(f"parts at {at:3}       {text[:50]!r}: exact {wanted}, simulator {other}; exact margin {margin:.4f}, there {there:+.4f}: moved by "
                  f"{abs(margin - there):.4f}; noise of the row {rms:.4f}, largest logit {largest:.2f}", flush=True)
    if not moved:
        sys.exit("no prompt was continued: nothing to compare")
    sigma = math.sqrt(sum(x * x for x in moved) / len(moved))
    beyond = sum(margin > 3 * sigma for margin in partings)
    print(f"{equal} of {min(args.prompts, len(PROMPTS))} equal; sigma {sigma:.4f} over {len(moved)} positions (largest {max(map(abs, moved)):.4f}); "
          f"{len(partings) - beyond} partings are near-ties, {beyond} are not; {time.monotonic() - start:.0f} s")
    sys.exit(3 if beyond else 0)


if __name__ == "__main__":
    main()
