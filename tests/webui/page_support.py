"""For the tests of the page: a Chromium that is driven, the real server, and one that answers what a test says.

Needs chromium, its driver and `selenium` (tests/requirements.txt); MISSING says what is not there.
"""

import base64
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
PROGRAM = pathlib.Path(os.environ.get("ANEDVD_PROGRAM", ROOT / "build" / "bin" / "anedvd")).resolve()
PAGE = ROOT / "webui" / "index.html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
MISSING = next((why for is_there, why in [(CHROMIUM, "no chromium"), (DRIVER, "no chromedriver"), (webdriver, "no selenium for Python")] if not is_there), None)
FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
         "--disable-sync --disable-dev-shm-usage --no-proxy-server").split()


class RealServer:
    """`anedvd serve` on the tiny model."""

    def __init__(self, port: int = 0, *flags: str):
        self.process = subprocess.Popen([str(PROGRAM), "serve", "tiny-llama-q4_1.gguf", "--port", str(port), "-t", "1", *flags], cwd=DATA, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.log = b""
        while (found := re.search(rb"listening on http://[^ ]*:(\d+)/", self.log)) is None:
            chunk = os.read(self.process.stderr.fileno(), 4096)
            assert chunk, self.log.decode()
            self.log += chunk
        self.port = int(found[1])
        self.reader = threading.Thread(target=self.drain, daemon=True)
        self.reader.start()
        self.url = f"http://127.0.0.1:{self.port}/"

    def metric(self, name: str) -> float:
        with urllib.request.urlopen(self.url + "metrics", timeout=30) as answer:
            return float(re.search(rf"^anedvd:{name}(?:\{{.*\}})? (\S+)$", answer.read().decode(), re.M)[1])

    def slow_down(self):
        """Lets the program run a tenth of the time from now on: on a quick machine its answers end before anybody could press Stop."""
        threading.Thread(target=self.hold_and_let_go, daemon=True).start()

    def hold_and_let_go(self):
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(0.045)
            self.process.send_signal(signal.SIGCONT)
            time.sleep(0.005)

    def drain(self):
        while chunk := os.read(self.process.stderr.fileno(), 65536):
            self.log += chunk

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(10)
        self.process.stderr.close()


def policy_of(html: str) -> str:
    def source(tag):
        digest = hashlib.sha256(re.search(f"<{tag}>(.*?)</{tag}>", html, re.S)[1].encode()).digest()
        return "'sha256-" + base64.b64encode(digest).decode() + "'"

    return (f"default-src 'none'; script-src {source('script')}; style-src {source('style')}; img-src data:; connect-src 'self'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")


class ScriptedServer:
    """Answers each question with `pieces`: texts, and numbers that are pauses in seconds. `requests` are the bodies that came."""

    def __init__(self, pieces=("Hello", " there."), port: int = 0, finish: str | None = "stop", usage: dict | None = None):
        self.pieces, self.finish, self.requests, self.paths, self.left = list(pieces), finish, [], [], 0
        self.reasoning, self.hold, self.usage = "", threading.Event(), usage or {}
        self.is_closed = False
        scripted = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def send(self, body: bytes, kind="application/json", **headers):
                self.send_response(200)
                for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                scripted.paths.append(self.path)
                if scripted.is_closed:  # a connection that is still open
                    raise ConnectionResetError
                if self.path == "/":
                    html = PAGE.read_text()
                    return self.send(html.encode(), "text/html; charset=utf-8", Content_Security_Policy=policy_of(html))
                bodies = {"/health": {"status": "ok"}, "/v1/models": {"data": [{"id": "scripted", "context_length": 4096}]},
                          "/props": {"device": "cpu", "default_generation_settings": {"n_ctx": 4096, "params": {"temperature": 0.8}}}}
                self.send(json.dumps(bodies.get(self.path, {})).encode())

            def do_POST(self):
                scripted.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    self.stream()
                except OSError:
                    scripted.left += 1

            def event(self, delta, finish=None, **more):
                self.wfile.write(b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}).encode() + b"\n\n")

            def stream(self):
                if scripted.reasoning:
                    self.event({"reasoning_content": scripted.reasoning})
                for piece in scripted.pieces:
                    if isinstance(piece, str):
                        self.event({"content": piece})
                    else:
                        time.sleep(piece)
                if scripted.finish:
                    self.event({}, scripted.finish)
                    usage = {"prompt_tokens": 20, "completion_tokens": len(scripted.pieces), "prompt_tokens_dropped": 0, **scripted.usage}
                    self.wfile.write(b"data: " + json.dumps({"choices": [], "usage": usage, "timings": {"predicted_n": 5, "predicted_per_second": 100, "device": "cpu"}}).encode() + b"\n\n")
                    self.wfile.write(b"data: [DONE]\n\n")

        class Threads(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):
                pass

        self.server = Threads(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.is_closed = True
        self.server.shutdown()
        self.server.server_close()


class Browser:
    """A Chromium with a new profile. What a person sees and does, by the promised names."""

    def __init__(self, width=1200, height=800, *flags: str):
        self.profile = tempfile.mkdtemp(prefix="anedvd-page-")
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, f"--user-data-dir={self.profile}", f"--window-size={width},{height}", *flags):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.set_script_timeout(120)
        self.js = self.driver.execute_script

    def close(self):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, url: str):
        self.driver.get(url)
        self.until("return document.documentElement.dataset.ready === 'yes'")

    def until(self, script: str, *arguments, seconds=30):
        end = time.monotonic() + seconds
        while not (value := self.js(script, *arguments)):
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {script}\n{self.js('return document.body.innerText')}")
            time.sleep(0.05)
        return value

    def named(self, name: str, inside: str = "body"):
        """The visible button or field with that accessible name."""
        return self.until("""return [...document.querySelector(arguments[1]).querySelectorAll('button, textarea, select, input')].filter(e => e.checkVisibility({opacityProperty: false}) &&
            (e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent).trim() === arguments[0]).at(-1)""", name, inside, seconds=10)

    def is_shown(self, name: str) -> bool:
        return self.js("return [...document.querySelectorAll('button')].some(e => e.checkVisibility() && (e.getAttribute('aria-label') ?? e.textContent).trim() === arguments[0])", name)

    def click(self, name: str, inside: str = "body"):
        self.js("arguments[0].click()", self.named(name, inside))

    def type(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def ask(self, text: str):
        box = self.named("Message")
        before = len(self.questions())
        box.send_keys(text)
        box.send_keys(Keys.ENTER)
        self.until("return document.querySelectorAll('article.you').length > arguments[0]", before, seconds=10)

    def wait_answered(self, seconds=60):
        """Until the last message has its whole answer. Every question counts: right after sending, the page may still show the state before."""
        self.until("""const last = [...document.querySelectorAll('article.you, article.answer')].at(-1);
            return !document.getElementById('send').hidden && last?.matches('.answer') && last.querySelector('.bar')""", seconds=seconds)

    def ask_in_two_tabs(self, url: str, seconds=60):
        """The conversation once more in a second tab; a question there and one in the first, both until they are answered."""
        first, before = self.driver.current_window_handle, self.answered()
        self.driver.switch_to.new_window("tab")
        self.open(url)
        self.until("return document.querySelector('article.answer')")
        second = self.driver.current_window_handle
        for tab, text in ((second, "from the second"), (first, "from the first")):
            self.driver.switch_to.window(tab)
            self.js("document.getElementById('box').value = arguments[0]; send()", text)
        for tab in (first, second):
            self.driver.switch_to.window(tab)
            self.wait_answered(seconds)
        # What a tab shows may be the other's answer while its own question is still being stored, on a slow machine: what is kept decides.
        end = time.monotonic() + seconds
        while self.answered() < before + 2 and time.monotonic() < end:
            time.sleep(0.1)

    def answered(self) -> int:
        """How many whole answers are kept."""
        return sum(one["role"] == "assistant" and one["state"] in ("complete", "length") for one in self.stored())

    def answers(self) -> list[str]:
        return self.js("return [...document.querySelectorAll('article.answer > .body')].map(e => e.textContent)")

    def questions(self) -> list[str]:
        return self.js("return [...document.querySelectorAll('article.you > .body')].map(e => e.textContent)")

    def stored(self) -> list[dict]:
        """All messages of the data base."""
        return self.driver.execute_async_script("const done = arguments[0]; store.chain.then(() => store.read('messages')).then(done)")

    def console(self) -> list[dict]:
        return self.driver.get_log("browser")

    def requested(self) -> list[str]:
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found


@unittest.skipIf(MISSING, MISSING)
class PageCase(unittest.TestCase):
    def browser(self, *size_and_flags) -> Browser:
        browser = Browser(*size_and_flags)
        self.addCleanup(browser.close)
        return browser

    def real(self, port=0, *flags: str) -> RealServer:
        if not PROGRAM.exists():
            self.skipTest(f"{PROGRAM.name} is not built")
        server = RealServer(port, *flags)
        self.addCleanup(server.close)
        return server

    def scripted(self, *pieces, **more) -> ScriptedServer:
        server = ScriptedServer(pieces or ("Hello", " there."), **more)
        self.addCleanup(server.close)
        return server
