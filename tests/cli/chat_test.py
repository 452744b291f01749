#!/usr/bin/env python3
"""The acceptance checks of the terminal that concern `chat` (10 to 17), each a test that carries its number, on real pseudo-terminals.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/cli/chat_test.py

Standard library only. What needs tmux (a terminal that wraps, reflows and pastes) or the default model is skipped where there is none.
"""

import base64
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from acceptance_test import DATA, PROGRAM, SECONDS, TINY, needs_model, run
from terminals import given, needs_tmux

PROMPT = b"you> "
GREEDY = ("--temp", "0")
SMALL = (TINY, *GREEDY, "-n", "6")
LEFT, RIGHT, UP = b"\x1b[D", b"\x1b[C", b"\x1b[A"
FAMILY = "\N{WOMAN}\u200d\N{WOMAN}\u200d\N{GIRL}"


def without_escapes(data: bytes) -> bytes:
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07", b"", data)


class Folder(unittest.TestCase):
    """A test with a folder of its own, which is also the state folder of the chats it starts."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a program that is being ended may still write
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.env = {"XDG_STATE_HOME": str(self.folder), "HOME": str(self.folder), "TERM": "xterm", "LC_ALL": "C.UTF-8", "COLUMNS": "", "LINES": ""}
        if "ANEDVD_CACHE" not in os.environ:
            cache = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
            self.env["XDG_CACHE_HOME"] = cache

    def saved(self, name: str = "x.json") -> list[dict]:
        """The messages of the branch that a saved chat shows."""
        chat = json.loads((self.folder / name).read_text())["conversations"][0]
        by_id = {message["id"]: message for message in chat["messages"]}
        branch, at = [], chat["leaf"]
        while at:
            branch.insert(0, by_id[at])
            at = by_id[at]["parent"]
        return branch

    def history(self) -> pathlib.Path:
        if os.uname().sysname == "Darwin":
            return self.folder / "Library" / "Application Support" / "anedvd" / "chat_history"
        return self.folder / "anedvd" / "chat_history"


class Terminal:
    """A program on a pseudo-terminal whose other end stays open, so that its modes can be looked at afterwards."""

    def __init__(self, test: Folder, *words: str, env: dict[str, str] | None = None, columns: int = 80):
        self.text, self.seen = b"", 0
        self.fd, self.slave = given(pty.openpty)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.modes = termios.tcgetattr(self.slave)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [str(PROGRAM), *words], cwd=DATA, env=os.environ | test.env | (env or {}),
            stdin=self.slave, stdout=self.slave, stderr=self.slave, preexec_fn=own_terminal,
        )  # fmt: skip
        test.addCleanup(self.close)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.fd)
        os.close(self.slave)

    def read_some(self, seconds: float) -> bool:
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        self.text += os.read(self.fd, 65536)
        return True

    def wait_for(self, wanted: bytes, seconds: float = SECONDS) -> bytes:
        """What came up to `wanted`, after what was waited for before."""
        end = time.monotonic() + seconds
        while (at := self.text.find(wanted, self.seen)) < 0:
            if not self.read_some(0.2) and (time.monotonic() > end or self.process.poll() is not None):
                if self.process.poll() is not None and self.read_some(0):
                    continue
                raise AssertionError(f"{wanted!r} did not come; there is {self.text[self.seen:]!r}")
        before, self.seen = self.text[self.seen : at], at + len(wanted)
        return before

    def send(self, data: bytes) -> None:
        while data:
            count = os.write(self.fd, data[:512])
            data = data[count:]
            self.read_some(0)

    def ask(self, line: bytes) -> bytes:
        """Types a line and returns what comes up to the next prompt, without escapes."""
        self.send(line + b"\r")
        self.wait_for(b"\r\n")
        # The prompt alone: after every answer and every command it is drawn anew.
        return without_escapes(self.wait_for(b"\r\x1b[K" + PROMPT))

    def start(self) -> None:
        self.wait_for(PROMPT)

    def exit_code(self) -> int:
        end = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            self.read_some(0.1)
        while self.read_some(0):
            pass
        return self.process.wait(timeout=1)


class Tmux:
    """A program in a window of a tmux server of its own."""

    def __init__(self, test: Folder, *words: str, columns: int = 80, lines: int = 24):
        self.socket = str(test.folder / f"tmux{len(list(test.folder.glob('tmux*')))}")
        self.env = os.environ | test.env
        command = " ".join("'" + word.replace("'", "'\\''") + "'" for word in (str(PROGRAM), *words))
        self.call("-f", os.devnull, "new-session", "-d", "-x", str(columns), "-y", str(lines), f"cd '{DATA}'; {command}; echo left $?; sleep 600")
        test.addCleanup(lambda: self.call("kill-server"))
        self.wait_for("you>")

    def call(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *words], env=self.env, capture_output=True, timeout=SECONDS)
        return done.stdout.decode()

    def keys(self, *keys: str) -> None:
        self.call("send-keys", *keys)

    def type(self, text: str) -> None:
        self.call("send-keys", "-l", text)

    def screen(self, *options: str) -> str:
        return self.call("capture-pane", "-p", *options).rstrip("\n")

    def wait_for(self, wanted: str, times: int = 1, seconds: float = SECONDS) -> str:
        end = time.monotonic() + seconds
        while (screen := self.screen("-J", "-S", "-")).count(wanted) < times:
            if time.monotonic() > end:
                raise AssertionError(f"{wanted!r} did not come; the screen is\n{screen}")
            time.sleep(0.05)
        return screen


class Check10Paste(Folder):
    """A 200-line bracketed paste in tmux is one message and arrives byte for byte."""

    LINES = "".join(f"line {i}: \t日本語 {FAMILY} \"quotes\" \\\n" if i % 7 else "/temp 9\n" for i in range(200))

    @needs_tmux
    def test_10_two_hundred_lines_in_tmux(self):
        tmux = Tmux(self, "chat", *SMALL, "--max-seq", "512")
        (self.folder / "paste.txt").write_text(self.LINES)
        tmux.call("load-buffer", str(self.folder / "paste.txt"))
        tmux.call("paste-buffer", "-p")
        tmux.keys("Enter")
        tmux.wait_for("tokens, ")
        tmux.type(f"/save {self.folder}/x.json")
        tmux.keys("Enter")
        tmux.wait_for("saved 2 messages")
        self.assertEqual(self.saved()[0]["text"], self.LINES)

    def test_10_either_line_end(self):
        for end in (b"\n", b"\r", b"\r\n"):
            terminal = Terminal(self, "chat", *SMALL)
            terminal.start()
            terminal.ask(b"\x1b[200~one" + end + b"two" + end + b"\x1b[201~")
            terminal.ask(f"/save {self.folder}/{end.hex()}.json".encode())
            self.assertEqual(self.saved(f"{end.hex()}.json")[0]["text"], "one\ntwo\n")


class Check11Interrupt(Folder):
    """Ctrl-C in mid-answer leaves the session; the next question is answered with the partial answer in its history."""

    @needs_model
    def test_11_the_session_goes_on(self):
        terminal = Terminal(self, "chat", "smollm2", *GREEDY, "-n", "200")
        terminal.start()
        terminal.send(b"Write a very long story about the sea.\r")
        terminal.wait_for(b"sea.\r\r\n")
        terminal.wait_for(b" the ")
        terminal.send(b"\x03")
        status = terminal.wait_for(b"]")
        self.assertIn(b"stopped", status)
        terminal.wait_for(PROMPT)
        status = terminal.ask(b"Go on with one short sentence.")
        self.assertRegex(status, rb"\[\d+ tokens?, .*(stop|length), context \d+/4096, \d+ reused")
        terminal.ask(f"/save {self.folder}/x.json".encode())
        question, partial, following, answer = self.saved()
        self.assertEqual((partial["role"], partial["state"]), ("assistant", "stopped"))
        self.assertIn(" the ", partial["text"])
        self.assertGreater(answer["usage"]["prompt_tokens"], question_tokens := partial["usage"]["prompt_tokens"])
        self.assertGreaterEqual(answer["usage"]["prompt_tokens"], question_tokens + partial["usage"]["completion_tokens"])
        terminal.send(b"\x03")
        self.assertEqual(terminal.exit_code(), 130)

    def test_11_before_the_first_token(self):
        terminal = Terminal(self, "chat", *SMALL)
        terminal.start()
        terminal.send(b"first\r\x03")
        terminal.wait_for(b"stopped")
        terminal.wait_for(PROMPT)
        self.assertRegex(terminal.ask(b"second"), rb"\[\d+ tokens?, ")

    def test_11_with_text_it_clears_and_without_it_leaves(self):
        terminal = Terminal(self, "chat", *SMALL)
        terminal.start()
        terminal.send(b"half a line\x03")
        terminal.ask(b"/show")
        terminal.send(b"\x03")
        self.assertEqual(terminal.exit_code(), 130)


class Check12Width(Folder):
    """Wide text typed, with ← Backspace in the middle, leaves the screen and the sent text right at widths 20, 80, 200."""

    @needs_tmux
    def test_12_wide_text(self):
        typed = f"日本語{FAMILY}e\u25cc\u0301e\u0301"
        for columns in (20, 80, 200):
            with self.subTest(columns=columns):
                tmux = Tmux(self, "chat", *SMALL, columns=columns)
                for character in typed:
                    tmux.type(character)
                # Back over the last e, then delete the circle with its mark: one cluster each.
                tmux.keys("Left")
                tmux.keys("BSpace")
                wanted = f"日本語{FAMILY}ee\u0301"
                screen = self.settled(tmux, wanted)
                self.assertEqual(screen.splitlines()[-1].rstrip(), "you> " + wanted)
                # In the middle of the wide part: behind 本.
                for _ in range(3):
                    tmux.keys("Left")
                tmux.keys("BSpace")
                tmux.type("x")
                wanted = f"日x語{FAMILY}ee\u0301"
                screen = self.settled(tmux, wanted)
                self.assertEqual(screen.splitlines()[-1].rstrip(), "you> " + wanted)
                self.assertEqual(tmux.call("display-message", "-p", "#{cursor_x}").strip(), str(5 + 2 + 1))
                tmux.keys("Enter")
                tmux.wait_for("tokens, ")
                tmux.type(f"/save {self.folder}/{columns}.json")
                tmux.keys("Enter")
                tmux.wait_for("saved 2")
                self.assertEqual(self.saved(f"{columns}.json")[0]["text"], wanted)
                tmux.call("kill-server")

    def settled(self, tmux: Tmux, wanted: str) -> str:
        return tmux.wait_for("you> " + wanted, seconds=20)

    @needs_tmux
    def test_12_long_input_wraps_and_shrinks(self):
        tmux = Tmux(self, "chat", *SMALL, columns=20)
        text = "日本語 and more " * 5
        tmux.type(text + "END")
        tmux.wait_for("END")
        self.assertIn("you> " + text + "END", tmux.screen("-J"))
        for _ in range(len("END") + 40):
            tmux.keys("BSpace")
        tmux.type("!")
        wanted = "you> " + text[:-40] + "!"
        self.assertEqual(tmux.wait_for(wanted).splitlines()[-1].rstrip(), wanted)


class Check13Resize(Folder):
    """Resizing tmux during an answer duplicates or loses no line of it."""

    @needs_tmux
    @needs_model
    def test_13_resized_while_answering(self):
        tmux = Tmux(self, "chat", "smollm2", *GREEDY, "-n", "120", "--no-history", "--plain", columns=80)
        tmux.type("List ten rivers, one a line, each with a long sentence.")
        tmux.keys("Enter")
        for columns in (60, 100, 33, 120, 50, 80):
            time.sleep(0.4)
            tmux.call("resize-window", "-x", str(columns), "-y", "24")
        tmux.wait_for("context ")
        tmux.type(f"/save {self.folder}/x.json")
        tmux.keys("Enter")
        screen = tmux.wait_for("saved 2")
        answer = self.saved()[1]["text"].rstrip("\n")
        lines = [line.rstrip() for line in screen.splitlines()]
        for line in {line.rstrip() for line in answer.split("\n")} - {""}:
            self.assertEqual(lines.count(line), [other.rstrip() for other in answer.split("\n")].count(line), (line, screen))

    @needs_tmux
    def test_13_resized_while_typing(self):
        tmux = Tmux(self, "chat", *SMALL, columns=80)
        text = "a long line that is typed and not sent yet, 日本語 in it, longer than a narrow window"
        tmux.type(text)
        tmux.wait_for("window")
        for columns in (40, 100, 30, 80):
            tmux.call("resize-window", "-x", str(columns), "-y", "24")
            time.sleep(0.3)
            screen = tmux.screen("-J", "-S", "-")
            self.assertEqual(screen.count("a long line"), 1, screen)
            self.assertIn("you> " + text, screen.replace("\n", ""))


class Check14Escapes(Folder):
    """A model that prints ESC sequences changes neither title nor colours of the terminal."""

    def test_14_escapes_are_text(self):
        ids = json.loads(run("tokenize", TINY, "--text", "\x1b", "--no-bos").stdout)
        terminal = Terminal(self, "chat", TINY, *GREEDY, "-n", "5", "--plain", "--logit-bias", f"{ids[-1]}=1000", "--color", "never")
        terminal.start()
        terminal.send(b"hello\r")
        terminal.wait_for(b"\r\n")
        answer = terminal.wait_for(b"[5 tokens")
        self.assertIn(b"\\x1b" * 5, answer)
        self.assertNotIn(b"\x1b", answer)


class Check15History(Folder):
    """Two chats closed in any order leave both histories; the file's mode is 0600."""

    def test_15_two_chats(self):
        for first_leaves_first in (True, False):
            with self.subTest(first_leaves_first=first_leaves_first):
                shutil.rmtree(self.history().parent, ignore_errors=True)
                chats = [Terminal(self, "chat", *SMALL) for _ in range(2)]
                for number, chat in enumerate(chats):
                    chat.start()
                    chat.ask(f"hello from {number}".encode())
                    chat.ask(b" not to be kept")
                for chat in chats if first_leaves_first else reversed(chats):
                    chat.send(b"\x04")
                    self.assertEqual(chat.exit_code(), 0)
                self.assertEqual(self.history().stat().st_mode & 0o777, 0o600)
                self.assertEqual([json.loads(line) for line in self.history().read_text().splitlines()], ["hello from 0", "hello from 1"])
                again = Terminal(self, "chat", *SMALL)
                again.start()
                again.send(UP + UP)
                again.wait_for(b"hello from 0")
                again.send(b"\x03\x03")
                self.assertEqual(again.exit_code(), 130)

    def test_15_no_history(self):
        chat = Terminal(self, "chat", *SMALL, "--no-history")
        chat.start()
        chat.ask(b"hello")
        chat.send(b"\x04")
        self.assertEqual(chat.exit_code(), 0)
        self.assertFalse(self.history().exists())


class Check16PipeAndModes(Folder):
    """`printf 'a\\nb\\n' | anedvd chat` prints two answers and exits 0; the terminal's modes are the same before and after any exit."""

    def chat(self, text: bytes, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([PROGRAM, "chat", *SMALL, *words], cwd=DATA, env=os.environ | self.env, input=text, capture_output=True, timeout=SECONDS)

    def test_16_two_lines_are_two_answers(self):
        done = self.chat(b"the sea\nthe land\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = done.stdout.split(b"\n\n")
        self.assertEqual(len(answers), 2, done.stdout)
        self.assertTrue(done.stdout.endswith(b"\n") and not done.stdout.endswith(b"\n\n"))
        self.assertNotIn(b"\x1b", done.stdout + done.stderr)
        self.assertNotIn(PROMPT, done.stdout + done.stderr)
        self.assertEqual(len(re.findall(rb"^\[\d+ tokens?, .*\]$", done.stderr, re.M)), 2)
        # The same with a file that ends without a newline, with CR LF, with blank lines between.
        for text in (b"the sea\nthe land", b"the sea\r\nthe land\r\n", b"\nthe sea\n\nthe land\n\n"):
            self.assertEqual(self.chat(text).stdout, done.stdout)
        self.assertFalse(self.history().exists(), "piped text is no typed line")

    def test_16_nothing_is_nothing(self):
        done = self.chat(b"")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_16_multiline_is_one_message(self):
        done = self.chat(b"/temp 3\nthe sea\n", "--multiline")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall(rb"^\[\d+ tokens?, ", done.stderr, re.M)), 1)

    def test_16_commands_in_a_pipe(self):
        done = self.chat(b"/temp 0.5\n/foo\nhello\n/undo\n/exit\nnever\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stderr.decode().splitlines()
        self.assertEqual((said[0], said[1]), ("temp 0.5", "no command /foo; /help lists them"))
        self.assertEqual(said[3:], ["forgot the last message and its answer; 0 messages left"])
        done = self.chat(b"/temp warm\n")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertEqual(done.stderr, b"anedvd: --temp warm: not a number; 0 to 2, for example --temp 0.7\n")

    def test_16_modes_after_any_exit(self):
        def term(terminal: Terminal) -> None:
            terminal.process.send_signal(signal.SIGTERM)

        def hang_up(terminal: Terminal) -> None:
            terminal.process.send_signal(signal.SIGHUP)

        def crash(terminal: Terminal) -> None:
            terminal.process.send_signal(signal.SIGSEGV)

        exits = {
            "exit": (lambda t: t.send(b"/exit\r"), 0),
            "bye": (lambda t: t.send(b"/bye\r"), 0),
            "ctrl-d": (lambda t: t.send(b"\x04"), 0),
            "ctrl-c": (lambda t: t.send(b"\x03"), 130),
            "ctrl-c behind text": (lambda t: t.send(b"abc\x03\x03"), 130),
            "ctrl-\\": (lambda t: t.send(b"\x1c"), -signal.SIGQUIT),
            "interrupt": (lambda t: t.process.send_signal(signal.SIGINT), 130),
            "term": (term, -signal.SIGTERM),
            "hang-up": (hang_up, -signal.SIGHUP),
            "crash": (crash, -signal.SIGSEGV),
        }
        for name, (leave, code) in exits.items():
            with self.subTest(exit=name):
                terminal = Terminal(self, "chat", *SMALL)
                terminal.start()
                self.assertNotEqual(termios.tcgetattr(terminal.slave), terminal.modes)
                leave(terminal)
                self.assertEqual(terminal.exit_code(), code)
                self.assertEqual(termios.tcgetattr(terminal.slave), terminal.modes)
                self.assertEqual(terminal.text.count(b"\x1b[?2004h"), terminal.text.count(b"\x1b[?2004l"))

    @needs_tmux
    def test_16_stop_and_continue(self):
        socket = str(self.folder / "tmux")
        env = os.environ | self.env | {"PS1": "shell$ "}

        def call(*words: str) -> str:
            return subprocess.run(["tmux", "-u", "-S", socket, *words], env=env, capture_output=True, timeout=SECONDS).stdout.decode()

        def wait_for(wanted: str, times: int = 1) -> None:
            end = time.monotonic() + 60
            while call("capture-pane", "-p", "-J").count(wanted) < times:
                self.assertLess(time.monotonic(), end, call("capture-pane", "-p", "-J"))
                time.sleep(0.05)

        call("-f", os.devnull, "new-session", "-d", "-x", "100", "-y", "40", "bash --norc --noprofile -i")
        self.addCleanup(lambda: call("kill-server"))
        call("send-keys", "-l", f"cd '{DATA}'; stty -a | md5sum; '{PROGRAM}' chat {' '.join(SMALL)}")
        call("send-keys", "Enter")
        wait_for("you>")
        call("send-keys", "-l", "half typed")
        wait_for("half typed")
        call("send-keys", "C-z")
        wait_for("Stopped")
        call("send-keys", "-l", "stty -a | md5sum")
        call("send-keys", "Enter")
        wait_for("  -", 2)
        sums = re.findall(r"^([0-9a-f]{32})  -", call("capture-pane", "-p", "-J"), re.M)
        self.assertEqual(len(set(sums)), 1)
        call("send-keys", "-l", "fg")
        call("send-keys", "Enter")
        wait_for("you> half typed", 2)
        call("send-keys", "Enter")
        wait_for("tokens, ")


class Check17SaveAndLoad(Folder):
    """`/save x.json` is the page's export format, and the page's export loads with `/load`."""

    PAGE = {
        "format": "anedvd-chats", "version": 1, "exported": "2026-01-01T00:00:00.000Z", "app": "anedvd 0.1.0",
        "conversations": [
            {"id": "c1", "title": "Rivers", "titled": "auto", "created": 1, "updated": 2, "model": "m", "system": "Be brief.", "leaf": "m3", "pinned": False,
             "settings": {"temperature": 0, "max_tokens": 4},
             "messages": [
                 {"id": "m1", "conv": "c1", "parent": None, "role": "user", "text": "Name a river.", "state": "complete", "created": 1},
                 {"id": "m2", "conv": "c1", "parent": "m1", "role": "assistant", "text": "The Nile.", "reasoning": "", "state": "complete", "created": 2},
                 {"id": "m3", "conv": "c1", "parent": "m1", "role": "assistant", "text": "The Rhine.", "reasoning": "", "state": "stopped", "created": 3}]},
        ],
        "settings": {"v": 1},
    }  # fmt: skip

    def test_17_saved_chat_has_the_format(self):
        terminal = Terminal(self, "chat", *SMALL, "--system", "Be brief.")
        terminal.start()
        terminal.ask(b"the sea")
        terminal.ask(b"/retry")
        terminal.ask(f"/save {self.folder}/x.json".encode())
        file = json.loads((self.folder / "x.json").read_text())
        self.assertEqual((file["format"], file["version"], len(file["conversations"])), ("anedvd-chats", 1, 1))
        self.assertEqual((self.folder / "x.json").stat().st_mode & 0o777, 0o600)
        chat = file["conversations"][0]
        self.assertEqual((chat["system"], chat["title"], chat["settings"]), ("Be brief.", "the sea", {"temperature": 0, "max_tokens": 6}))
        question, first, second = chat["messages"]
        self.assertEqual((first["parent"], second["parent"], chat["leaf"]), (question["id"], question["id"], second["id"]))
        self.assertEqual([m["state"] in ("complete", "length") for m in (question, first, second)], [True] * 3)
        # Once more to the same file, and not over somebody else's.
        self.assertIn(b"saved 2", terminal.ask(f"/save {self.folder}/x.json".encode()))
        (self.folder / "other.txt").write_text("mine")
        self.assertIn(b"choose another name", terminal.ask(f"/save {self.folder}/other.txt".encode()))
        self.assertEqual((self.folder / "other.txt").read_text(), "mine")

    def test_17_the_pages_export_loads(self):
        (self.folder / "page.json").write_text(json.dumps(self.PAGE))
        terminal = Terminal(self, "chat", TINY)
        terminal.start()
        self.assertIn(b"loaded 2 messages: Rivers", terminal.ask(f"/load {self.folder}/page.json".encode()))
        said = terminal.ask(b"/show")
        self.assertIn(b"Be brief.", said)
        self.assertIn(b"temp 0 ", said)
        terminal.ask(b"Another one?")
        terminal.ask(f"/save {self.folder}/x.json".encode())
        self.assertEqual([m["text"] for m in self.saved()][:3], ["Name a river.", "The Rhine.", "Another one?"])
        chat = json.loads((self.folder / "x.json").read_text())["conversations"][0]
        self.assertEqual(chat["id"], "c1")
        self.assertIn("The Nile.", [m["text"] for m in chat["messages"]], "an earlier version is not lost")

    def test_17_a_loaded_chat_goes_on_as_it_would_have(self):
        chat = lambda text: subprocess.run([PROGRAM, "chat", *SMALL], cwd=DATA, env=os.environ | self.env, input=text.encode(), capture_output=True, timeout=SECONDS)  # fmt: skip
        whole = chat("the sea\nthe land\n").stdout
        first = chat(f"the sea\n/save {self.folder}/a.json\n").stdout
        second = chat(f"/load {self.folder}/a.json\nthe land\n").stdout
        self.assertEqual(first + b"\n" + second, whole)

    def test_17_bad_files_are_refused(self):
        (self.folder / "bad.json").write_text('{"messages": [{"role": "user"}]}')
        for name in ("bad.json", "missing.json"):
            done = subprocess.run([PROGRAM, "chat", *SMALL], cwd=DATA, env=os.environ | self.env, input=f"/load {self.folder}/{name}\n".encode(), capture_output=True, timeout=SECONDS)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertRegex(done.stderr.decode(), rf"\Aanedvd: {self.folder}/{name}: (message 1 has no text|no such file; .*)\n\Z")


class Commands(Folder):
    def test_run_without_a_prompt_goes_on_as_chat(self):
        terminal = Terminal(self, "run", *SMALL)
        terminal.wait_for(b"going on as chat")
        terminal.start()
        self.assertRegex(terminal.ask(b"hello"), rb"\[\d+ tokens?, ")
        terminal.send(b"\x04")
        self.assertEqual(terminal.exit_code(), 0)

    def test_what_is_typed_while_loading_is_sent(self):
        terminal = Terminal(self, "chat", *SMALL)
        terminal.send(b"early\r/exit\r")
        self.assertEqual(terminal.exit_code(), 0)
        self.assertEqual(without_escapes(terminal.text).count(b"tokens, "), 1, terminal.text)

    def test_banner_and_commands(self):
        terminal = Terminal(self, "chat", *SMALL)
        terminal.start()
        self.assertIn(b"tiny-llama-q4_1 \xc2\xb7 cpu \xc2\xb7 context 512\r\nready. /help for commands, /exit to quit.\r\n", without_escapes(terminal.text))
        for line, wanted in (
            (b"/help", b"/load FILE"), (b"/temp", b"temp 0"), (b"/temp 0.7", b"temp 0.7"), (b"/topp 0.9", b"top-p 0.9"), (b"/rep 1.2", b"repeat-penalty 1.2"),
            (b"/temp 9", b"--temp 9: out of range; 0 to 2"), (b"/set top-k 20", b"top-k 20"), (b"/set top_kk 20", b"did you mean top-k?"), (b"/set", b"top-k 20"),
            (b"/system Be brief.", b"system \"Be brief.\""), (b"/system \"\"", b"no system prompt"), (b"/foo", b"no command /foo; /help lists them"),
            (b"/undo", b"no message yet"), (b"/retry", b"no message yet"), (b"/save", b"no file"), (b"//x", b"tokens, "), (b"/show", b"2 messages"),
            (b"/reset", b"forgot 2 messages"), (b"/show", b"no messages"),
        ):  # fmt: skip
            self.assertIn(wanted, terminal.ask(line), line)

    def test_edit_and_copy(self):
        editor = self.folder / "editor"
        editor.write_text("#!/bin/sh\nprintf 'the land\\n' > \"$1\"\n")
        editor.chmod(0o700)
        terminal = Terminal(self, "chat", *SMALL, env={"EDITOR": str(editor), "VISUAL": ""})
        terminal.start()
        terminal.ask(b"the sea")
        terminal.ask(b"/edit")
        terminal.ask(f"/save {self.folder}/x.json".encode())
        self.assertEqual([m["text"] for m in self.saved()][:1], ["the land"])
        terminal.send(b"/copy\r")
        terminal.wait_for(b"\x1b]52;c;")
        self.assertEqual(base64.b64decode(terminal.wait_for(b"\x07")).decode(), self.saved()[1]["text"])


if __name__ == "__main__":
    unittest.main()
