#!/usr/bin/env python3
"""Every class and selector that `anedvd info` lists is really called, on every machine that was built (tests/standin/machines.py).

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/standin/every_selector_test.py

The stand-in counts the messages that reach each of its methods; the program's table says what it may send. The two must agree both ways: a row
that no run calls is unproven or dead, a message without a row would be sent without having been looked for at start-up.
"""

import pathlib
import re
import tempfile
import unittest

from tests.standin import machines

SERVICE = "com.apple.appleneuralengine"
# Between them they go every way through the bridge: stand-in orders, and other things about the environment.
RUNS = {
    "nothing wrong": {},
    "symbols listed as index sets": {"ANEDVD_STANDIN_INDICES": "sets"},
    "the true weights, after a program that was not trusted": {"ANEDVD_STANDIN_FAULTS": f"compile={SERVICE},10,0,1,verifyBundleAtPath: invalid model"},
    "attributes from the outer model": {"ANEDVD_STANDIN_FAULTS": "hide=_ANEInMemoryModel -model"},
}
# Any object answers these: nothing to look for.
ROOT_METHODS = {"NSObject -isKindOfClass:", "NSObject -respondsToSelector:"}


def counts_of(machine: machines.Machine, environment: dict) -> dict:
    """Messages by "CLASS ±selector:" of one short answer on the framework's path."""
    with tempfile.TemporaryDirectory() as folder:
        counts = pathlib.Path(folder) / "counts"
        answer = machine.json(
            "run", "tiny-llama-q4_1.gguf", "hi there", "--device", "ane", "--temp", "0", "-n", "2",
            environment={"ANEDVD_STANDIN_COUNTS": str(counts), "TMPDIR": folder} | environment,
        )  # fmt: skip
        assert answer["device"] == "ane" and answer["ane"]["evaluations"] > 0, answer
        return {" ".join(words[:-1]): int(words[-1]) for words in map(str.split, counts.read_text().splitlines())}


class EverySelector(unittest.TestCase):
    def check(self, name: str):
        machine = machines.MACHINES[name]()
        if isinstance(machine, str):
            self.skipTest(machine)
        sent = {}
        for run, environment in RUNS.items():
            with self.subTest(run):
                for method, count in counts_of(machine, environment).items():
                    sent[method] = sent.get(method, 0) + count
        table = machine.run("info", "--verbose").stdout
        rows = set(re.findall(r"^found +(?:required|optional) +(\S+ [-+]\S+)", table, re.MULTILINE))
        self.assertGreater(len(rows), 30, table)
        self.assertNotRegex(table, r"(?m)^(missing|other type) ")
        self.assertEqual({row for row in rows if sent.get(row, 0) == 0}, set(), "listed, but no run sends it")
        self.assertEqual({row for row, count in sent.items() if count > 0} - rows - ROOT_METHODS, set(), "sent, but not listed")

    def test_here(self):
        self.check("native")

    def test_arm_under_qemu(self):
        self.check("arm")

    def test_from_the_macos_executable(self):
        self.check("mac")


if __name__ == "__main__":
    unittest.main()
