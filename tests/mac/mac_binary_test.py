#!/usr/bin/env python3
"""The executable for macOS, run here: the very file that is shipped, loaded by tools/machrun under qemu.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/mac/mac_binary_test.py

Skipped until scripts/mac-check (or cmake --preset macos-zig) has built it. What it answers must be what the program built for this machine answers,
token for token. It proves the compiler's code, start-up, our calls' ABI and our logic, not Apple's loader, system or hardware.
"""

import pathlib
import tempfile
import unittest

from tests.standin import machines

PROMPT = "the sea and the sky and the land"


class MacBinary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        found = machines.mac()
        if isinstance(found, str):
            raise unittest.SkipTest(found)
        cls.mac = found
        cls.here = machines.Machine("here", (machines.native_program(),), pathlib.Path("/dev/null"))

    def ids(self, machine, model, *arguments, **options):
        options = {"standin": False} | options
        return machine.json("run", model, PROMPT, "--no-chat", "--temp", "0", "-n", "12", *arguments, **options)["ids"]

    def test_nothing_is_missing_that_it_imports(self):
        done = self.mac.run("--version", standin=False, environment={"MACHRUN_LIST": "1"})
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, self.here.run("--version", standin=False).stdout)

    def test_info_without_the_frameworks_says_so(self):
        told = self.mac.json("info", standin=False)
        self.assertEqual(told["device"], "cpu")
        self.assertFalse(told["neural_engine"]["usable"])
        self.assertRegex(told["neural_engine"]["why"], "cannot be opened")
        self.assertIn("NEON", told["simd"])

    def test_info_with_the_stand_in_finds_everything(self):
        told = self.mac.json("info")
        self.assertEqual(told["device"], "ane")
        self.assertEqual(told["neural_engine"]["missing"], [])

    def test_a_device_that_is_not_there_is_one_line(self):
        done = self.mac.run("run", "tiny-llama-q4_1.gguf", "x", "--device", "ane", "-n", "1", standin=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^anedvd: .*cannot be opened.*\n$")

    def test_selftest_in_the_simulator_and_through_the_framework(self):
        for device in ("sim", "ane"):
            with self.subTest(device), tempfile.TemporaryDirectory() as folder:
                told = self.mac.json("selftest", "--device", device, environment={"TMPDIR": folder})
                self.assertTrue(told["ok"], told)
                self.assertEqual(told["host_programs"], 0)
                self.assertEqual([name.name for name in pathlib.Path(folder).iterdir() if name.name != "anedvd.lock"], [])

    def test_the_same_text_on_every_level(self):
        for model in ("tiny-llama-q4_1.gguf", "tiny-llama-f32.gguf", "tiny-llama-untied.gguf"):
            wanted = self.ids(self.here, model)
            self.assertGreater(len(set(wanted)), 2)
            for level in ("scalar", "neon", "dotprod", "i8mm"):
                with self.subTest(model=model, level=level):
                    self.assertEqual(self.ids(self.mac, model, "--device", "cpu", environment={"ANEDVD_SIMD": level}), wanted)

    def test_the_same_text_through_the_framework(self):
        wanted = self.ids(self.here, "tiny-llama-q4_1.gguf")
        with tempfile.TemporaryDirectory() as folder:
            given = self.ids(self.mac, "tiny-llama-q4_1.gguf", "--device", "ane", standin=True, environment={"TMPDIR": folder})
        self.assertEqual(given, wanted)

    def test_a_wrong_file_is_one_line(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
            file.write(b"GGUF\3\0\0\0" + b"\xff" * 64)
            file.flush()
            done = self.mac.run("run", file.name, "x", "-n", "1", standin=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^anedvd: [^\n]*\n$")

    def test_its_sampling_is_the_same_too(self):
        arguments = ("run", "tiny-llama-q4_1.gguf", PROMPT, "--no-chat", "--temp", "0.8", "--seed", "7", "-n", "12")
        self.assertEqual(
            self.mac.json(*arguments, "--device", "cpu", standin=False)["ids"], self.here.json(*arguments, standin=False)["ids"])  # fmt: skip


if __name__ == "__main__":
    unittest.main()
