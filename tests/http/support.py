"""For the tests over HTTP: `anedvd serve` on the tiny model of tests/data, and what reads its answers."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

# Started in the background by a shell, the tests and all their children would ignore Ctrl-C, and under nohup a hang-up.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGQUIT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
PROGRAM = pathlib.Path(os.environ.get("ANEDVD_PROGRAM", ROOT / "build" / "bin" / "anedvd")).resolve()
TINY = "tiny-llama-q4_1"
SECONDS = 120
HI = [{"role": "user", "content": "hi there"}]


class Server:
    """`anedvd serve` on a port of its own."""

    def __init__(self, *flags: str, env: dict[str, str] | None = None, models: tuple[str, ...] = (f"{TINY}.gguf",), program: tuple = (PROGRAM,)):
        self.process = subprocess.Popen(
            [*map(str, program), "serve", *models, "--port", "0", *flags], cwd=DATA, env=os.environ | (env or {}), stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        self.log = b""
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.port = int(self.wait_for(rb"listening on http://[^ ]*:(\d+)/"))
        self.url = f"http://127.0.0.1:{self.port}"

    def read(self):
        while chunk := os.read(self.process.stderr.fileno(), 65536):
            with self.changed:
                self.log += chunk
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, pattern: bytes) -> bytes:
        with self.changed:
            if not self.changed.wait_for(lambda: re.search(pattern, self.log), SECONDS):
                raise AssertionError(f"{pattern!r} does not show in {self.log!r}")
            match = re.search(pattern, self.log)
            return match.group(1) if match.groups() else match.group(0)

    def ready(self):
        self.wait_for(rb"ready in ")
        return self

    def stop(self, how=signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(SECONDS)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def request(self, method: str, path: str, body=None, headers: dict[str, str] | None = None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
            given = {"Content-Type": "application/json"} if data is not None else {}
            connection.request(method, path, data, given | (headers or {}))
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def post(self, path: str, body, headers=None):
        status, _, data = self.request("POST", path, body, headers)
        return status, json.loads(data)

    def open(self, path: str, body, headers: dict[str, str] | None = None) -> socket.socket:
        """A connection on which that request was sent; the answer is for the caller to read."""
        data = json.dumps(body).encode()
        lines = {"Host": "localhost", "Content-Length": str(len(data)), "Connection": "close"} | (headers or {})
        connection = socket.create_connection(("127.0.0.1", self.port), SECONDS)
        connection.sendall(f"POST {path} HTTP/1.1\r\n".encode() + b"".join(f"{name}: {value}\r\n".encode() for name, value in lines.items()) + b"\r\n" + data)
        return connection

    def metric(self, name: str) -> float:
        text = self.request("GET", "/metrics")[2].decode()
        return float(re.search(rf"^anedvd:{name}(?:\{{.*\}})? (\S+)$", text, re.M).group(1))

    def running(self) -> float:
        return self.metric("requests_processing")


def events(data: bytes):
    return [line[6:] for line in data.decode().split("\n") if line.startswith("data: ")]


def chat_text(data: bytes) -> str:
    return "".join(json.loads(event)["choices"][0]["delta"].get("content", "") for event in events(data)
                   if event != "[DONE]" and json.loads(event)["choices"])


def hear(connection: socket.socket, until: bytes = b"") -> bytes:
    """What comes until that shows, or until the connection ends."""
    heard = b""
    while not until or until not in heard:
        chunk = connection.recv(65536)
        if not chunk:
            break
        heard += chunk
    return heard


def eventually(is_so, seconds=30.0) -> bool:
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
