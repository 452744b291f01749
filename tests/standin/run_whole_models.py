#!/usr/bin/env python3
"""Runs whole models through the framework path against the stand-in, and every failure of docs/ane.md#errors in the middle of it.

    python3 tests/standin/run_whole_models.py ANEDVD STANDIN_LIBRARY
    python3 tests/standin/run_whole_models.py arm | mac        on another machine of machines.py; says why when it was not built

The answer must be the CPU's whatever fails; what failed must be counted; no program's folder may be left behind, also not by a killed run.
"""

import dataclasses
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


def environment_of(faults, folder=None):
    return dict(os.environ, ANEDVD_ANE_FRAMEWORK=LIBRARY, ANEDVD_STANDIN_FAULTS=faults) | ({"TMPDIR": str(folder)} if folder else {})


def command_of(device, extra=()):
    return [*PROGRAM, "run", str(MODEL), "hi there", "--device", device, "--temp", "0", "-n", "12", "--json", *extra]


def run(device, faults="", extra=(), folder=None):
    environment = environment_of(faults, folder)
    return subprocess.run(command_of(device, extra), capture_output=True, env=environment, timeout=300, text=True, check=False)


@dataclasses.dataclass(frozen=True)
class Case:
    row: str  # of docs/ane.md#errors
    counter: str  # of the "ane" object, and its least value
    least: int
    faults: str = ""  # of the stand-in
    device: str = "ane"
    extra: tuple = ()


def refused(code, status, words, times=1):
    return f"load={SERVICE},{code},{status},{times},{words}"


def failed(code, status, words, times=1):
    return f"evaluate={SERVICE},{code},{status},{times},{words}"


def not_made(word, times=1):
    return f"compile={COMPILER},1,0,{times},_ANECompiler : ANECCompile() FAILED err=({word})"


DIRECT = "ANEProgramProcessRequestDirect() Failed with status="
DIALECT, UNFIT, BUDGET = "compiler 1, `InvalidMILProgram`", "compiler 1, `CompilationFailure`", "compiler 1, every program from some on"
TOO_LARGE, SMALL, CANCELLED, OTHER_ROUTE = "6 · 0x20003, 0x20004", "42 or 8 · 0x1d", "8 · 0x12", "E5 11, −14"
TRANSIENT, AT_LOAD, AT_RUN = 'words with "transient"', "any other when it loads", "any other when it evaluates"

# What the framework says → what must have been counted.
CASES = {
    "the other dialect": Case(DIALECT, "compiles", 11, not_made("InvalidMILProgram")),
    "a split": Case(UNFIT, "splits", 1, not_made("CompilationFailure")),
    "no program at all": Case(UNFIT, "host_programs", 1, not_made("CompilationFailure", 100000)),
    "no more compilations": Case(BUDGET, "host_programs", 1, device="sim", extra=("--sim-faults", "compile:cannot-lower*-1@5")),
    "true data": Case("10", "compiles", 11, f"compile={SERVICE},10,0,1,verifyBundleAtPath: invalid model"),
    "waiting": Case("54 · 0x5", "load_retries", 3, refused(54, "0x5", "Program load failure — no ANE resources (transient; retry)", 3)),
    "one more try": Case("53 · 0x1", "load_retries", 1, refused(53, "0x1", "Program load failure — no memory (transient; retry)")),
    "no memory at all": Case("53 · 0x1", "splits", 1, refused(53, "0x1", "Program load failure — no memory (transient; retry)", 2)),
    "too large once": Case(TOO_LARGE, "load_retries", 1, refused(6, 0, "Program load failure (0x20004)")),
    "too large": Case(TOO_LARGE, "splits", 1, refused(6, 0, "Program load failure (0x20004)", 2)),
    "too large by the other number": Case(TOO_LARGE, "load_retries", 1, refused(6, 0, "Program load failure (0x20003)")),
    "surface": Case(SMALL, "failures", 1, failed(42, "0x1d", "Inference failed")),
    "a surface by the old words": Case(SMALL, "failures", 1, failed(8, 0, DIRECT + "0x1d : statusType=0x9")),
    "cancelled": Case(CANCELLED, "evaluate_retries", 3, failed(8, "0x12", DIRECT + "0x12", 3)),
    "cancelled for good": Case(CANCELLED, "failures", 1, failed(8, "0x12", DIRECT + "0x12", 8)),
    "bad request": Case("8 · 0x16", "failures", 1, failed(8, "0x16", DIRECT + "0x16")),
    "procedure": Case("8 · 0x2", "failures", 1, failed(8, "0x2", DIRECT + "0x2 :")),
    "no device any more": Case("8 · 0x2", "failures", 7, failed(8, "0x2", DIRECT + "0x2 :", 100000)),
    "timeout": Case("3 · 0xf", "failures", 1, failed(3, "0xf", "timeout")),
    "mapping": Case("13 · 0x12, 15", "evaluate_retries", 1, failed(13, "0x12", "IOSurface map failed")),
    "chaining": Case("13 · 0x12, 15", "failures", 1, failed(15, 0, "ANEProgramChainingPrepare failed")),
    "not permitted by the kernel": Case(AT_LOAD, "splits", 1, refused(1, "0xe00002e2", "not permitted")),
    "no form on the other route": Case(OTHER_ROUTE, "splits", 1, "e5_compile=e5rt,11,0,1,-", extra=("--ane-route", "e5")),
    "too large on the other route": Case(OTHER_ROUTE, "splits", 1, "e5_compile=e5rt,-14,0,1,-", extra=("--ane-route", "e5")),
    "not loaded on the other route": Case(AT_LOAD, "splits", 1, "e5_load=e5rt,5,0,1,-", extra=("--ane-route", "e5")),
    "failed on the other route": Case(AT_RUN, "failures", 1, "e5_evaluate=e5rt,5,0,1,-", extra=("--ane-route", "e5")),
    "exception at compile": Case("an exception", "host_programs", 1, "compile=raise,1"),
    "exception at load": Case("an exception", "host_programs", 1, "load=raise,1"),
    "exception": Case("an exception", "failures", 1, "evaluate=raise,1"),
    "overflow": Case("yes, but infinity or no number", "overflowed", 2, "spoil=infinite,2"),
}
# Words of macOS 27 whose codes nobody published.
for words in ("Device not ready", "Power-on failed", "ISO too old", "Preempted", "No memory", "No ANE resources"):
    CASES[f"{words}, load"] = Case(TRANSIENT, "load_retries", 2, refused(50, 0, f"{words} (transient; retry)", 2))
    CASES[f"{words}, evaluate"] = Case(TRANSIENT, "evaluate_retries", 3, failed(50, 0, f"{words} (transient; retry)", 3))
for words in (
    "Bad program image", "Exclusive-access contention", "Not permitted (check entitlements)", "Invalid argument or state", "Request aborted",
    "Hardware failure", "Firmware failure", "Program too large",
):  # fmt: skip
    CASES[f"{words}, load"] = Case(AT_LOAD, "splits", 1, refused(51, 0, words))
    CASES[f"{words}, evaluate"] = Case(AT_RUN, "failures", 1, failed(51, 0, words))

# Rows that are no answer with a counter: the tests that inject them.
ROWS_OF_TESTS = {
    "no engine, class or selector": ("test_missing_class_is_one_line", "test_machine_without_an_engine_is_one_line"),
    "loaded, but its attributes say nothing or contradict its shapes": ("test_attributes_of_another_kind_are_one_line",),
    "no answer for a minute": ("test_service_that_hangs_is_left_alone",),
    "killed while it loads": ("test_killed_run_leaves_nothing_after_the_next_start",),
    "yes, but wrong data": ("test_wrong_data_is_found_by_who_compares",),
}


def left_in(folder):
    """All but the file that guards the folder between processes."""
    return [name for name in os.listdir(folder) if name != "anedvd.lock"]


class StandInRuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wanted = json.loads(run("cpu").stdout)["ids"]
        # Its minute passes beside the other tests.
        cls.hung_folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.hung_folder.cleanup)
        cls.hung = subprocess.Popen(command_of("ane"), env=environment_of("compile=stall,600000", cls.hung_folder.name), stdout=subprocess.PIPE)
        cls.addClassCleanup(cls.hung.kill)

    def answer(self, device="ane", **options):
        done = run(device, **options)
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
        for name, case in CASES.items():
            if MACHINE == "mac" and case.row == "an exception":
                continue  # two unwinders, each blind to the other's frames: only a Mac has one for both
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                given = self.answer(device=case.device, faults=case.faults, extra=case.extra, folder=folder)
                self.assertEqual(given["ids"], self.wanted)
                self.assertGreaterEqual(given["ane"][case.counter], case.least, given["ane"])
                self.assertEqual(left_in(folder), [])

    def test_every_row_of_the_page_is_injected(self):
        page = DATA.parent.parent / "docs/ane.md"
        if not page.exists():
            self.skipTest("docs/ane.md is not here")
        section = page.read_text(encoding="utf-8").split("\n## errors\n")[1].split("\n## ")[0]
        rows = {line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")} - {"code · status", "---"}
        self.assertEqual({case.row for case in CASES.values()} | set(ROWS_OF_TESTS), rows)
        for tests in ROWS_OF_TESTS.values():
            for test in tests:
                self.assertTrue(hasattr(self, test), test)

    def test_service_that_hangs_is_left_alone(self):
        given = json.loads(self.hung.communicate(timeout=300)[0])
        self.assertEqual(self.hung.returncode, 0)
        self.assertEqual(given["ids"], self.wanted)
        self.assertEqual((given["ane"]["programs"], given["ane"]["evaluations"]), (0, 0))
        self.assertEqual(left_in(self.hung_folder.name), [])

    def test_wrong_data_is_found_by_who_compares(self):
        spoiled = "spoil=wrong,1000000"
        self.assertNotEqual(self.answer(faults=spoiled)["ids"], self.wanted)
        for command in (["verify", str(MODEL), "--prompt", "The sky is"], ["check", str(MODEL)], ["selftest"]):
            for faults, code in (("", 0), (spoiled, 3)):
                environment = dict(os.environ, ANEDVD_ANE_FRAMEWORK=LIBRARY, ANEDVD_STANDIN_FAULTS=faults)
                done = subprocess.run(
                    [*PROGRAM, *command, "--device", "ane"], capture_output=True, env=environment, timeout=300, text=True, check=False
                )
                self.assertEqual(done.returncode, code, (command, done.stdout, done.stderr))

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

    def test_attributes_of_another_kind_are_one_line(self):
        done = run("sim", extra=("--sim-faults", "load:no-attributes"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^anedvd: .*attributes lack it\n$")

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
