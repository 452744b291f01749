"""quickstart and test, run in a copy of the tree's scripts with cmake, ninja, apt-get and the program replaced by a few lines each.

What is tested is the scripts: arguments, words, what they install, old build folders, paths with spaces, failing steps. The real build and
the real answer are what scripts/quickstart itself shows.
"""
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Stand-ins. $FAKE is the folder of this test's notes; a stand-in writes what it was asked to $FAKE/calls.
CALL = 'printf "%s\\n" "${0##*/} $*" >>"$FAKE/calls"\n'
PROGRAM = (
    "#!/bin/sh\n" + CALL + """case "$1" in
pull) if [ "$2" = list ]; then [ -e "$FAKE/model" ] || echo "smollm2  98.3 MB  not here"; exit 0; fi
  [ -e "$FAKE/offline" ] && { echo "anedvd: pull smollm2: no connection after 3 tries; run it again" >&2; exit 1; }
  echo "pulled 98.3 MB" >&2; touch "$FAKE/model"; echo "a/path of/smollm2-135m-instruct-q4_1.gguf" ;;
run) echo "The capital of France is Paris." ;;
*) exit 2 ;;
esac
"""
)
FAKES = {
    "c++": 'case "$*" in *--version*) echo "g++ (Debian) 12.2.0" ;; *-dump*) echo 12.2.0 ;; *) cat "$FAKE/lacks" 2>/dev/null || : ;; esac\n',
    "cmake": 'case "$*" in --version) echo "cmake version ${FAKE_CMAKE:-3.25.1}"; exit ;; esac\n'
    + CALL
    + """[ -e "$FAKE/configure-fails" ] && { echo "CMake Error: no such thing"; exit 1; }
mkdir -p build && touch build/build.ninja
{ echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD"; echo "CMAKE_CACHEFILE_DIR:INTERNAL=$PWD/build"; echo "CMAKE_GENERATOR:INTERNAL=Ninja"
  echo "CMAKE_CXX_COMPILER:FILEPATH=$(command -v c++)"; echo "CMAKE_COMMAND:INTERNAL=$(command -v cmake)"; } >build/CMakeCache.txt
""",
    "ninja": 'case "$*" in --version) echo 1.11.1; exit ;; esac\n'
    + CALL
    + """[ -e "$FAKE/build-fails" ] && { echo "[1/3] Building a"; for i in 1 2 3 4 5 6 7 8 9; do echo "line $i"; echo "more $i"; done; cat "$FAKE/build-fails"; exit 1; }
[ -e build/bin/anedvd ] && { echo "[0/2] Re-checking globbed directories..."; echo "ninja: no work to do."; exit 0; }
echo "[1/3] Building a"; echo "[2/3] Building b"; echo "[3/3] Linking bin/anedvd"
mkdir -p build/bin && cp "$FAKE/program" build/bin/anedvd && chmod +x build/bin/anedvd
""",
    "pkg-config": "exit 0\n",
    "curl": "exit 0\n",
    "ccache": "exit 0\n",
    "mold": "exit 0\n",
    "apt-get": CALL + 'case "$*" in *install*) rm -f "$FAKE/lacks"; [ ! -e "$FAKE/apt-fails" ] || { echo "E: Unable to locate package"; exit 100; } ;; esac\n',
    "sudo": CALL + '[ "$1" = -n ] && shift\nexec "$@"\n',
    "id": '[ "$1" = -u ] && { echo "${FAKE_UID:-0}"; exit; }\nexec /usr/bin/id "$@"\n',
}
SYSTEM = "bash sh env dirname printf cat sed awk grep tail head sort tr rm mkdir touch cp cmp chmod find df date nproc cut git python3 xargs mktemp".split()


class Scripts:
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="anedvd scripts ")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve() / "a path with spaces"
        self.fake = Path(folder.name).resolve() / "fake"
        self.bin = self.fake / "bin"
        self.bin.mkdir(parents=True)
        self.root.mkdir()
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        for name in SYSTEM:
            # This interpreter by its own path: the first python3 on PATH may be a version manager's shim, which needs the PATH and HOME that
            # the scripts are run without here.
            real = sys.executable if name == "python3" else shutil.which(name)
            self.assertTrue(real, name)
            self.install(name, f'exec "{real}" "$@"\n')
        for name, body in FAKES.items():
            self.install(name, body)
        self.install_program(PROGRAM)

    def install(self, name, body):
        file = self.bin / name
        file.write_text("#!/bin/sh\n" + body, encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    def install_program(self, text):
        (self.fake / "program").write_text(text, encoding="utf-8")

    def note(self, name, text=""):
        (self.fake / name).write_text(text, encoding="utf-8")

    def calls(self):
        file = self.fake / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def run_script(self, name, *arguments, **environment):
        env = {"PATH": str(self.bin), "HOME": str(self.fake), "FAKE": str(self.fake), "LANG": "C.UTF-8", **environment}
        return subprocess.run(
            ["/bin/bash", self.root / "scripts" / name, *arguments],
            capture_output=True, text=True, check=False, env=env, cwd=self.fake, stdin=subprocess.DEVNULL, timeout=60,
        )  # fmt: skip

    def quickstart(self, *arguments, **environment):
        return self.run_script("quickstart", *arguments, **environment)


class Quickstart(Scripts, unittest.TestCase):
    def test_help_names_every_flag_and_touches_nothing(self):
        done = self.quickstart("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for flag in ("--no-install", "--build-only", "--help"):
            self.assertIn(flag, done.stdout)
        self.assertFalse((self.root / "build").exists())
        self.assertLessEqual(len(done.stdout.splitlines()), 24)

    def test_an_unknown_flag(self):
        done = self.quickstart("--frobnicate")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "quickstart: --frobnicate: no such flag; --help lists them\n")

    def test_first_run_then_second_run(self):
        done = self.quickstart("What is the capital of France?")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "The capital of France is Paris.\n")
        self.assertRegex(done.stderr, r"\[1/4\] tools    g\+\+ 12\.2 · cmake 3\.25 · ninja 1\.11 +ok +\d")
        self.assertRegex(done.stderr, r"\[2/4\] build    3 files +ok")
        self.assertRegex(done.stderr, r"\[3/4\] model    smollm2-135m-instruct-q4_1 +ok")
        self.assertIn("[4/4] answer", done.stderr)
        self.assertTrue(any("--prompt What is the capital of France?" in call for call in self.calls()), self.calls())
        for byte in ("\r", "\x1b"):
            self.assertNotIn(byte, done.stderr)

        done = self.quickstart("Again?")
        self.assertEqual(done.stdout, "The capital of France is Paris.\n")
        for line in ("[1/4] tools    ok", "[2/4] build    up to date", "[3/4] model    here"):
            self.assertIn(line + "\n", done.stderr)
        self.assertEqual(sum(call == "anedvd pull smollm2" for call in self.calls()), 1)
        self.assertEqual(sum(call.startswith("cmake --preset") for call in self.calls()), 1)

    def test_only_commands_that_exist_are_offered(self):
        self.assertIn("next: anedvd run", self.quickstart().stderr)
        self.install_program(PROGRAM.replace("run)", "chat) exit 0 ;;\nrun)"))
        shutil.rmtree(self.root / "build")
        done = self.quickstart()
        self.assertIn("next: anedvd chat", done.stderr)
        self.assertNotIn("serve", done.stderr)

    def test_build_only(self):
        done = self.quickstart("--build-only")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("[2/2] build", done.stderr)
        self.assertFalse(any(call.startswith("anedvd") for call in self.calls()))

    def test_missing_packages_are_named_and_installed(self):
        self.note("lacks", "anedvd_lacks fmt/core.h\nanedvd_lacks CLI/CLI.hpp\n")
        done = self.quickstart()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("installing with apt: libfmt-dev libcli11-dev\n", done.stderr)
        self.assertTrue(any("install -y" in call and call.endswith("libfmt-dev libcli11-dev") for call in self.calls()))
        self.assertFalse(any(call.startswith("sudo") for call in self.calls()))

    def test_somebody_else_than_root_installs_through_sudo(self):
        self.note("lacks", "anedvd_lacks fmt/core.h\n")
        done = self.quickstart(FAKE_UID="1000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(any(call.startswith("sudo -n env") and call.endswith("libfmt-dev") for call in self.calls()))

    def test_no_root_and_no_sudo(self):
        self.note("lacks", "anedvd_lacks fmt/core.h\n")
        (self.bin / "sudo").unlink()
        done = self.quickstart(FAKE_UID="1000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no sudo here, ask for: sudo apt-get install libfmt-dev", done.stderr)

    def test_no_install_names_what_is_missing(self):
        self.note("lacks", "anedvd_lacks fmt/core.h\n")
        done = self.quickstart("--no-install")
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing: libfmt-dev; leave out --no-install, or run: apt-get install libfmt-dev", done.stderr)
        self.assertEqual(self.calls(), [])

    def test_a_failing_installation_shows_its_log(self):
        self.note("lacks", "anedvd_lacks fmt/core.h\n")
        self.note("apt-fails")
        done = self.quickstart()
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: Unable to locate package", done.stderr)
        self.assertIn("build/logs/install.log", done.stderr)

    def test_a_cmake_that_is_too_old(self):
        done = self.quickstart(FAKE_CMAKE="3.18.4")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cmake 3.18.4 is too old; 3.25 or newer is needed", done.stderr)

    def test_old_build_folders_are_emptied_with_a_word(self):
        for key, value, why in [
            ("CMAKE_HOME_DIRECTORY:INTERNAL", "/nowhere/anedvd", "it was made for /nowhere/anedvd"),
            ("CMAKE_GENERATOR:INTERNAL", "Unix Makefiles", "it was made for Unix Makefiles, not for Ninja"),
            ("CMAKE_CXX_COMPILER:FILEPATH", "/nowhere/g++", "its compiler /nowhere/g++ is gone"),
        ]:
            with self.subTest(key=key):
                self.assertEqual(self.quickstart("--build-only").returncode, 0)
                cache = self.root / "build/CMakeCache.txt"
                lines = [f"{key}={value}" if line.startswith(key) else line for line in cache.read_text().splitlines()]
                cache.write_text("\n".join(lines) + "\n")
                (self.root / "build/left over").write_text("")
                done = self.quickstart("--build-only")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"emptying the old build/: {why}\n", done.stderr)
                self.assertFalse((self.root / "build/left over").exists())
                self.assertTrue((self.root / "build/bin/anedvd").exists())

    def test_a_file_where_the_build_folder_should_be(self):
        (self.root / "build").write_text("")
        done = self.quickstart()
        self.assertEqual(done.returncode, 1)
        self.assertIn("build is a file; move it away", done.stderr)

    def test_a_failing_build_shows_fifteen_lines_and_where_the_rest_is(self):
        self.note("build-fails", "a.cpp:1: error: no\n")
        done = self.quickstart()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(sum(line.startswith("    ") for line in done.stderr.splitlines()), 15)
        self.assertIn("a.cpp:1: error: no", done.stderr)
        self.assertIn(f"full log: {self.root}/build/logs/quickstart-build.log\n", done.stderr)
        self.assertIn("quickstart: build: the build failed", done.stderr)
        self.assertIn("line 1", (self.root / "build/logs/quickstart-build.log").read_text())

    def test_a_failing_configuration(self):
        self.note("configure-fails")
        done = self.quickstart()
        self.assertEqual(done.returncode, 1)
        self.assertIn("CMake Error: no such thing", done.stderr)

    def test_a_full_disk_is_called_that(self):
        self.note("build-fails", "fatal error: error writing to a.o: No space left on device\n")
        done = self.quickstart()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"quickstart: build: the disk that holds .* is full \(\d+ MB free\)")

    def test_little_room_is_told_before_the_build(self):
        self.install("df", 'echo "Filesystem 1024-blocks Used Available Capacity Mounted"; echo "disk 100000 90000 10240 90% /"\n')
        done = self.quickstart()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"10 MB free, about \d+ MB are needed; free some")

    def test_no_network_is_told_by_the_program(self):
        self.note("offline")
        done = self.quickstart()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("anedvd: pull smollm2: no connection after 3 tries; run it again\n", done.stderr)
        self.assertIn("quickstart: model: it did not arrive", done.stderr)

    def test_a_failing_answer_keeps_the_exit_code_in_words(self):
        self.install_program(PROGRAM.replace('echo "The capital of France is Paris."', 'echo "anedvd: x: broken; y" >&2; exit 1'))
        done = self.quickstart()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no answer (exit code 1)", done.stderr)

    def test_words_without_quotes_are_one_question(self):
        self.quickstart("What", "is", "it?")
        self.assertTrue(any(call.endswith("--prompt What is it?") for call in self.calls()), self.calls())


class Test(Scripts, unittest.TestCase):
    def test_help_and_unknown_flags(self):
        done = self.run_script("test", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--quick", done.stdout)
        self.assertEqual(self.run_script("test", "--slow").returncode, 2)

    def test_missing_packages_stop_it_under_no_install(self):
        self.note("lacks", "anedvd_lacks gtest/gtest.h\n")
        done = self.run_script("test", "--no-install")
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing:", done.stderr)
        self.assertIn("libgtest-dev", done.stderr)

    def test_a_failing_build_ends_in_numbers_and_a_failure(self):
        self.note("build-fails", "a.cpp:1: error: no\n")
        done = self.run_script("test", "--quick")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout, done.stderr)
        self.assertRegex(done.stdout.splitlines()[-1], r"^\d+ passed, [1-9]\d* failed")
        self.assertIn("a.cpp:1: error: no", done.stdout)


class Counting(unittest.TestCase):
    """The numbers that the scripts add up from a log."""

    def count(self, log):
        text = (ROOT / "scripts/steps.sh").read_text(encoding="utf-8")
        function = text[text.index("count_tests() {") :]
        function = function[: function.index("\n}\n") + 3]
        with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
            file.write(log)
            file.flush()
            done = subprocess.run(["bash", "-c", function + f'count_tests "{file.name}"'], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def test_googletest_programs_count_their_cases(self):
        log = "1: [  PASSED  ] 12 tests.\n1/2 Test #1: base ....   Passed    0.02 sec\n2: [  FAILED  ] A.B (3 ms)\n2: [  PASSED  ] 4 tests.\n2/2 Test #2: cpu ....***Failed    0.02 sec\n"
        self.assertEqual(self.count(log), "16 1 0")

    def test_a_crash_is_one_failure(self):
        self.assertEqual(self.count("1/1 Test  #1: base ....***Exception: SegFault  0.02 sec\n"), "0 1 0")

    def test_a_plain_ctest_entry_counts_itself(self):
        self.assertEqual(self.count("1/1 Test #10: replay ....   Passed    0.02 sec\n"), "1 0 0")

    def test_unittest(self):
        self.assertEqual(self.count("Ran 9 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=3)\n"), "3 3 3")
        self.assertEqual(self.count("Ran 9 tests in 0.1s\n\nOK\n"), "9 0 0")

    def test_a_python_file_without_tests_is_a_failure(self):
        self.assertEqual(self.count("Ran 0 tests in 0.0s\n\nOK\n"), "0 1 0")

    def test_a_python_file_skipped_as_a_whole_is_skipped(self):
        self.assertEqual(self.count("Ran 0 tests in 0.0s\n\nOK (skipped=1)\n"), "0 0 1")
        self.assertEqual(self.count("Ran 0 tests in 0.0s\n\nFAILED (errors=1)\n"), "0 1 0")

    def test_nothing(self):
        self.assertEqual(self.count("words: nothing to say\n"), "0 0 0")


if __name__ == "__main__":
    unittest.main()
