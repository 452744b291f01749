#!/usr/bin/env python3
"""Checks that no kernel leaks code for its instruction set into the rest of the program.

    python3 tools/check_kernels.py BUILD_FOLDER

Every level of src/cpu/kernels is compiled with flags of its own. A function that the linker may merge (an inline function or a template of
the standard library) could be taken from such a file and crash an older processor. So each object defines exactly one global symbol, the
table, and no weak one. Reads the objects with nm; prints one line a finding and exits 1 when there is one.
"""
import argparse
import subprocess
import sys
from pathlib import Path


def symbols(file: Path) -> list[tuple[str, str]]:
    """(kind, name) of what the object defines for others; kinds are nm's letters."""
    out = subprocess.run(
        ["nm", "--defined-only", "--extern-only", "--demangle", str(file)], capture_output=True, text=True, check=True
    ).stdout
    rows = []
    for line in out.splitlines():
        _, kind, name = line.split(maxsplit=2)
        rows.append((kind, name))
    return rows


def check(build: Path) -> tuple[int, list[str]]:
    findings = []
    objects = sorted(
        file
        for file in build.glob("CMakeFiles/anedvd_cpu.dir/**/cpu/kernels/*.o")
        if file.name.startswith(("x86_", "arm_", "scalar."))
    )
    for file in objects:
        strong = []
        for kind, name in symbols(file):
            if kind in "WwVvu":
                findings.append(f"{file.name}: {name} is weak; other files could get this level's code, make it local or always inline")
            else:
                strong.append(name)
        if len(strong) != 1:
            findings.append(f"{file.name}: defines {len(strong)} global symbols ({', '.join(strong) or 'none'}), one is wanted: its table")
    return len(objects), findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    count, findings = check(parser.parse_args().build)
    if count == 0:
        findings.append("no kernel objects here; build first")
    print("\n".join(findings) if findings else f"kernels: {count} objects, nothing to say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
