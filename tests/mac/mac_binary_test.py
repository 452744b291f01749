#!/usr/bin/env python3
"""The executable for macOS, run here: the very file that is shipped, loaded by tools/machrun under qemu.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/mac/mac_binary_test.py

Skipped until scripts/mac-check (or cmake --preset macos-zig) has built it. What it answers must be what the program built for this machine answers,
token for token. It proves the compiler's code, start-up, our calls' ABI and our logic, not Apple's loader, system or hardware.
"""

import concurrent.futures
import json
import pathlib
import tempfile
import unittest

from tests.http.support import Server
from tests.standin import machines

PROMPT = "the sea and the sky and the land"


def text_of(server, streams=False):
    asked = {"messages": [{"role": "user", "content": PROMPT}], "temperature": 0, "max_tokens": 12, "stream": streams}
    status, _, body = server.request("POST", "/v1/chat/completions", asked)
    if status != 200:
        raise AssertionError(body)
    if not streams:
        return json.loads(body)["choices"][0]["message"]["content"]
    events = [line[6:] for line in body.decode().splitlines() if line.startswith("data: ")]
    if events.pop() != "[DONE]":
        raise AssertionError(body)
    return "".join(json.loads(event)["choices"][0]["delta"].get("content") or "" for event in events)


class MacBinary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        found = machines.mac()
        if isinstance(found, str):
            raise unittest.SkipTest(found)
        cls.mac = found
        cls.here = machines.native()
        if isinstance(cls.here, str):
            raise unittest.SkipTest(cls.here)

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
        for model in ("tiny-llama-q4_1.gguf", "tiny-llama-f32.gguf"):
            with self.subTest(model), tempfile.TemporaryDirectory() as folder:
                given, wanted = (
                    self.ids(each, model, "--device", "ane", standin=True, environment={"TMPDIR": folder}) for each in (self.mac, self.here)
                )
                self.assertEqual(given, wanted)
                self.assertGreater(len(set(wanted)), 2)

    def test_a_wrong_file_is_one_line(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
            file.write(b"GGUF\3\0\0\0" + b"\xff" * 64)
            file.flush()
            done = self.mac.run("run", file.name, "x", "-n", "1", standin=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^anedvd: [^\n]*\n$")

    def test_without_the_frameworks_the_cpu_answers(self):
        done = self.mac.run("run", "tiny-llama-q4_1.gguf", PROMPT, "--no-chat", "--temp", "0", "-n", "12", "--json", "--verbose", standin=False)
        self.assertEqual(json.loads(done.stdout)["ids"], self.ids(self.here, "tiny-llama-q4_1.gguf"))
        self.assertRegex(done.stderr, "the CPU answers: the Neural Engine cannot be used: .*cannot be opened")

    def test_it_serves(self):
        """The event queue of macOS (kqueue) and its sockets: three answers at once, one of them a stream."""
        here, mac = (Server("--device", "cpu", program=each.command, env=each.own_environment).ready() for each in (self.here, self.mac))
        try:
            wanted = text_of(here)
            with concurrent.futures.ThreadPoolExecutor(3) as three:
                given = list(three.map(text_of, [mac] * 3, [False, True, False]))
            self.assertEqual(given, [wanted] * 3)
            status, _, body = mac.request("POST", "/v1/chat/completions", {"messages": []})
            self.assertEqual((status, json.loads(body)["error"]["type"]), (400, "invalid_request_error"))
            self.assertEqual(mac.request("GET", "/health")[0], 200)
            self.assertEqual(mac.stop(), here.stop())
        finally:
            here.kill()
            mac.kill()

    def test_probes_run_in_children_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            asked = ("probe", "--device", "sim", "--again")
            told, wanted = (each.run(*asked, "--json", environment={"XDG_CACHE_HOME": folder, "HOME": folder}) for each in (self.mac, self.here))
        found = lambda done: {probe["id"]: probe["ok"] for probe in json.loads(done.stdout)["probes"]}
        self.assertGreater(sum(found(told).values()), 35)  # what the simulated machine refuses is no mistake
        self.assertEqual((told.returncode, found(told)), (wanted.returncode, found(wanted)))

    def test_its_sampling_is_the_same_too(self):
        arguments = ("run", "tiny-llama-q4_1.gguf", PROMPT, "--no-chat", "--temp", "0.8", "--seed", "7", "-n", "12")
        self.assertEqual(
            self.mac.json(*arguments, "--device", "cpu", standin=False)["ids"], self.here.json(*arguments, standin=False)["ids"])  # fmt: skip


if __name__ == "__main__":
    unittest.main()
