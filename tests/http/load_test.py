#!/usr/bin/env python3
"""bench/serve_load.py for some seconds on the tiny model: 64 clients, of whom some leave and some send nonsense, then SIGTERM in the middle of their streams.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/http/load_test.py

What it says of answers holds on a busy machine too; the bounds of time and memory that need five quiet minutes are wide here.
"""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import DATA, PROGRAM, ROOT, TINY


class Load(unittest.TestCase):
    def test_no_answer_is_lost_or_mixed(self):
        run = subprocess.run([sys.executable, str(ROOT / "bench" / "serve_load.py"), "--seconds", "10", "--clients", "64", "--prompts", "8", "--model", str(DATA / f"{TINY}.gguf"), "--program", str(PROGRAM),
                              "--health-p99", "5000", "--growth", "60", "--json"], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        figures = json.loads(run.stdout)
        self.assertEqual((figures["wrong"], figures["health_bad"], figures["exit_code"], figures["faults"]), (0, 0, 0, []))
        self.assertGreater(figures["streams"], 64)
        self.assertGreater(min(figures[name] for name in ("left", "nonsense", "ended_after_sigterm", "refused_after_sigterm")), 0)


if __name__ == "__main__":
    unittest.main()
