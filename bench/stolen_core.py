#!/usr/bin/env python3
"""What is left of anedvd's speed when another process takes one of its cores.

    python3 bench/stolen_core.py ANEDVD_BINARY MODEL.gguf [--threads 2] [--rounds 3] [--tokens 128]

A process that only counts is bound to the last core; answers and prompts are measured with and without it, in turn. Half of the speed or more should
be left: the scheduler gives the counting process half of one core.
"""

import argparse
import multiprocessing
import os

from compare_llamacpp import ours


def count_on(core):
    os.sched_setaffinity(0, {core})
    while True:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("anedvd")
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=128)
    args = parser.parse_args()
    for name, prompt, generated in (("answer", 0, args.tokens), ("prompt", 2 * args.tokens, 0)):
        alone, stolen = [], []
        for _ in range(args.rounds):
            alone.append(ours(args, args.model, args.threads, prompt, generated, 0))
            thief = multiprocessing.Process(target=count_on, args=(os.cpu_count() - 1,), daemon=True)
            thief.start()
            stolen.append(ours(args, args.model, args.threads, prompt, generated, 0))
            thief.kill()
            thief.join()
        print(f"{name}: {max(alone):,.0f} tok/s alone, {max(stolen):,.0f} with a core stolen: {max(stolen) / max(alone):.2f} of the speed "
              f"(rounds: {', '.join(f'{b / a:.2f}' for a, b in zip(alone, stolen))})", flush=True)


if __name__ == "__main__":
    main()
