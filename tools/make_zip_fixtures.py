"""Makes tests/data/zip/*.zip and the seeds in fuzz/corpus/zip: archives packed by Python's zlib in every way it knows.

Run: python3 tools/make_zip_fixtures.py
Each member of mixed.zip is named after the SHA-256 of its content, so the test needs no list.
"""

import hashlib
import pathlib
import random
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATEGIES = {"default": 0, "filtered": 1, "huffman": 2, "rle": 3, "fixed": 4}  # zlib.h
STAMP = (2026, 1, 1, 0, 0, 0)


def contents():
    rng = random.Random(1)
    yield b""
    yield b"a"
    yield b"abc" * 100
    yield bytes(300)
    yield rng.randbytes(700)
    yield b"".join(b"line %d of the text\n" % rng.randrange(50) for _ in range(200))
    # Skewed bytes make codes of up to 15 bits.
    yield bytes(min(int(rng.expovariate(0.4)), 255) for _ in range(6000))
    # Matches at the farthest distance, and output far beyond the window.
    block = rng.randbytes(400)
    yield block + bytes(32768 - 400) + block + bytes(32768 - 400) + block
    yield b"xyzw" * 100000


def add(archive, data, level, strategy, flush_every=0):
    """One member; flush_every > 0 ends a block every so many bytes (Z_FULL_FLUSH: stored blocks of length 0 between)."""
    info = zipfile.ZipInfo(hashlib.sha256(data).hexdigest() + f"-{level}-{strategy}-{flush_every}", STAMP)
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 8, STRATEGIES[strategy])
    packed = b""
    if flush_every:
        for at in range(0, len(data), flush_every):
            packed += packer.compress(data[at : at + flush_every]) + packer.flush(zlib.Z_FULL_FLUSH)
    else:
        packed += packer.compress(data)
    packed += packer.flush()

    class Ready:
        def compress(self, _):
            return b""

        def flush(self):
            return packed

    original, zipfile._get_compressor = zipfile._get_compressor, lambda *_: Ready()
    try:
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, data)
    finally:
        zipfile._get_compressor = original


def main():
    data_folder, seeds = ROOT / "tests/data/zip", ROOT / "fuzz/corpus/zip"
    data_folder.mkdir(parents=True, exist_ok=True)
    seeds.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(data_folder / "mixed.zip", "w") as archive:
        for data in contents():
            for strategy in STRATEGIES:
                if strategy != "huffman" or len(data) < 9000:  # no matches: large
                    add(archive, data, 6, strategy)
            if len(data) < 9000:
                add(archive, data, 0, "default")
            add(archive, data, 9, "default", flush_every=1 + len(data) // 3)
            if len(data) < 9000:
                archive.writestr(zipfile.ZipInfo(hashlib.sha256(data).hexdigest() + "-stored", STAMP), data)
    for name, data in {"fixed": b"abcabcabc", "dynamic": b"line 1 of 9\n" * 30, "skewed": bytes(range(40)) * 3}.items():
        with zipfile.ZipFile(seeds / name, "w") as archive:
            add(archive, data, 9, "fixed" if name == "fixed" else "default")
            archive.writestr(zipfile.ZipInfo("s", STAMP), data[:20])
    with zipfile.ZipFile(seeds / "flushed", "w") as archive:
        add(archive, b"abcd" * 20, 0, "default", flush_every=30)


main()
