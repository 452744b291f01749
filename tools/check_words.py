#!/usr/bin/env python3
"""Checks that no file names a place on somebody's machine or leaves work undone.

    python3 tools/check_words.py [--root FOLDER]

Looks at every text file that git knows or would add (without git: every file outside build folders). Refused anywhere: absolute paths into
home, work or temporary folders. Refused outside tests/data and fuzz/corpus, whose texts are given: words that promise later work.
Prints one line a finding and exits 1 when there is one.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

# Brackets keep the patterns from finding themselves. A default for a variable, ${TMPDIR:-…}, is no place of its own.
PLACES = re.compile(r"""(?<![\w.$}])/(?:(?:[h]ome|[U]sers)/\w|(?:[r]oot|[w]ork|[t]mp|[f]arm|[m]nt)(?:/\w|(?=["'\s])))""")
UNFINISHED = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b")
GIVEN = ("tests/data/", "fuzz/corpus/")


def files_of(root: Path) -> list[Path]:
    try:
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=True,
        ).stdout.split(b"\0")
        return [root / name.decode() for name in sorted(listed) if name]
    except (OSError, subprocess.CalledProcessError):
        hidden = (".git", "build", "__pycache__")
        return [p for p in sorted(root.rglob("*")) if not any(part.startswith(hidden) for part in p.relative_to(root).parts)]


def check(root: Path) -> list[str]:
    findings = []
    for file in files_of(root):
        if not file.is_file():
            continue
        data = file.read_bytes()
        if b"\0" in data[:8192]:
            continue
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
            place = PLACES.search(line)
            if place and not (number == 1 and line.startswith("#!")):
                findings.append(f"{path}:{number}: {place.group(0)}… is a place on one machine; find it relative to the file or a variable")
            word = None if path.startswith(GIVEN) else UNFINISHED.search(line)
            if word:
                findings.append(f'{path}:{number}: "{word.group(0)}" leaves work undone; do it, or say in the docs what is not there')
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    findings = check(parser.parse_args().root)
    print("\n".join(findings) if findings else "words: nothing to say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
