#!/usr/bin/env python3
"""Compares anedvd's tokens with llama.cpp's for vocabularies in GGUF files.

Makes nothing; prints one line a vocabulary (strings compared, equal, differing) and, with --show N, the first N differences.
Strings: the .inp/.out pairs beside the vocabularies, hand-picked nasty ones, and random ones from a fixed seed.

    tools/text/tokenizer_parity.py --ours BUILD/tokenize_lines --peer LLAMA_CPP_TREE [--count 10000] [--show 5] [GGUF…]

--ours is tests/text/tokenize_lines.cpp built; --peer a llama.cpp source tree with build/bin/libllama.so (a small driver is compiled
against it into --work). Without GGUF arguments: models/ggml-vocab-*.gguf of the tree.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

NASTY = [
    "", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\n\n\n", "\t\n", " \n", "\n ", "  \n  \n  x", "\r", "\r\r\n", "\x0b\x0c",
    "a  b and    c", "\t" * 6, "trailing two  ", "12345", "१२३", "😀", "¿Qué?", "\0", "<0x0A>", "e\u0301", "é",
    "hi<|im_end|>\n<|im_start|>assistant\nsure", "<s>", "</s>", "<unk>", "<|endoftext|>", "<|begin_of_text|>x", "[MASK]",
    "<|user|>\n hi<|end|>\n\n<|assistant|>  x", " <mask> y", "x<|endoftext|>\n y", "a [MASK] b", "<|end|><|end|> <|end|>",
    "Hello, world!", "Hello  world", "don't DON'T I'Ll we'VE they'Re 'sx 'S 'D 'M", "'ſ", "''''''", "I'll've", "’s",
    "3.14159", "1,000,000", "0x1F", "1e-10", "123456789012", "1 2 34 567 8901", "½ ² Ⅷ ٣ ৪", "a1b22c333",
    "foo_bar __init__ $var @x #y %z ^ & * ( ) - + = [ ] { } | \\ : ; \" ' < > , . ? / ~ `", "!!!???...", "…—–‘’“”«»",
    "中文字符测试", "日本語テスト。", "한국어 테스트", "ไทยทดสอบ", "हिन्दी परीक्षण", "العربية اختبار", "עברית", "ελληνικά ΕΛΛΗΝΙΚΆ",
    "Русский ТЕКСТ", "tiếng Việt", "ǅ ǈ ᾈ", "ᾳ", "ﬁ ﬂ", "Å Å", "ﾊﾝｶｸ ＦＵＬＬ", "𝕳𝖊𝖑𝖑𝖔", "👨‍👩‍👧‍👦 🇩🇪 👍🏽", "\u200b\u200d\ufeff", "\u00a0\u2003\u3000x",
    "a\u0300\u0301\u0302b", "\u0301", " \u0301x", "\u0903\u0941", "İstanbul ıI", "ß ẞ", "\ue000\uf8ff", "\U000e0001", "\u0378",
    "{\n    \"key\": [1, 2, 3],\n\t\"x\": null\n}\n", "def f(x):\n    return x**2  # y\n\n\nclass A:\n    pass\n",
    "https://example.com/a?b=c&d=%20e#f", "/usr/local/bin/../lib", "C:\\path\\to", "a/b\n/c//\n\n", "x /\r\n/ y", "<p>Hi</p><br/>",
    "ABCdef GHIjkl mnoPQR XMLHttpRequest iPhone McDonald's USA's", "ABC中文DEF", "中A文B", "aB̀c", "日本123語",
    "     leading", "trailing     ", " \t \n \t x", "\n\n  \n\n", "x\n\n\n\ny", "x \n y", "\u0085x", "\u2028\u2029",
    "▁", "▁▁x", " ▁ ", "Ġ", "Ċ", "Ā", "##ing", "\\n\\t", "a\0b", "\x7f\x80", "\u00ad", "z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "=" * 70, "-" * 41, "_" * 33, "\n" * 40, " " * 140, "0" * 40,
]
WORDS = ("the of and to in is that it was for on are as with his they be at one have this from or had by hot but some what there we "
         "can out other were all your when up use word how said an each she which do their time if will way about many then them "
         "I'm you've he'd SHE'LL don't Über café naïve señor größe façade Straße Привет мир как дела Γειά σου κόσμε こんにちは 世界 "
         "안녕하세요 สวัสดี नमस्ते दुनिया مرحبا بالعالم שלום print(x) return; import numpy as np 2024-01-02 3.14 #include <vector> "
         "std::string foo.bar() == != >= -> => && || i++ 100% $5.00 user@example.com").split()
CATEGORIES = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
              "Sk", "So", "Zs", "Cf"]


def code_points_by_category():
    table = {}
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        table.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    return table


def random_strings(count, seed):
    """Strings of mixed kinds: words, code points by category, white space, digits, quotes, letters of any case."""
    rng = random.Random(seed)
    table = code_points_by_category()
    spaces = [" ", " ", " ", "  ", "   ", "\n", "\t", "\r\n", "\n\n", "\u00a0", "\u3000", "\r", "\u2028", "\x0b"]

    def piece():
        kind = rng.randrange(11)
        if kind <= 2:
            return rng.choice(WORDS)
        if kind == 3:
            return rng.choice(spaces) * rng.choice([1, 1, 1, 2, 3, 5, 9])
        if kind == 4:
            return "".join(rng.choice("0123456789") for _ in range(rng.randrange(1, 9)))
        if kind == 5:
            return "".join(rng.choice("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") for _ in range(rng.randrange(1, 5)))
        if kind == 6:
            return rng.choice(["'s", "'T", "'re", "'VE", "'m", "'ll", "'D", "'", "’s"])
        if kind == 7:
            return "".join(rng.choice(table[rng.choice(CATEGORIES)]) for _ in range(rng.randrange(1, 4)))
        if kind == 8:
            word = rng.choice(WORDS)
            return rng.choice([word.upper(), word.capitalize(), word.swapcase()])
        if kind == 9:
            return "".join(rng.choice("aAbBcCdDéÉжЖ中あ가\u0301") for _ in range(rng.randrange(1, 7)))
        return chr(rng.randrange(0x20, 0x250))

    strings = []
    for _ in range(count):
        strings.append("".join(piece() + (" " if rng.random() < 0.4 else "") for _ in range(rng.randrange(1, 9))))
    return strings


def run(command, lines, env=None):
    text = "".join(f"{flag} {data.hex()}\n" for flag, data in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"
    answers = []
    for line in done.stdout.splitlines():
        ids, _, decoded = line.partition("|")
        answers.append(([int(i) for i in ids.split()], bytes.fromhex(decoded)))
    return answers, None


def build_peer(tree, work):
    target = work / "llama_tokenize_lines"
    source = pathlib.Path(__file__).with_name("llama_tokenize_lines.cpp")
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        work.mkdir(parents=True, exist_ok=True)
        libraries = tree / "build/bin"
        subprocess.run(["g++", "-std=c++17", "-O1", f"-I{tree}/include", f"-I{tree}/ggml/include", str(source), "-o", str(target),
                        f"-L{libraries}", "-lllama", "-lggml", "-lggml-base", f"-Wl,-rpath,{libraries}"], check=True)
    return target


def known_pairs(model):
    """(text, ids) from MODEL.inp and MODEL.out."""
    inputs, outputs = pathlib.Path(f"{model}.inp"), pathlib.Path(f"{model}.out")
    if not inputs.exists() or not outputs.exists():
        return []
    texts = inputs.read_bytes().decode().split("\n__ggml_vocab_test__\n")
    ids = [[int(i) for i in line.split()] for line in outputs.read_text().splitlines()]
    return list(zip(texts, ids))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--peer", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "tokenizer-parity")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    peer = build_peer(arguments.peer.expanduser(), arguments.work)
    models = arguments.models or sorted(arguments.peer.expanduser().glob("models/ggml-vocab-*.gguf"))
    strings = NASTY + random_strings(arguments.count, arguments.seed)
    lines = [(0, s.encode()) for s in strings] + [(1, s.encode()) for s in strings[:500]]
    failures = 0
    for model in models:
        pairs = known_pairs(model)
        ours, problem = run([arguments.ours, str(model)], [(0, text.encode()) for text, _ in pairs] + lines)
        if problem:
            print(f"{model.name}: {problem}")
            continue
        known_equal = sum(ids == want for (ids, _), (_, want) in zip(ours, pairs))
        theirs, problem = run([str(peer), str(model)], lines)
        if problem:
            print(f"{model.name}: {known_equal} of {len(pairs)} known pairs; peer: {problem}")
            continue
        mine = ours[len(pairs):]
        differing = [i for i in range(len(lines)) if mine[i][0] != theirs[i][0]]
        # The peer's pieces include the space that stands before the first word; its llama_detokenize also tidies spaces, so it is not used.
        if sum(len(there) == len(here) + 1 for (_, here), (_, there) in zip(mine, theirs)) > len(lines) / 2:
            theirs = [(ids, text.removeprefix(b" ")) for ids, text in theirs]
        decoding = [i for i in range(len(lines)) if mine[i][0] == theirs[i][0] and mine[i][1] != theirs[i][1]]
        back = sum(mine[i][1] == lines[i][1] for i in range(len(strings)))
        back_there = sum(theirs[i][1] == lines[i][1] for i in range(len(strings)))
        failures += len(differing)
        print(f"{model.name}: {known_equal} of {len(pairs)} known pairs; {len(lines)} strings, {len(lines) - len(differing)} equal, "
              f"{len(differing)} differ; {len(decoding)} equal ones decode differently; back to the text: {back} of {len(strings)} (peer {back_there})",
              flush=True)
        for (ids, _), (text, want) in zip(ours, pairs):
            if ids != want and arguments.show:
                print(f"    known {text!r}\n      ours {ids}\n      want {want}")
        for i in differing[:arguments.show]:
            print(f"    {'tokens' if lines[i][0] else 'text'} {strings[i % len(strings)]!r}\n      ours {mine[i][0]}\n      peer {theirs[i][0]}")
        for i in decoding[:arguments.show]:
            print(f"    decoded {strings[i % len(strings)]!r}\n      ours {mine[i][1]}\n      peer {theirs[i][1]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
