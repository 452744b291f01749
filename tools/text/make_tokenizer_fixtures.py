#!/usr/bin/env python3
"""Makes tests/data/tokenizers/: small tokenizer.json files and what the `tokenizers` package makes of some strings.

Each NAME.json is a tokenizer trained on the few sentences below with a pipeline of its own, so that together they use every component
that anedvd reads; NAME.golden.json has the package's ids with special tokens as text ("text"; null where the package finds them all the same) and as
tokens ("tokens"), and what the latter decode to ("decoded").

    tools/text/make_tokenizer_fixtures.py        (needs: tokenizers)
"""

import json
import pathlib
import unicodedata

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers, AddedToken, Regex, Tokenizer

import tokenizer_parity as parity
from tokenizer_json import REGEX

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/data/tokenizers"
CORPUS = ["The quick brown fox jumps over the lazy dog. THE QUICK BROWN FOX don't, can't, they'll, we've, I'm, he'd.",
          "Numbers 1234567890, 3.14159, 2024-01-02 and words_with_underscores, camelCaseWords, SHOUTING.", "for (int i = 0; i < n; ++i) {\n    "
          "sum += values[i];\n}\n", "Il était une fois à Besançon; größer, façade, naïve, señor.", "Привет, мир! Как дела?", "你好，世界。今天天气很好。",
          "こんにちは世界。テストです。", "हिन्दी में एक वाक्य", "안녕하세요 세계", "😀 🎉 👍🏽 emoji", "white   space\t\ttabs\n\n\nlines  and  gaps"] * 3


def well_known(text):
    """True if no punctuation in it is younger than the package's tables (which are those of Unicode 8 or so)."""
    return all(unicodedata.ucd_3_2_0.category(c) != "Cn" or not unicodedata.category(c).startswith("P") for c in text)


STRINGS = (["x <L> y", "x <R> y", " <B> \tz", "aword word words word.", "word𐄖 word½ word٣ word_ wordⅧ word\u0301 éword", "Norm xNormx", "<L><R>", "\n<B>\n", "norm NORM", "<s>hi</s>"]
           + parity.NASTY + [s for s in parity.random_strings(60, 5) if well_known(s)])
ODD = [AddedToken("<L>", lstrip=True), AddedToken("<R>", rstrip=True), AddedToken("<B>", lstrip=True, rstrip=True),
       AddedToken("word", single_word=True), AddedToken("Norm", normalized=True)]


def byte_pieces():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def train(tokenizer, trainer):
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def bpe_trainer(size, **options):
    return trainers.BpeTrainer(vocab_size=size, special_tokens=["<s>", "</s>", "<unk>"], show_progress=False, **options)


def byte_level(split, normalizer=None, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, bpe_trainer(450, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))


def with_bytes(tokenizer):
    """The same model with byte tokens <0x00> … behind its vocabulary, and byte fallback."""
    state = json.loads(tokenizer.to_str())
    vocabulary = state["model"]["vocab"]
    for byte in range(256):
        vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    state["model"].update(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    return Tokenizer.from_str(json.dumps(state))


def sentencepiece(normalizer, pre_tokenizer):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    if normalizer:
        tokenizer.normalizer = normalizer
    # Trained on words, so that pieces do not reach across spaces; used on whole texts.
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next") if normalizer else pre_tokenizer
    tokenizer = train(tokenizer, bpe_trainer(300, limit_alphabet=90))
    state = json.loads(tokenizer.to_str())
    state["pre_tokenizer"] = json.loads(pre_tokenizer.__getstate__()) if pre_tokenizer else None
    tokenizer = with_bytes(Tokenizer.from_str(json.dumps(state)))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return train(tokenizer, trainers.UnigramTrainer(vocab_size=300, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))


def wordpiece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    train(tokenizer, trainers.WordPieceTrainer(vocab_size=350, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


def word_level():
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    return train(tokenizer, trainers.WordLevelTrainer(vocab_size=200, special_tokens=["<unk>"], show_progress=False))


def split(pattern, behavior="isolated"):
    return pre_tokenizers.Split(Regex(pattern), behavior)


def fixtures():
    sequence = pre_tokenizers.Sequence
    yield "qwen2", byte_level(sequence([split(REGEX["qwen2"]), byte_pieces()]), normalizers.NFC())
    yield "llama3", byte_level(sequence([split(REGEX["llama3"]), byte_pieces()]), ignore_merges=True)
    falcon = sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Digits(),
                       split("[0-9][0-9][0-9]")])
    yield "falcon", byte_level(falcon)
    odd = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]))
    odd.add_tokens(ODD)
    yield "added", odd
    yield "pcre", byte_level(sequence([split(r"\p{Han}+|[[:alpha:]]+|\d{1,2}"), split(r"\s+$", "removed"), byte_pieces()]))
    yield "llama2", sentencepiece(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None)
    yield "metaspace", sentencepiece(None, pre_tokenizers.Metaspace(prepend_scheme="always"))
    yield "unigram", unigram()
    yield "wordpiece", wordpiece()
    yield "word_level", word_level()


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, tokenizer in fixtures():
        (FOLDER / f"{name}.json").write_text(tokenizer.to_str(), encoding="utf-8")
        tokenizer = Tokenizer.from_file(str(FOLDER / f"{name}.json"))
        cases = []
        for text in STRINGS:
            tokenizer.encode_special_tokens = True
            as_text = tokenizer.encode(text, add_special_tokens=False).ids
            special = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special and token.content in text}
            if special & set(as_text):
                as_text = None  # the model finds special tokens in its vocabulary; anedvd never makes them from text
            tokenizer.encode_special_tokens = False
            as_tokens = tokenizer.encode(text, add_special_tokens=False).ids
            cases.append({"string": text, "text": as_text, "tokens": as_tokens, "decoded": tokenizer.decode(as_tokens, skip_special_tokens=False)})
        golden = {"made_with": f"tokenizers {tokenizers.__version__}", "cases": cases}
        (FOLDER / f"{name}.golden.json").write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    main()
