#!/usr/bin/env python3
"""Checks that files and folders stay readable.

    python3 tools/check_size.py [--root FOLDER]

A header has at most 200 lines, another source file (C++, Python, shell) at most 600, a folder at most 22 ideas
(a header and its source are one). Tables that a script made
are exempt by their name: *_tables.* and *.inc. Fixtures (tests/data) and fuzz seeds (fuzz/corpus) are not looked at.
Prints one line a finding and exits 1 when there is one.
"""
import argparse
import sys
from pathlib import Path

HEADER_LINES = 200  # a header is read whole before it is used
SOURCE_LINES = 600  # the ceiling; 150 to 400 is usual
FOLDER_IDEAS = 22  # past about 20 a folder is more than one thing

FOLDERS = ("src", "tests", "fuzz", "bench", "tools", "scripts", "cmake")
DATA = ("tests/data", "fuzz/corpus", "fuzz/findings")
SOURCES = {".h", ".cpp", ".inl", ".py", ".sh", ".cmake"}


def is_table(file: Path) -> bool:
    return file.suffix == ".inc" or file.stem.endswith("_tables")


def is_script(file: Path) -> bool:
    with file.open("rb") as opened:
        return file.suffix == "" and opened.read(2) == b"#!"


def check(root: Path) -> list[str]:
    findings, count = [], {}
    for top in FOLDERS:
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root).as_posix()
            if not file.is_file() or "__pycache__" in path or path.startswith(tuple(f"{d}/" for d in DATA)):
                continue
            count.setdefault(file.parent, set()).add(file.stem)
            if is_table(file) or not (file.suffix in SOURCES or is_script(file)):
                continue
            lines = file.read_bytes().count(b"\n")
            limit = HEADER_LINES if file.suffix == ".h" else SOURCE_LINES
            if lines > limit:
                findings.append(f"{path}: {lines} lines, at most {limit}; split it by ideas")
    for folder, ideas in sorted(count.items()):
        if len(ideas) > FOLDER_IDEAS:
            findings.append(f"{folder.relative_to(root).as_posix()}/: {len(ideas)} ideas, at most {FOLDER_IDEAS}; give some a folder of their own")
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    findings = check(parser.parse_args().root)
    print("\n".join(findings) if findings else "sizes: nothing to say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
