#!/usr/bin/env python3
"""Checks what the compiler cannot see of the layer rules; cmake/layers.cmake is the table it reads.

    python3 tools/check_layers.py [--root FOLDER]

Refused: a file of src/ outside every layer, an include across layers that the table does not allow, "../" in an include, a USES that no
file needs, a library outside the places named in LIBRARIES, a library that is not listed there, and `throw`.
Prints one line a finding (file:line: what; what to do) and exits 1 when there is one.
"""
import argparse
import re
import sys
from pathlib import Path

CODE = {".h", ".cpp", ".inl", ".inc"}

# Third-party headers: prefix of the include, where it may stand (a pattern over the path below src/), and why.
# The first matching row counts. Headers without a slash that are not listed are the standard library's or the system's.
LIBRARIES = [
    ("CLI/", r"cli/args\.cpp", "it costs seconds a file; describe options as data in cli/args.h"),
    ("nlohmann/json_fwd.hpp", r"(base|formats|text|convert|sampling|engine|api|cli)/.*", "JSON stays near the outside world"),
    ("nlohmann/", r"(base|formats|text|convert|sampling|engine|api|cli)/.*\.cpp", "headers include nlohmann/json_fwd.hpp"),
    ("fmt/core.h", r".*", ""),
    ("fmt/", r"base/[a-z_]+\.cpp", "it costs seconds a file; use fmt/core.h"),
    ("tl/", r"base/result\.h", "use Result from base/result.h"),
    ("pcre2.h", r"text/.*\.cpp", "patterns belong to the pre-tokenizer"),
    ("utf8proc.h", r"(text|cli)/.*\.cpp", "Unicode tables belong to text and the terminal"),
    ("boost/", r"http/.*\.cpp", "sockets belong to http"),
    ("immintrin.h", r"cpu/.*|base/spin_pool\.cpp", "intrinsics belong to kernels (and one pause to the spin pool)"),
    ("arm_neon.h", r"cpu/.*", "intrinsics belong to kernels"),
    ("gtest/", r"(?!)", "the test library never gets into the program"),
    ("gmock/", r"(?!)", "the test library never gets into the program"),
    ("benchmark/", r"(?!)", "the benchmark library never gets into the program"),
]
# Folders of system headers that need no row.
SYSTEM_FOLDERS = ("sys/", "arpa/", "netinet/", "net/", "linux/", "asm/", "mach/", "mach-o/", "bits/")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
LAYER = re.compile(r"^\s*anedvd_layer\(\s*([^)]*)\)", re.MULTILINE)


def read_layers(root: Path) -> dict[str, list[str]]:
    """The table: layer -> the layers it names after USES."""
    text = re.sub(r"#[^\n]*", "", (root / "cmake/layers.cmake").read_text(encoding="utf-8"))
    table = {}
    for match in LAYER.finditer(text):
        words = match.group(1).split()
        uses, taking = [], False
        for word in words[1:]:
            if word in ("USES", "LINKS"):
                taking = word == "USES"
            elif taking:
                uses.append(word)
        table[words[0]] = uses
    return table


def closure(table: dict[str, list[str]], layer: str) -> set[str]:
    """The layer and all that it may use: "may use" is closed downwards."""
    seen, todo = set(), [layer]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += table.get(name, [])
    return seen


def without_comments_and_strings(text: str) -> str:
    """The code with comments, strings and characters blanked; lines keep their numbers."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
    )
    return token.sub(lambda m: "\n" * m.group(0).count("\n") or " ", text)


def check_library(path: str, include: str) -> str | None:
    """What is wrong with this angle-bracket include in this file; None when nothing is."""
    for prefix, where, why in LIBRARIES:
        if include.startswith(prefix):
            return None if re.fullmatch(where, path) else f"<{include}> may not stand here; {why}"
    if "/" in include and not include.startswith(SYSTEM_FOLDERS):
        return f"<{include}> is no library of the project; add it to LIBRARIES in tools/check_layers.py with the place it belongs to"
    return None


def check_include(table, allowed, path: str, quoted: str | None, angled: str | None) -> str | None:
    name = quoted or angled
    if ".." in name.split("/"):
        return f'"{name}" climbs out of its folder; write layer/file.h'
    first = name.split("/")[0]
    if angled:
        return f"<{name}> is ours; write it in quotes" if "/" in name and first in table else check_library(path, name)
    if first in table and "/" in name:
        layer = path.split("/")[0]
        return None if first in allowed else f'"{name}": cmake/layers.cmake does not let {layer} use {first}'
    if name.endswith(".inc"):
        return None  # generated into the build folder, which is no layer
    return f'"{name}" names no layer; write layer/file.h'


def check(root: Path) -> list[str]:
    table, source, findings = read_layers(root), root / "src", []
    for layer, uses in table.items():
        for used in uses:
            if used not in table:
                findings.append(f"cmake/layers.cmake: {layer} uses {used}, which is no layer; add it or take it out")
            elif layer in closure(table, used):
                findings.append(f"cmake/layers.cmake: {layer} and {used} use each other; one of them must not")
    included = {layer: set() for layer in table}
    for file in sorted(p for p in source.rglob("*") if p.is_file()):
        path = file.relative_to(source).as_posix()
        layer = path.split("/")[0]
        if "/" not in path or layer not in table:
            findings.append(f"src/{path}: belongs to no layer; move it into one of cmake/layers.cmake")
            continue
        if file.suffix not in CODE:
            continue
        text = file.read_text(encoding="utf-8")
        allowed = closure(table, layer)
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            wrong = check_include(table, allowed, path, *match.groups())
            if wrong:
                findings.append(f"src/{path}:{number}: {wrong}")
            if match.group(1):
                included[layer].add(match.group(1).split("/")[0])
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            if re.search(r"\bthrow\b", line):
                findings.append(f"src/{path}:{number}: throw; return a Result, or wrap the library that throws")
    for layer, uses in table.items():
        if any(p.suffix in CODE for p in (source / layer).rglob("*")):
            for used in uses:
                if used not in included[layer]:
                    findings.append(f"cmake/layers.cmake: {layer} USES {used}, but no file includes it; take it out")
    for folder in ("tests", "fuzz", "bench"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in CODE:
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if match and ".." in (match.group(1) or match.group(2)).split("/"):
                    findings.append(f"{file.relative_to(root).as_posix()}:{number}: an include climbs out of its folder; write layer/file.h")
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    findings = check(parser.parse_args().root)
    print("\n".join(findings) if findings else "layers: nothing to say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
