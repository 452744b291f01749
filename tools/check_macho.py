"""Checks the macOS executable that was built on another system, before anybody runs it.

  pip install lief && python3 tools/check_macho.py build-macos-zig/bin/anedvd [--imports tools/machrun/imports.txt] [--update]

 - the load commands: 64-bit Arm executable, libSystem and no other library, an entry point, no stray rpath
 - the lowest macOS it asks for (--minimum, 13.0)
 - every import stands in the list; --update writes the list anew, for a reviewer to see what came in
 - the ad-hoc signature is there, and each page's hash in it is the page's
"""

import argparse
import hashlib
import pathlib
import struct
import sys

import lief

SYSTEM = "/usr/lib/libSystem.B.dylib"
CODE_DIRECTORY = 0xFADE0C02
ADHOC = 0x2
SHA256 = 2


def page_problems(data, signature):
    """Compares the hashes of the CodeDirectory (xnu, cs_blobs.h: big-endian) with the pages before the signature."""
    blob = data[signature.data_offset : signature.data_offset + signature.data_size]
    count = struct.unpack_from(">I", blob, 8)[0]
    for index in range(count):
        _, offset = struct.unpack_from(">II", blob, 12 + 8 * index)
        if struct.unpack_from(">I", blob, offset)[0] == CODE_DIRECTORY:
            break
    else:
        return ["signature: no code directory"]
    directory = blob[offset:]
    flags, hash_at, _, _, slots, limit = struct.unpack_from(">6I", directory, 12)
    hash_bytes, hash_type, _, page_power = struct.unpack_from("4B", directory, 36)
    out = []
    if not flags & ADHOC:
        out.append(f"signature: flags {flags:#x} are not ad-hoc")
    if hash_type != SHA256:
        return out + [f"signature: hash type {hash_type}, not SHA-256"]
    page = 1 << page_power
    if limit != signature.data_offset or slots != (limit + page - 1) // page:
        out.append(f"signature: covers {limit} bytes in {slots} pages, the file has {signature.data_offset} before it")
    for slot in range(slots):
        want = hashlib.sha256(data[slot * page : min(limit, (slot + 1) * page)]).digest()
        if directory[hash_at + slot * hash_bytes : hash_at + (slot + 1) * hash_bytes] != want:
            out.append(f"signature: page {slot} was changed after signing")
    return out


def problems(path, minimum, allowed):
    data = path.read_bytes()
    binary = lief.MachO.parse(str(path)).at(0)
    out = []
    if binary.header.cpu_type != lief.MachO.Header.CPU_TYPE.ARM64:
        out.append(f"processor: {binary.header.cpu_type}")
    if binary.header.file_type != lief.MachO.Header.FILE_TYPE.EXECUTE:
        out.append(f"kind: {binary.header.file_type}")
    libraries = [library.name for library in binary.libraries]
    if libraries != [SYSTEM]:
        out.append(f"libraries: {libraries}, want only {SYSTEM}")
    if not binary.has_main_command:
        out.append("no entry point")
    if binary.has_rpath:
        out.append("an rpath")
    if not binary.has_build_version:
        out.append("no build version")
    else:
        found = binary.build_version.minos[:2]
        if binary.build_version.platform != lief.MachO.BuildVersion.PLATFORMS.MACOS or found != minimum:
            out.append(f"asks for {binary.build_version.platform} {found}, want macOS {minimum}")
    # A definition that another library may replace (a weak one of C++) is bound like an import, but is the executable's own.
    own = {symbol.name for symbol in binary.exported_symbols}
    imports = sorted({symbol.name for symbol in binary.imported_symbols} - own)
    out += [f"import that is not in the list: {name}" for name in imports if allowed is not None and name not in allowed]
    if not binary.has_code_signature:
        out.append("not signed: Apple silicon runs no unsigned code")
    else:
        out += page_problems(data, binary.code_signature)
    return out, imports


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executable", type=pathlib.Path)
    parser.add_argument("--imports", type=pathlib.Path, help="file with one allowed import a line")
    parser.add_argument("--update", action="store_true", help="write the imports found to that file")
    parser.add_argument("--minimum", default="13.0")
    options = parser.parse_args()
    allowed = None
    if options.imports and not options.update:
        allowed = set(options.imports.read_text().split())
    found, imports = problems(options.executable, [int(part) for part in options.minimum.split(".")], allowed)
    if options.imports and options.update:
        options.imports.write_text("\n".join(imports) + "\n")
    for line in found:
        print(f"{options.executable}: {line}", file=sys.stderr)
    if not found:
        print(f"{options.executable}: sound, {len(imports)} imports")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
