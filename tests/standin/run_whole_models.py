#!/usr/bin/env python3
"""Runs whole models through the framework path against the stand-in, and every failure of docs/ane.md#errors in the middle of it.

    python3 tests/standin/run_whole_models.py ANEDVD STANDIN_LIBRARY
    python3 tests/standin/run_whole_models.py arm | mac        on another machine of machines.py; says why when it was not built

The answer must be the CPU's whatever fails; what failed must be counted; no program's folder may be left behind, also not by a killed run.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
MODEL = DATA / "tiny-llama-q4_1.gguf"
PROGRAM, LIBRARY, MACHINE = (), "", ""
SERVICE, COMPILER = "com.apple.appleneuralengine", "com.apple.appleneuralengine.compiler"


def run(device, tokens=12, faults="", extra=(), folder=None):
    environment = dict(os.environ, ANEDVD_ANE_FRAMEWORK=LIBRARY, ANEDVD_STANDIN_FAULTS=faults)
    if folder:
        environment["TMPDIR"] = str(folder)
    command = [*PROGRAM, "run", str(MODEL), "hi there", "--device", device, "--temp", "0", "-n", str(tokens), "--json", *extra]
    return subprocess.run(command, capture_output=True, env=environment, timeout=300, text=True, check=False)


# What the framework says → what must have been counted (a name of the "ane" object, and its least value).
CASES = {
    "the other dialect": (f"compile={COMPILER},1,0,1,_ANECompiler : ANECCompile() FAILED err=(InvalidMILProgram)", "compiles", 11),
    "a split": (f"compile={COMPILER},1,0,1,_ANECompiler : ANECCompile() FAILED err=(CompilationFailure)", "splits", 1),
    "true data": (f"compile={SERVICE},10,0,1,verifyBundleAtPath: invalid model", "compiles", 11),
    "waiting": (f"load={SERVICE},54,0x5,3,Program load failure — no ANE resources (transient; retry)", "load_retries", 3),
    "one more try": (f"load={SERVICE},53,0x1,1,Program load failure — no memory (transient; retry)", "load_retries", 1),
    "too large once": (f"load={SERVICE},6,0,1,Program load failure (0x20004)", "load_retries", 1),
    "too large": (f"load={SERVICE},6,0,2,Program load failure (0x20004)", "splits", 1),
    "too large by the other number": (f"load={SERVICE},6,0,1,Program load failure (0x20003)", "load_retries", 1),
    "transient load": (f"load={SERVICE},50,0,2,Device not ready (transient; retry)", "load_retries", 2),
    "transient request": (f"evaluate={SERVICE},50,0,3,Request preempted (transient; retry)", "evaluate_retries", 3),
    "hardware": (f"evaluate={SERVICE},51,0,1,Hardware failure", "failures", 1),
    "a surface by the old words": (
        f"evaluate={SERVICE},8,0,1,ANEProgramProcessRequestDirect() Failed with status=0x1d : statusType=0x9", "failures", 1),
    "cancelled": (f"evaluate={SERVICE},8,0x12,3,ANEProgramProcessRequestDirect() Failed with status=0x12", "evaluate_retries", 3),
    "surface": (f"evaluate={SERVICE},42,0x1d,1,Inference failed", "failures", 1),
    "bad request": (f"evaluate={SERVICE},8,0x16,1,Failed with status=0x16", "failures", 1),
    "procedure": (f"evaluate={SERVICE},8,0x2,1,Failed with status=0x2 :", "failures", 1),
    "timeout": (f"evaluate={SERVICE},3,0xf,1,timeout", "failures", 1),
    "exception": ("evaluate=raise,1", "failures", 1),
    "no device any more": (f"evaluate={SERVICE},8,0x2,100000,Failed with status=0x2 :", "failures", 7),
    "no program at all": (f"compile={COMPILER},1,0,100000,_ANECompiler : ANECCompile() FAILED err=(CompilationFailure)", "host_programs", 1),
}


def left_in(folder):
    """All but the file that guards the folder between processes."""
    return [name for name in os.listdir(folder) if name != "anedvd.lock"]


class StandInRuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wanted = json.loads(run("cpu").stdout)["ids"]

    def answer(self, **options):
        done = run("ane", **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_framework_path_answers_as_the_cpu(self):
        with tempfile.TemporaryDirectory() as folder:
            given = self.answer(folder=folder)
            self.assertEqual(given["ids"], self.wanted)
            self.assertEqual(given["device"], "ane")
            self.assertEqual(given["ane"]["programs"], 10)
            self.assertEqual(left_in(folder), [])
        self.assertEqual(json.loads(run("sim").stdout)["ids"], self.wanted)

    def test_other_cuts_and_widths_answer_the_same(self):
        for extra in (["--split"], ["--chunk", "32"], ["--chunk", "1"]):
            self.assertEqual(self.answer(extra=extra)["ids"], self.wanted, extra)

    def test_auto_measures_and_answers_the_same(self):
        done = run("auto")
        self.assertEqual(done.returncode, 0, done.stderr)
        given = json.loads(done.stdout)
        self.assertEqual(given["ids"], self.wanted)
        self.assertEqual(given["device"], "ane")
        self.assertGreater(given["ane"]["placed_on_host"] + given["ane"]["evaluations"], 0)

    def test_every_failure_has_a_way_out(self):
        for name, (faults, counter, least) in CASES.items():
            if MACHINE == "mac" and name == "exception":
                continue  # two unwinders, each blind to the other's frames: only a Mac has one for both
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                given = self.answer(faults=faults, folder=folder)
                self.assertEqual(given["ids"], self.wanted)
                self.assertGreaterEqual(given["ane"][counter], least, given["ane"])
                self.assertEqual(left_in(folder), [])

    def test_nothing_is_left_on_disk_once_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, ANEDVD_ANE_FRAMEWORK=LIBRARY, TMPDIR=folder, ANEDVD_STANDIN_FAULTS="evaluate=stall,60000")
            command = [*PROGRAM, "run", str(MODEL), "hi", "--device", "ane", "-n", "1", "--verbose"]
            with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                self.addCleanup(process.kill)
                was_there, still_there, quiet, files = False, False, 0, []
                for _ in range(40000):  # programs come and go while it loads, and then there are none for as long as it evaluates
                    # os.walk passes over a folder that goes in the meantime.
                    files = [name for _, _, names in os.walk(folder) for name in names if name not in ("anedvd.lock", "alive")]
                    was_there = was_there or bool(files)
                    quiet = 0 if files else quiet + 1
                    if was_there and quiet > 1500:
                        break
                    still_there = process.poll() is None
                    time.sleep(0.001)
                process.kill()
            self.assertTrue(was_there and still_there)
            self.assertGreater(quiet, 1500, f"left after loading: {files}")

    def test_other_route_answers_as_the_cpu(self):
        with tempfile.TemporaryDirectory() as folder:
            given = self.answer(extra=["--ane-route", "e5"], folder=folder)
            self.assertEqual(given["ids"], self.wanted)
            self.assertEqual(given["ane"]["programs"], 10)
            self.assertGreater(given["ane"]["evaluations"], 0)
            self.assertEqual(left_in(folder), [])

    def test_weights_in_fewer_bits_where_the_route_takes_them(self):
        for form, matrices in (("int8-row", True), ("lut6", False)):
            given = self.answer(extra=["--ane-weights", form])
            self.assertEqual(given["ane"]["coded_matrices"] > 0, matrices, form)
        given = self.answer(extra=["--ane-weights", "lut6", "--ane-route", "e5"])
        self.assertGreater(given["ane"]["coded_matrices"], 0)

    def test_missing_class_is_one_line(self):
        done = run("ane", faults="hide=_ANERequest")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^anedvd: .*_ANERequest.*\n$")

    def test_machine_without_an_engine_is_one_line(self):
        with unittest.mock.patch.dict(os.environ, ANEDVD_STANDIN_NO_ENGINE="1"):
            done = run("ane")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^anedvd: .*has none; use --device cpu\n$")

    def test_killed_run_leaves_nothing_after_the_next_start(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, ANEDVD_ANE_FRAMEWORK=LIBRARY, TMPDIR=folder, ANEDVD_STANDIN_FAULTS="load=stall,60000")
            command = [*PROGRAM, "run", str(MODEL), "hi", "--device", "ane", "-n", "1"]
            with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                for _ in range(600):
                    if any(not name.startswith("anedvd") for name in os.listdir(folder)):
                        break
                    time.sleep(0.05)
                process.send_signal(signal.SIGKILL)
            self.assertNotEqual(left_in(folder), [])
            self.assertEqual(self.answer(folder=folder)["ids"], self.wanted)
            self.assertEqual(left_in(folder), [])


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.path.insert(0, str(DATA.parent.parent))
        from tests.standin.machines import MACHINES

        MACHINE = sys.argv[1]
        found = MACHINES[MACHINE]()
        if isinstance(found, str):
            sys.exit(found)
        PROGRAM, LIBRARY = tuple(map(str, found.command)), str(found.library)
    else:
        PROGRAM, LIBRARY = (sys.argv[1],), sys.argv[2]
    unittest.main(argv=sys.argv[:1])
