"""Each check of tools/ is shown a small tree that breaks one rule, and must say so; the same tree without the fault must pass."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"

LAYERS = """
# comment: anedvd_layer(not_a_layer USES base)
anedvd_layer(base)
anedvd_layer(tensor USES base)
anedvd_layer(text   USES tensor LINKS PkgConfig::UTF8PROC)
"""
GOOD = {
    "cmake/layers.cmake": LAYERS,
    "src/base/result.h": "#pragma once\n#include <string>\n#include <tl/expected.hpp>\n",
    "src/base/fmt.cpp": "#include <fmt/format-inl.h>\n",
    "src/tensor/view.h": '#pragma once\n#include "base/result.h"\n',
    "src/text/tokenizer.cpp": '#include "base/result.h"\n#include "tensor/view.h"\n#include <nlohmann/json.hpp>\n#include <sys/stat.h>\n',
    "tests/text/tokenizer_test.cpp": '#include "text/tokenizer.h"\n',
}


class Tree:
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="anedvd checks ")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, text in GOOD.items():
            self.write(path, text)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run_check(self, name):
        done = subprocess.run(
            [sys.executable, TOOLS / f"check_{name}.py", "--root", self.root], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def passes(self, name):
        code, out = self.run_check(name)
        self.assertEqual(code, 0, out)

    def fails(self, name, *words):
        code, out = self.run_check(name)
        self.assertEqual(code, 1, out)
        self.assertEqual(len(out.splitlines()), 1, f"one fault, one line: {out}")
        for word in words:
            self.assertIn(word, out)


class Layers(Tree, unittest.TestCase):
    def test_a_good_tree_passes(self):
        self.passes("layers")

    def test_an_include_upwards(self):
        self.write("src/base/words.cpp", '#include "base/result.h"\n\n#include "text/tokenizer.h"\n')
        self.fails("layers", "src/base/words.cpp:3", "does not let base use text")

    def test_an_include_that_climbs(self):
        self.write("src/tensor/dtype.cpp", '#include "../base/result.h"\n')
        self.fails("layers", "src/tensor/dtype.cpp:1", "climbs")

    def test_an_include_that_climbs_in_a_test(self):
        self.write("tests/text/other_test.cpp", '#include "../../src/text/tokenizer.h"\n')
        self.fails("layers", "tests/text/other_test.cpp:1", "climbs")

    def test_an_include_without_a_layer(self):
        self.write("src/tensor/dtype.cpp", '#include "view.h"\n')
        self.fails("layers", "names no layer")

    def test_our_header_in_angle_brackets(self):
        self.write("src/tensor/dtype.cpp", "#include <base/result.h>\n")
        self.fails("layers", "write it in quotes")

    def test_an_unused_uses(self):
        self.write("src/text/tokenizer.cpp", '#include "base/result.h"\n')
        self.fails("layers", "text USES tensor", "no file includes it")

    def test_a_uses_that_is_no_layer(self):
        self.write("cmake/layers.cmake", LAYERS.replace("USES tensor", "USES tensor tenser"))
        code, out = self.run_check("layers")
        self.assertEqual(code, 1)
        self.assertIn("text uses tenser, which is no layer", out)

    def test_layers_in_a_circle(self):
        self.write("cmake/layers.cmake", LAYERS.replace("anedvd_layer(base)", "anedvd_layer(base USES text)"))
        code, out = self.run_check("layers")
        self.assertEqual(code, 1)
        self.assertIn("base and text use each other", out)

    def test_a_file_outside_every_layer(self):
        self.write("src/utils/strings.h", "#pragma once\n")
        self.fails("layers", "src/utils/strings.h", "belongs to no layer")

    def test_a_file_directly_in_src(self):
        self.write("src/main.cpp", "int main() {}\n")
        self.fails("layers", "src/main.cpp", "belongs to no layer")

    def test_libraries_outside_their_place(self):
        for path, include in [
            ("src/base/json.h", "nlohmann/json.hpp"),
            ("src/tensor/dtype.cpp", "nlohmann/json.hpp"),
            ("src/tensor/dtype.cpp", "nlohmann/json_fwd.hpp"),
            ("src/text/bpe.cpp", "CLI/CLI.hpp"),
            ("src/text/bpe.cpp", "fmt/format.h"),
            ("src/base/words.h", "fmt/format.h"),
            ("src/text/bpe.cpp", "tl/expected.hpp"),
            ("src/tensor/dtype.cpp", "utf8proc.h"),
            ("src/tensor/dtype.cpp", "immintrin.h"),
            ("src/text/bpe.cpp", "gtest/gtest.h"),
            ("src/text/bpe.cpp", "unheard/of.h"),
        ]:
            with self.subTest(path=path, include=include):
                self.write(path, f"#include <{include}>\n")
                self.fails("layers", f"{path}:1", include)
                (self.root / path).unlink()

    def test_throw(self):
        self.write("src/base/words.cpp", "// never throw\nconst char* a = \"throw\"; int b = 1'000;\nvoid f() { throw 1; }\n")
        self.fails("layers", "src/base/words.cpp:3", "throw")


class Sizes(Tree, unittest.TestCase):
    def test_the_limits_themselves_pass(self):
        self.write("src/base/long.h", "\n" * 200)
        self.write("src/base/long.cpp", "\n" * 600)
        self.passes("size")

    def test_a_long_header(self):
        self.write("src/base/long.h", "\n" * 201)
        self.fails("size", "src/base/long.h: 201 lines, at most 200")

    def test_a_long_source(self):
        self.write("src/base/long.cpp", "\n" * 601)
        self.fails("size", "src/base/long.cpp: 601 lines, at most 600")

    def test_a_long_script_without_a_suffix(self):
        self.write("scripts/long", "#!/bin/sh\n" + "\n" * 600)
        self.fails("size", "scripts/long: 601 lines")

    def test_a_crowded_folder(self):
        for number in range(23):
            self.write(f"src/crowd/file{number}.cpp", "")
            self.write(f"src/crowd/file{number}.h", "")
        self.fails("size", "src/crowd/: 23 ideas, at most 22")

    def test_tables_and_fixtures_are_exempt(self):
        self.write("src/base/case_tables.cpp", "\n" * 9000)
        self.write("src/base/grids.inc", "\n" * 9000)
        for number in range(40):
            self.write(f"tests/data/fixture{number}.json", "\n" * 900)
        self.passes("size")


class Words(Tree, unittest.TestCase):
    def test_places_on_a_machine(self):
        for place in ("/ho" + "me/someone/x", "/ro" + "ot/x", "/t" + "mp/x", "/Us" + "ers/someone", "/wo" + "rk/x"):
            with self.subTest(place=place):
                self.write("docs/a.md", f"first line\nsee {place}\n")
                self.fails("words", "docs/a.md:2", "one machine")

    def test_unfinished_words(self):
        for word in ("TO" + "DO", "FIX" + "ME", "X" + "XX"):
            with self.subTest(word=word):
                self.write("src/base/words.cpp", f"// {word}: later\n")
                self.fails("words", "src/base/words.cpp:1", word)

    def test_what_only_looks_like_it_passes(self):
        self.write("docs/a.md", "${TMPDIR:-/t" + "mp}/x  https://example.org/ho" + "me/x  IQ2_XXS  mktemp anedvd.XXXXXX\n")
        self.write("tests/data/prompt.txt", "TO" + "DO list\n")
        self.passes("words")

    def test_binary_files_are_not_read(self):
        (self.root / "tests/data").mkdir(parents=True)
        (self.root / "tests/data/tiny.gguf").write_bytes(b"GGUF\0\0/ho" + b"me/someone/x")
        self.passes("words")


@unittest.skipUnless(shutil.which("c++") and shutil.which("nm"), "needs a compiler and nm")
class Kernels(unittest.TestCase):
    def check(self, code):
        with tempfile.TemporaryDirectory(prefix="anedvd kernels ") as folder:
            objects = Path(folder) / "CMakeFiles/anedvd_cpu.dir/src/cpu/kernels"
            objects.mkdir(parents=True)
            subprocess.run(["c++", "-x", "c++", "-c", "-", "-o", objects / "x86_avx2.cpp.o"], input=code, text=True, check=True)
            done = subprocess.run([sys.executable, TOOLS / "check_kernels.py", folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_one_table_passes(self):
        code, out = self.check("static int dot(int a) { return a; }\nextern int (*const kTable)(int); int (*const kTable)(int) = dot;\n")
        self.assertEqual(code, 0, out)

    def test_a_second_symbol(self):
        code, out = self.check("int one() { return 1; }\nint two() { return 2; }\n")
        self.assertEqual(code, 1)
        self.assertIn("x86_avx2.cpp.o: defines 2 global symbols (one(), two())", out)

    def test_a_weak_symbol(self):
        code, out = self.check("inline int leak() { return 1; }\nint table() { return leak(); }\n")
        self.assertEqual(code, 1)
        self.assertIn("leak() is weak", out)

    def test_nothing_to_check_is_no_success(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, TOOLS / "check_kernels.py", folder], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
