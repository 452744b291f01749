#!/usr/bin/env python3
"""The same greedy text on every kernel level of this processor, and on 64-bit Arm under qemu.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/cli/every_processor_test.py

For Arm: ANEDVD_ARM_PROGRAM, else build-arm-qemu/bin/anedvd of the preset arm-qemu, if it was built, and qemu-aarch64-static. Standard library
only. ANEDVD_MODEL names another model than the tiny ones, for example the default model.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = pathlib.Path(os.environ.get("ANEDVD_PROGRAM", ROOT / "build/bin/anedvd")).resolve()
ARM_PROGRAM = pathlib.Path(os.environ.get("ANEDVD_ARM_PROGRAM", ROOT / "build-arm-qemu/bin/anedvd")).resolve()
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
MODELS = [os.environ["ANEDVD_MODEL"]] if "ANEDVD_MODEL" in os.environ else ["tiny-llama-q4_1.gguf", "tiny-llama-f32.gguf"]
TOKENS = os.environ.get("ANEDVD_TEST_TOKENS", "24")
SECONDS = 1200


def answer(command: list, model: str, level: str | None = None) -> list[int]:
    """Ids of a greedy continuation: a prompt of several columns and single tokens after it."""
    env = dict(os.environ) | ({"ANEDVD_SIMD": level} if level else {})
    done = subprocess.run(
        [*map(str, command), "run", model, "the sea and the sky and the land", "--no-chat", "--temp", "0", "-n", TOKENS, "--json"],
        cwd=ROOT / "tests/data", env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
    )  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout)["ids"]


def levels(command: list) -> list[str]:
    """As the program itself lists them when it is asked for one that is none."""
    done = subprocess.run([*map(str, command), "run", MODELS[0], "x", "-n", "1"], cwd=ROOT / "tests/data",
                          env=dict(os.environ) | {"ANEDVD_SIMD": "none-such"}, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)  # fmt: skip
    return re.search(r"it has (.*)$", done.stderr.decode().strip()).group(1).split(", ")


class SameText(unittest.TestCase):
    def test_every_level_of_this_processor(self):
        known = levels([PROGRAM])
        self.assertIn("scalar", known)
        for model in MODELS:
            wanted = answer([PROGRAM], model)
            self.assertGreater(len(set(wanted)), 2)
            for level in known:
                with self.subTest(model=model, level=level):
                    self.assertEqual(answer([PROGRAM], model, level), wanted)

    def test_arm_under_qemu(self):
        if QEMU is None:
            self.skipTest("qemu-aarch64-static is not installed (Debian: qemu-user-static)")
        if not ARM_PROGRAM.exists():
            self.skipTest(f"{ARM_PROGRAM.parent.parent.name} has no program; cmake --preset arm-qemu && cmake --build --preset arm-qemu makes it")
        command = [QEMU, ARM_PROGRAM]
        known = levels(command)
        self.assertIn("neon", known)
        for model in MODELS:
            wanted = answer([PROGRAM], model)
            for level in known:
                with self.subTest(model=model, level=level):
                    self.assertEqual(answer(command, model, level), wanted)


if __name__ == "__main__":
    unittest.main()
