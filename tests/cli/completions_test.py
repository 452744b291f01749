#!/usr/bin/env python3
"""What the completion scripts offer, asked of the shells themselves.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/cli/completions_test.py

Standard library only. Shells that are not here are skipped.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = pathlib.Path(os.environ.get("ANEDVD_PROGRAM", ROOT / "build" / "bin" / "anedvd")).resolve()
SECONDS = 120


class Completions(unittest.TestCase):
    """A cache with one model, a folder with a file whose name holds a blank."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "cache" / "models").mkdir(parents=True)
        (self.folder / "cache" / "models" / "own-model.gguf").write_bytes(b"GGUF")
        (self.folder / "my model.gguf").write_bytes(b"GGUF")
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "anedvd").symlink_to(PROGRAM)
        self.env = os.environ | {"ANEDVD_CACHE": str(self.folder / "cache"), "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def script(self, shell: str) -> str:
        return subprocess.run([str(PROGRAM), "completions", shell], capture_output=True, text=True, check=True, timeout=SECONDS).stdout

    def run_in(self, shell: list[str], text: str) -> list[str]:
        done = subprocess.run([*shell, text], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.split("\n") if line]

    def bash(self, *words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in words)
        ask = f'\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _anedvd; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return self.run_in(["bash", "-c"], self.script("bash") + ask)

    @unittest.skipUnless(shutil.which("bash"), "no bash here")
    def test_bash_keeps_names_with_blanks_whole(self):
        self.assertEqual(self.bash("anedvd", "run", "my"), ["my model.gguf"])
        self.assertEqual(self.bash("anedvd", "run", "--model", "my"), ["my model.gguf"])

    @unittest.skipUnless(shutil.which("bash"), "no bash here")
    def test_bash_offers_models(self):
        self.assertEqual(self.bash("anedvd", "run", "s"), ["smollm2"])
        self.assertEqual(self.bash("anedvd", "run", "own"), ["own-model"])
        self.assertEqual(self.bash("anedvd", "run", "-m", "own"), ["own-model"])
        self.assertEqual(self.bash("anedvd", "rm", ""), ["own-model"])
        self.assertLess({"list", "rm", "smollm2"}, set(self.bash("anedvd", "pull", "")))
        self.assertEqual(self.bash("anedvd", "pull", "rm", ""), ["own-model"])
        self.assertEqual(self.bash("anedvd", "version", ""), [])

    @unittest.skipUnless(shutil.which("bash"), "no bash here")
    def test_bash_offers_the_programs_own_lists(self):
        self.assertIn("q4_k", self.bash("anedvd", "run", "--quant", ""))
        self.assertIn("m4-pro", self.bash("anedvd", "run", "--sim-chip", "m4"))
        self.assertEqual(self.bash("anedvd", "run", "--sim-profile", "ori"), ["orion15"])
        self.assertEqual(self.bash("anedvd", "quantize", "in.gguf", "out.gguf", "Q4_K_"), ["Q4_K_S", "Q4_K_M"])
        self.assertEqual(self.bash("anedvd", "quantize", "my"), ["my model.gguf"])
        self.assertEqual(self.bash("anedvd", "run", "--device", "=", "s"), ["sim"])
        self.assertEqual(self.bash("anedvd", "run", "--system", ""), [])

    def test_every_script_asks_for_the_same(self):
        for shell in ("zsh", "fish"):
            script = self.script(shell)
            for wanted in ("q4_k", "m4-pro", "orion15", "Q4_K_M", "completions", "here", "models", "list rm"):
                self.assertIn(wanted, script, shell)

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish_offers_models(self):
        def offered(line: str) -> list[str]:
            found = self.run_in(["fish", "--no-config", "-c"], self.script("fish") + f"\ncomplete -C '{line}'")
            return [line.split("\t")[0] for line in found]

        self.assertIn("own-model", offered("anedvd run own"))
        self.assertEqual(offered("anedvd rm "), ["own-model"])
        self.assertEqual(offered("anedvd quantize a b Q4_K_"), ["Q4_K_M", "Q4_K_S"])


if __name__ == "__main__":
    unittest.main()
