#!/usr/bin/env python3
"""What a long piece of work says while it lasts: a bar on a terminal, which is gone at the end, and plain lines elsewhere.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/cli/progress_test.py

Standard library only. The work is made long by the plainest kernels and one thread. Where even that is done
within half a second there is no bar to be seen, and the test is skipped.
"""

import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from acceptance_test import TINY, Terminal, run

SLOW = {"ANEDVD_SIMD": "scalar"}
BAR = rb"\r%s  [^\r\n]*[\d,]+/[\d,]+ tokens  [\d.,]+ tok/s"
GONE = b"\r\x1b[K"
TEXT = "the sea and the sky and the land and the sun over the hill "


class Progress(unittest.TestCase):
    def shown(self, label: bytes, commands: list[tuple[str, ...]]) -> bytes:
        """What the first command that takes long enough for a bar leaves on a terminal."""
        for words in commands:
            terminal = Terminal(*words, "--color", "never", "-t", "1", env=SLOW)
            self.assertEqual(terminal.exit_code(), 0, terminal.text)
            if re.search(BAR % label, terminal.text):
                return terminal.text
        self.skipTest(f"this machine needs less than half a second for {' '.join(commands[-1])}")

    def file_of(self, repeats: int) -> str:
        file = tempfile.NamedTemporaryFile("w", suffix=".txt")
        self.addCleanup(file.close)
        file.write(TEXT * repeats)
        file.flush()
        return file.name

    def test_a_long_prompt_shows_how_far_it_is_read(self):
        words = ("run", TINY, "--prompt-file", self.file_of(60), "-n", "2", "--temp", "0", "--no-chat")
        said = self.shown(b"reading", [(*words, *more) for more in ((), ("--exact",), ("--exact", "--chunk", "1"))])
        before, _, after = said.rpartition(GONE)
        self.assertRegex(before, BAR % b"reading")
        self.assertNotIn(b"reading", after)
        self.assertRegex(after, rb"prompt [\d,]+ tokens .* answer 2 tokens ")

    def test_perplexity_shows_how_far_it_is(self):
        said = self.shown(b"perplexity", [("perplexity", TINY, "--file", self.file_of(n), "-c", "128") for n in (100, 400, 1600, 6400)])
        before, _, after = said.rpartition(GONE)
        self.assertRegex(before, BAR % b"perplexity")
        self.assertRegex(after, rb"\Aperplexity [\d.,]+ \xc2\xb1 [\d.,]+ over [\d,]+ tokens, windows of 128\r\n\Z")

    def test_verify_shows_how_far_it_is(self):
        said = self.shown(b"verify", [("verify", TINY, "--device", "sim", "--chunk", chunk) for chunk in ("64", "1")])
        before, _, after = said.rpartition(GONE)
        self.assertRegex(before, BAR % b"verify")
        self.assertRegex(after, rb"\Adevice +sim .*(\r\n.*)*verdict +ok\r\n\Z")

    def test_without_a_terminal_there_is_no_bar(self):
        done = run("perplexity", TINY, "--file", self.file_of(60), "-c", "128", env=SLOW)
        self.assertRegex(done.stderr, rb"\Areading [\d,]+ tokens in windows of 128\n(perplexity  [\d,]+/[\d,]+ tokens[^\r\x1b\n]*\n)*\Z")
        done = run("run", TINY, "--prompt-file", self.file_of(60), "--exact", "-n", "2", "--temp", "0", env=SLOW)
        self.assertNotIn(b"\r", done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], rb"\Aprompt [\d,]+ tokens ")

    def test_quiet_is_quiet(self):
        done = run("perplexity", TINY, "--file", self.file_of(60), "-c", "128", "--quiet")
        self.assertEqual(done.stderr, b"")


if __name__ == "__main__":
    unittest.main()
