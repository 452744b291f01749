#!/usr/bin/env python3
"""Makes tokenizer.json files from GGUF vocabularies and compares anedvd with the `tokenizers` package on them.

The GGUF vocabularies beside llama.cpp have the pieces and merges of well-known models; the pipelines written here are those of the
models' own tokenizer.json files, or variants that use every component at least once. Also takes real tokenizer.json files or folders.

    tools/text/tokenizer_json.py --ours BUILD/tokenize_lines --vocabularies LLAMA_CPP_TREE/models [--work DIR] [--count 10000] [--show 3]
                            [--only NAME] [tokenizer.json …]

Needs: tokenizers, gguf. Prints one line a file: strings, equal, differing.
"""

import argparse
import base64
import json
import pathlib
import sys
import tempfile

import gguf
import tokenizers

import tokenizer_parity as parity

GPT4O_WORDS = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+%s|"
               r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*%s")
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
REGEX = {
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL,
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL,
    "qwen35": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + TAIL,
    "tekken": GPT4O_WORDS % ("", "") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL,
    "gpt4o": GPT4O_WORDS % (("(?i:'s|'t|'re|'ve|'m|'ll|'d)?",) * 2) + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL,
    "deepseek3": (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|" + TAIL),
    "bailing": (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"),
    "exaone_moe": (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|"
                   r"\s*[\r\n]|\s+(?!\S)|\s+"),
    "jais2": (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|"
              r"\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}"),
    "seed": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}" "\r\n" r"]+|\s*[" "\r\n" r"]+|\s+(?!\S)|\s+",
    "bloom": " ?[^(\\s|[.,!?…。，、।۔،])]+",
    "poro": " ?[^(\\s|.,!?…。，、।۔،)]+",
}
DEEPSEEK_LETTERS = ("\\s?["
    r"\x{41}-\x{5A}\x{61}-\x{7A}\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-"
    r"\x{2AF}\x{370}-\x{373}\x{376}-\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-"
    r"\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-"
    r"\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-"
    r"\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-"
    r"\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-"
    r"\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-"
    r"\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-"
    r"\x{2149}\x{214E}\x{2183}-\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}-\x{2CF3}\x{A640}-"
    r"\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-"
    r"\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-"
    r"\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}"
    "]+")


def split(pattern, behavior="Isolated", kind="Regex", invert=False):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(use_regex=False, prefix=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def normalizers(*parts):
    return {"type": "Sequence", "normalizers": list(parts)}


DIGITS = {"type": "Digits", "individual_digits": True}
BYTE_DECODER = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
NFC = {"type": "NFC"}
SPACE_MARKS = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PREPEND = {"type": "Prepend", "prepend": "▁"}
SPM_DECODER = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
                                                {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}

# name: (vocabulary, normalizer, pre_tokenizer, model options)
BYTE_PIPELINES = {
    "gpt2": ("gpt-2", None, byte_level(True), {}),
    "gpt2_prefix": ("gpt-2", None, byte_level(True, True), {}),
    "llama3": ("llama-bpe", None, sequence(split(REGEX["llama3"]), byte_level()), {"ignore_merges": True}),
    "qwen2": ("qwen2", NFC, sequence(split(REGEX["qwen2"]), byte_level()), {}),
    "qwen35": ("qwen2", NFC, sequence(split(REGEX["qwen35"]), byte_level()), {}),
    "tekken": ("llama-bpe", None, sequence(split(REGEX["tekken"]), byte_level()), {"ignore_merges": True}),
    "gpt4o": ("llama-bpe", None, sequence(split(REGEX["gpt4o"]), byte_level()), {}),
    "deepseek3": ("qwen2", None, sequence(split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(REGEX["deepseek3"]), byte_level()), {}),
    "deepseek_llm": ("deepseek-llm", None, sequence(split("[\r\n]"), split(DEEPSEEK_LETTERS), split("\\s?[!-/:-~！-／：-～‘-‟　-。]+"),
                                                    split("\\s+$"), split("[一-龥ࠀ-一가-\ud7ff]+"), DIGITS, byte_level()), {}),
    "deepseek_coder": ("deepseek-coder", None, sequence(split("[\r\n]"), split("\\s?\\p{L}+"), split("\\s?\\p{P}+"),
                                                        split("[一-龥ࠀ-一가-\ud7ff]+"), DIGITS, byte_level()), {}),
    "falcon": ("falcon", None, sequence({"type": "Punctuation", "behavior": "Contiguous"}, byte_level(True),
                                        {"type": "Digits", "individual_digits": False}, split("[0-9][0-9][0-9]")), {}),
    "starcoder": ("starcoder", None, sequence(DIGITS, byte_level(True)), {}),
    "command_r": ("command-r", NFC, sequence(DIGITS, byte_level(True)), {}),
    "neox": ("gpt-neox", NFC, byte_level(True), {}),
    "bloom": ("gpt-2", None, sequence(split(REGEX["bloom"]), byte_level()), {}),
    "poro": ("gpt-2", None, sequence(split(REGEX["poro"]), byte_level()), {}),
    "viking": ("gpt-2", None, sequence(split(REGEX["poro"]), DIGITS, byte_level()), {}),
    "bailing": ("qwen2", None, sequence(split(REGEX["bailing"]), byte_level()), {}),
    "exaone_moe": ("qwen2", None, sequence(split(REGEX["exaone_moe"]), byte_level()), {}),
    "jais2": ("llama-bpe", None, sequence(split(REGEX["jais2"]), byte_level()), {}),
    "seed": ("qwen2", None, sequence(split(REGEX["seed"]), byte_level()), {}),
    "superbpe": ("qwen2", None, sequence(split(r"\p{N}+"), split(r"(?=(\d{3})+(?!\d))"), byte_level()), {}),
    "tiny_aya": ("llama-bpe", NFC, sequence(split(r"\d{1,3}(?=(?:\d{3})*\b)"), split(REGEX["gpt4o"]), byte_level()), {}),
    "normalizer_bytes": ("gpt-2", {"type": "ByteLevel"}, split(" ", "MergedWithNext", "String"), {}),
    "merged_previous": ("gpt-2", None, sequence(split(" ", "MergedWithPrevious", "String"), byte_level()), {}),
    "merged_next": ("gpt-2", None, sequence(split("[0-9]", "MergedWithNext"), byte_level()), {}),
    "removed": ("gpt-2", None, sequence(split("[aeiou]+", "Removed"), byte_level()), {}),
    "contiguous_invert": ("gpt-2", None, sequence(split("[a-z]", "Contiguous", invert=True), byte_level()), {}),
    "white_space": ("gpt-2", None, sequence({"type": "Whitespace"}, byte_level(False, True)), {}),
    "white_space_split": ("gpt-2", None, sequence({"type": "WhitespaceSplit"}, byte_level()), {}),
    "punctuation": ("gpt-2", None, sequence({"type": "Punctuation", "behavior": "MergedWithPrevious"}, byte_level()), {}),
    "delimiter": ("gpt-2", None, sequence({"type": "CharDelimiterSplit", "delimiter": "e"}, byte_level()), {}),
    "bert_words": ("gpt-2", None, sequence({"type": "BertPreTokenizer"}, byte_level()), {}),
    "nfkc_lower": ("gpt-2", normalizers({"type": "NFKC"}, {"type": "Lowercase"}), byte_level(True), {}),
    "nfd_strip": ("gpt-2", normalizers({"type": "NFD"}, {"type": "StripAccents"}, {"type": "Strip", "strip_left": True, "strip_right": True}),
                  byte_level(True), {}),
    "nfkd_replace": ("gpt-2", normalizers({"type": "NFKD"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}), byte_level(True), {}),
    "nmt": ("gpt-2", {"type": "Nmt"}, byte_level(True), {}),
    "bert_normal": ("gpt-2", {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                              "lowercase": True}, byte_level(True), {}),
}
# White space and word rules of added tokens, on one of the pipelines.
ODD_ADDED = [("<L>", {"lstrip": True}), ("<R>", {"rstrip": True}), ("<B>", {"lstrip": True, "rstrip": True}), ("word", {"single_word": True}),
             ("Norm", {"normalized": True}), ("ÅB", {"normalized": True}), ("中文", {})]


class Vocabulary:
    def __init__(self, path):
        fields = gguf.GGUFReader(path).fields
        read = lambda key, default=None: fields[key].contents() if key in fields else default
        self.tokens = read("tokenizer.ggml.tokens")
        self.types = read("tokenizer.ggml.token_type", [1] * len(self.tokens))
        self.merges = read("tokenizer.ggml.merges", [])
        self.scores = read("tokenizer.ggml.scores", [])
        self.charsmap = read("tokenizer.ggml.precompiled_charsmap")
        self.bos = read("tokenizer.ggml.bos_token_id")

    def added(self):
        return [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": kind == 3}
                for i, (t, kind) in enumerate(zip(self.tokens, self.types)) if kind in (3, 4)]


def whole(vocabulary, normalizer, pre_tokenizer, decoder, model, extra=()):
    added = vocabulary.added()
    used = {token["content"] for token in added}
    next_id = len(vocabulary.tokens)
    for content, traits in extra:
        if content in used:
            continue
        known = model["vocab"].get(content) if isinstance(model["vocab"], dict) else None
        added.append({"id": next_id if known is None else known, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                      "special": False, **traits})
        next_id += known is None
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": decoder, "model": model}


def bpe(vocabulary, pairs, **options):
    plain = {t: i for i, (t, kind) in enumerate(zip(vocabulary.tokens, vocabulary.types)) if kind in (1, 5, 6) or not pairs}
    merges = [[m[: m.find(" ", 1)], m[m.find(" ", 1) + 1:]] for m in vocabulary.merges] if pairs else vocabulary.merges
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": plain, "merges": merges, **options}


def score_merges(vocabulary):
    """The merges that transformers derives from a SentencePiece vocabulary: all ways to halve a piece, by score."""
    ids = {t: i for i, (t, kind) in enumerate(zip(vocabulary.tokens, vocabulary.types)) if kind not in (2, 3, 6)}
    merges = []
    for piece, index in ids.items():
        local = [(piece[:i], piece[i:]) for i in range(1, len(piece)) if piece[:i] in ids and piece[i:] in ids]
        local.sort(key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        merges += [(pair, vocabulary.scores[index]) for pair in local]
    merges.sort(key=lambda item: -item[1])
    return [list(pair) for pair, _ in merges]


def spm_pipelines(models):
    llama = Vocabulary(models / "ggml-vocab-llama-spm.gguf")
    merged = score_merges(llama)
    options = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "merges": merged}
    model = bpe(llama, True, **options)
    model["vocab"] = {t: i for i, t in enumerate(llama.tokens)}
    metaspace = lambda scheme, cut: {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": cut}
    yield "llama2", whole(llama, normalizers(PREPEND, SPACE_MARKS), None, SPM_DECODER, model)
    yield "llama2_first", whole(llama, None, metaspace("first", False), SPM_DECODER, model)
    yield "llama2_always", whole(llama, None, metaspace("always", True), SPM_DECODER, model)
    yield "llama2_added", whole(llama, normalizers(PREPEND, SPACE_MARKS), None, SPM_DECODER, model, ODD_ADDED)
    unknown = dict(model, byte_fallback=False)
    yield "llama2_unknown", whole(llama, normalizers(PREPEND, SPACE_MARKS), None, SPM_DECODER, unknown)
    gemma = Vocabulary(models / "ggml-vocab-gemma-4.gguf")
    model = bpe(gemma, True, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    model["vocab"] = {t: i for i, t in enumerate(gemma.tokens)}
    yield "gemma", whole(gemma, SPACE_MARKS, split(" ", "MergedWithPrevious", "String"),
                         {"type": "Sequence", "decoders": SPM_DECODER["decoders"][:3]}, model)
    roberta = Vocabulary(models / "ggml-vocab-nomic-bert-moe.gguf")
    charsmap = base64.b64encode(bytes(x & 255 for x in roberta.charsmap)).decode()
    model = {"type": "Unigram", "unk_id": 3, "byte_fallback": False,
             "vocab": [[t, s] for t, s in zip(roberta.tokens, roberta.scores)]}
    for name, scheme in (("xlm_roberta", "always"), ("xlm_roberta_first", "first")):
        yield name, whole(roberta, normalizers({"type": "Precompiled", "precompiled_charsmap": charsmap},
                                               {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}),
                          metaspace(scheme, True), metaspace(scheme, True), model)
    bert = Vocabulary(models / "ggml-vocab-bert-bge.gguf")
    pieces = {}
    for i, (token, kind) in enumerate(zip(bert.tokens, bert.types)):
        pieces[token if kind == 3 else token[1:] if token.startswith("▁") else token if token.startswith("[") else "##" + token] = i
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": pieces}
    normal = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    yield "bert", whole(bert, normal, {"type": "BertPreTokenizer"}, {"type": "WordPiece", "prefix": "##", "cleanup": True}, model)


def pipelines(models):
    cache = {}
    for name, (source, normalizer, pre_tokenizer, options) in BYTE_PIPELINES.items():
        if source not in cache:
            cache.clear()
            cache[source] = Vocabulary(models / f"ggml-vocab-{source}.gguf")
        pairs = name in ("qwen2", "llama3")
        yield name, whole(cache[source], normalizer, pre_tokenizer, BYTE_DECODER, bpe(cache[source], pairs, **options))
        if name in ("qwen2", "gpt2_prefix", "nfkc_lower"):
            yield name + "_added", whole(cache[source], normalizer, pre_tokenizer, BYTE_DECODER, bpe(cache[source], pairs, **options),
                                         ODD_ADDED)
    yield from spm_pipelines(models)


def compare(ours, path, strings, show):
    oracle = tokenizers.Tokenizer.from_file(str(path))
    oracle.no_padding()  # what transformers asks for
    oracle.no_truncation()
    count = len(strings)
    lines = [(0, s.encode()) for s in strings] + [(1, s.encode()) for s in strings[:800]]
    mine, problem = parity.run([ours, str(path)], lines)
    if problem:
        print(f"{path}: {problem}")
        return 0
    oracle.encode_special_tokens = True
    theirs = [e.ids for e in oracle.encode_batch(strings, add_special_tokens=False)]
    oracle.encode_special_tokens = False
    theirs += [e.ids for e in oracle.encode_batch(strings[:800], add_special_tokens=False)]
    differing = [i for i in range(len(lines)) if mine[i][0] != theirs[i]]
    decoding = []
    for i in range(count, len(lines)):
        want = oracle.decode(theirs[i], skip_special_tokens=False)
        if mine[i][0] == theirs[i] and mine[i][1].decode("utf-8", "replace") != want:
            decoding.append((i, want))
    back = sum(mine[i][1] == lines[i][1] for i in range(count))
    back_there = sum(oracle.decode(theirs[i], skip_special_tokens=False).encode() == lines[i][1] for i in range(count))
    print(f"{path.parent.name}/{path.name}: {len(lines)} strings, {len(lines) - len(differing)} equal, {len(differing)} differ; "
          f"{len(decoding)} equal ones decode differently; back to the text: {back} of {count} (tokenizers {back_there})", flush=True)
    for i, want in decoding[:show]:
        print(f"    decoded {strings[i % count]!r}\n      ours {mine[i][1].decode('utf-8', 'replace')!r}\n      hf   {want!r}")
    for i in differing[:show]:
        print(f"    {'tokens' if lines[i][0] else 'text'} {strings[i % count]!r}\n      ours {mine[i][0]}\n      hf   {theirs[i]}")
    return len(differing)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--vocabularies", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "tokenizer-json")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    odd = ["x <L> y", "x <R> y", " <B> \tz", "aword word words word.", "Norm xNormx", "a  b   c", "ÅB Å B åb ÅB", "中文字", "word", " word ",
           "<L><R>", "  <L>  ", "\n<B>\n", "norm NORM"]
    strings = odd + parity.NASTY + parity.random_strings(arguments.count, arguments.seed)
    differing = 0
    for path in arguments.files:
        differing += compare(arguments.ours, path / "tokenizer.json" if path.is_dir() else path, strings, arguments.show)
    if arguments.vocabularies:
        for name, whole_file in pipelines(arguments.vocabularies.expanduser()):
            if arguments.only and name != arguments.only:
                continue
            folder = arguments.work / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "tokenizer.json").write_text(json.dumps(whole_file, ensure_ascii=False), encoding="utf-8")
            differing += compare(arguments.ours, folder / "tokenizer.json", strings, arguments.show)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
