#!/usr/bin/env python3
"""Runs the command transcripts of tests/data/cli/*.test and compares what the program says, byte for byte.

    python3 tests/cli/run_transcripts.py PROGRAM [FILE.test ...]         default: all of tests/data/cli

A transcript:

    # what this shows
    $ anedvd tokenize tiny-llama-q4_1.gguf --text ""
    []
    $ anedvd run --temp warm
    stderr> anedvd: --temp warm: not a number; 0 to 2, for example --temp 0.7
    exit 2

`$ ` starts a command (sh; the folder is tests/data, `anedvd` is PROGRAM, input is empty). Then come the lines of standard output, those of
standard error behind `stderr> `, and `exit N` unless it is 0. Blank lines and comments before the next command are not part of the output.
`<*>` in an expected line stands for any text. A command without a `stderr>` line must not write there.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
SECONDS = 120  # for one command; sanitizers are slow


class Case:
    def __init__(self, line: int, command: str):
        self.line, self.command = line, command
        self.out: list[str] = []
        self.err: list[str] = []
        self.exit = 0

    def drop_trailer(self) -> None:
        while self.out and (not self.out[-1] or self.out[-1].startswith("# ")):
            self.out.pop()


def read(path: pathlib.Path) -> list[Case]:
    cases: list[Case] = []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line.startswith("$ "):
            cases.append(Case(number, line[2:]))
        elif not cases:
            if line and not line.startswith("#"):
                raise SystemExit(f"{path.name}:{number}: text before the first command")
        elif line.startswith("stderr> ") or line == "stderr>":
            cases[-1].err.append(line[8:])
        elif re.fullmatch(r"exit \d+", line):
            cases[-1].exit = int(line[5:])
        else:
            cases[-1].out.append(line)
    for case in cases:
        case.drop_trailer()
    return cases


def matches(wanted: list[str], got: list[str]) -> bool:
    def line_matches(pattern: str, line: str) -> bool:
        return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("<*>")), line, re.S) is not None

    return len(wanted) == len(got) and all(map(line_matches, wanted, got))


def lines_of(data: bytes) -> list[str]:
    text = data.decode("utf-8", "backslashreplace")
    if not text:
        return []
    return (text[:-1] if text.endswith("\n") else text + "(no newline at the end)").split("\n")


def environment(folder: pathlib.Path, program: pathlib.Path) -> dict[str, str]:
    (folder / "bin").mkdir()
    (folder / "bin" / "anedvd").symlink_to(program)
    env = {key: value for key, value in os.environ.items() if key.startswith(("ASAN_", "UBSAN_", "TSAN_", "ANEDVD_SIMD"))}
    # An empty cache and a package index that is not there: no transcript depends on the network.
    env |= {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "ANEDVD_CACHE": str(folder / "cache"),
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_CONFIG_FILE": os.devnull,
        "TERM": "xterm",
    }
    return env


def run(case: Case, env: dict[str, str]) -> list[str]:
    """What differs, as lines; empty when nothing does."""
    done = subprocess.run(["sh", "-c", case.command], cwd=DATA, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    said: list[str] = []
    for what, wanted, data in (("output", case.out, done.stdout), ("stderr", case.err, done.stderr)):
        got = lines_of(data)
        if not matches(wanted, got):
            said += difflib.unified_diff(wanted, got, f"wanted {what}", f"got {what}", lineterm="", n=1)
    if done.returncode != case.exit:
        said.append(f"exit code {done.returncode}, wanted {case.exit}")
    return said


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__)
        return 2
    program = pathlib.Path(arguments[0]).resolve()
    files = [pathlib.Path(name) for name in arguments[1:]] or sorted((DATA / "cli").glob("*.test"))
    passed = failed = 0
    for file in files:
        for case in read(file):
            with tempfile.TemporaryDirectory() as folder:
                said = run(case, environment(pathlib.Path(folder), program))
            if said:
                failed += 1
                print(f"{file.name}:{case.line}: $ {case.command}", *said, "", sep="\n")
            else:
                passed += 1
    print(f"transcripts: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
