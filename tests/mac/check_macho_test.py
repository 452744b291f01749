#!/usr/bin/env python3
"""tools/check_macho.py finds the executable for macOS sound, and names each fault that is put into a copy of it.

    python3 -m unittest -v tests/mac/check_macho_test.py         needs lief (tools/requirements-mac.txt) and the build of scripts/mac-check
"""

import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("ANEDVD_MAC_PROGRAM", ROOT / "build-macos-zig/bin/anedvd")).resolve()
LIST = ROOT / "tools/machrun/imports.txt"


class CheckMacho(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not PROGRAM.exists():
            raise unittest.SkipTest(f"{PROGRAM} is not built; scripts/mac-check builds it")
        try:
            import lief
        except ImportError:
            raise unittest.SkipTest("lief is not installed; scripts/mac-check has it") from None
        cls.lief = lief
        spec = importlib.util.spec_from_file_location("check_macho", ROOT / "tools/check_macho.py")
        cls.tool = importlib.util.module_from_spec(spec)
        sys.modules["check_macho"] = cls.tool
        spec.loader.exec_module(cls.tool)
        cls.allowed = set(LIST.read_text().split())

    def found_in(self, bytes_, minimum=(13, 0), allowed=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program"
            path.write_bytes(bytes_)
            return self.tool.problems(path, list(minimum), self.allowed if allowed is None else allowed)[0]

    def test_the_build_is_sound(self):
        self.assertEqual(self.found_in(PROGRAM.read_bytes()), [])

    def test_another_lowest_system(self):
        self.assertRegex(" ".join(self.found_in(PROGRAM.read_bytes(), minimum=(14, 0))), "asks for .* want macOS")

    def test_an_import_that_nobody_looked_at(self):
        found = self.found_in(PROGRAM.read_bytes(), allowed=self.allowed - {"_mmap"})
        self.assertEqual(found, ["import that is not in the list: _mmap"])

    def test_a_byte_changed_after_signing(self):
        bytes_ = bytearray(PROGRAM.read_bytes())
        bytes_[len(bytes_) // 2] ^= 1
        self.assertRegex(" ".join(self.found_in(bytes(bytes_))), r"page \d+ was changed after signing")

    def test_a_library_beside_the_system_s(self):
        bytes_ = PROGRAM.read_bytes().replace(b"/usr/lib/libSystem.B.dylib", b"/usr/lib/libSystem.C.dylib", 1)
        self.assertRegex(" ".join(self.found_in(bytes_)), "libraries: .*libSystem.C")

    def test_no_signature(self):
        binary = self.lief.MachO.parse(str(PROGRAM)).at(0)
        binary.remove_signature()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program"
            binary.write(str(path))
            self.assertRegex(" ".join(self.found_in(path.read_bytes())), "not signed")


if __name__ == "__main__":
    unittest.main()
