#!/usr/bin/env python3
"""Times anedvd and the `tokenizers` package, one thread each, on one text with the same tokenizer.json files.

    tools/text/bench_tokenizer.py --ours BUILD/tokenize_lines [--text FILE] tokenizer.json …      (needs: tokenizers)

Without --text: 10 MB of Python sources, prose and words of twenty scripts, made from this machine's Python and the words of tokenizer_parity.py.

Prints processor seconds (user and system) of the best of --repeats runs; other programs on the machine count little.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sysconfig
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402  (reads the environment)

import tokenizer_parity as parity  # noqa: E402


def mixed_text(size):
    """Code, prose (the comments and help texts in it) and, a fourth of it, words of many scripts."""
    rng = random.Random(7)
    parts, total = [], 0
    for path in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if total > size:
            break
        code = path.read_text(encoding="utf-8", errors="ignore")
        words = " ".join(rng.choice(parity.WORDS) for _ in range(len(code) // 18))
        parts += [code, words, "\n"]
        total += len(code.encode()) + len(words.encode())
    return "".join(parts).encode()[:size].decode(errors="ignore")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--text")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.text:
        made = tempfile.NamedTemporaryFile()
        made.write(mixed_text(10_000_000).encode())
        made.flush()
        arguments.text = made.name
    text = pathlib.Path(arguments.text).read_bytes().decode()  # no newline translation
    size = len(text.encode())
    for path in arguments.files:
        lines = subprocess.run([arguments.ours, str(path), "--time", arguments.text, str(arguments.repeats)], capture_output=True,
                               text=True, check=True).stdout.splitlines()
        ours = min(float(line.split()[4]) for line in lines[1:])
        count = int(lines[1].split()[2])
        start = time.process_time()
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        load = time.process_time() - start
        tokenizer.encode_special_tokens = True  # as anedvd takes text: special tokens are characters
        theirs = []
        for _ in range(arguments.repeats):
            start = time.process_time()
            encoding = tokenizer.encode(text, add_special_tokens=False)
            theirs.append(time.process_time() - start)
        same = "equal" if len(encoding.ids) == count else f"{count} and {len(encoding.ids)} ids"
        print(f"{path.parent.name}: ours {ours:.3f} s ({size / 1e6 / ours:.1f} MB/s; {lines[0]}), tokenizers {min(theirs):.3f} s "
              f"({size / 1e6 / min(theirs):.1f} MB/s; load {load:.3f} s), {min(theirs) / ours:.1f} times; counts {same}", flush=True)


if __name__ == "__main__":
    main()
