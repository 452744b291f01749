#!/usr/bin/env python3
"""Builds llama.cpp, the peer of bench/, from the source in the PyPI package llama-cpp-python, and prints the folder of its programs.

    python3 bench/build_llamacpp.py [--folder FOLDER]

Once; later runs only print. Release, for this processor, g++ of the system: about 15 minutes on two cores. With g++ 12 its AMX path crashes, because the
compiler moves tile instructions over the stores they need; two barriers that only the compiler sees mend it and cost it nothing.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

VERSION = "0.3.36"
PROGRAMS = "llama-bench llama-batched-bench llama-server llama-completion llama-quantize llama-tokenize llama-perplexity".split()


def run(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=sys.stderr)


def mend_tiles(file):
    text = file.read_text(encoding="utf-8")
    if 'memory"); _tile_loadd' in text:
        return
    text = text.replace(" _tile_loadconfig(&tc);", ' asm volatile("" :: "r"(&tc) : "memory"); _tile_loadconfig(&tc);')
    text = text.replace(" _tile_loadd(TMM", ' asm volatile("" ::: "memory"); _tile_loadd(TMM')
    file.write_text("// Barriers added by anedvd's bench/build_llamacpp.py.\n" + text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--folder", type=Path, default=cache / "anedvd-peer")
    args = parser.parse_args()
    source = args.folder / f"llama_cpp_python-{VERSION}" / "vendor" / "llama.cpp"
    programs = source / "build" / "bin"
    if not all((programs / name).exists() for name in PROGRAMS):
        args.folder.mkdir(parents=True, exist_ok=True)
        if not source.exists():
            run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", args.folder, f"llama-cpp-python=={VERSION}")
            run("tar", "-C", args.folder, "-xzf", args.folder / f"llama_cpp_python-{VERSION}.tar.gz")
        mend_tiles(source / "ggml" / "src" / "ggml-cpu" / "amx" / "mmq.cpp")
        run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_TESTS=OFF",
            "-DLLAMA_BUILD_EXAMPLES=OFF")
        run("ninja", "-C", source / "build", *PROGRAMS)
    print(programs)


if __name__ == "__main__":
    main()
