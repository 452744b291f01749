#!/usr/bin/env python3
"""Makes the tiny models that tests run: real GGUF files of the `llama` family, small enough for the repository.

    python3 tools/make_tiny_model.py [OUT_FOLDER]          default: tests/data; needs numpy and gguf (tools/requirements.txt)

For each model NAME of MODELS it writes
    NAME.gguf          seeded random weights; byte-level BPE tokenizer in SmolLM2's manner, learnt from TEXT; ChatML template
    NAME.ids.json      a prompt: a plain array of token ids
    NAME.logits.npy    float32 [prompt, vocabulary]: logits at every position, computed here in float64 from the dequantised weights
    NAME.tensors.txt   a line for each tensor: name, type, CRC-32 of its bytes, shape
    NAME.greedy.json   the ids that greedy generation appends to the prompt (float64 as well)

The same inputs give the same bytes. Weights are random but shaped so that tests can tell right from wrong: logits spread over several
units, the next token depends on all that came before, and no greedy step is a near tie (the script refuses a seed that breaks this).
"""

import dataclasses
import json
import pathlib
import re
import sys
import zlib

import gguf
import numpy as np

TEXT = """
The lamp on the rock had burned for ninety years, and in all that time nobody had asked who paid for the oil.
When the keeper's daughter found the ledgers, she read them aloud at supper: "Twelve barrels in March, nine in April, none in May."
"None in May?" said the keeper. "Then what was it that I burned?" She turned the page and began to laugh.
There is a simple way to count the waves. Stand where the water meets the stone, and say a number each time your feet get wet.
You will lose the count before you reach a hundred, because the sea does not keep the same time as you do.
What is the capital of the island? The answer is that it has none; there are three houses, and each of them thinks that it is the one.
If you want to learn how a thing works, take it apart. If you want to learn why it works, put it together again.
The first letter was about the weather. The second letter was about the first. In the third there was only a drawing of a ship,
and under the ship, in small and careful letters, the words that she had been waiting for: I am coming home with the next tide.
for i in range(10): print(i, i * i)   # squares, one a line
A machine that reads must first cut the text into pieces. It does not know words; it knows which letters stand together often,
and so it joins them, the most common pair first, then the next, and again, until it has as many pieces as it may keep.
He told them that the bridge would hold, and it did. He told them that the bridge would hold for ever, and then they did not believe him.
In the morning the snow had covered the tracks, the wall and the door, and we could not tell where the house ended and the hill began.
"""

# <|endoftext|> is the unknown token, <|im_start|> BOS, <|im_end|> EOS: the order of SmolLM2's vocabulary.
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
VOCABULARY = 413  # odd, so that no kernel's row tile divides it
PROMPT_TEXT = "The keeper turned the page and 12"
GREEDY_STEPS = 20
SMALLEST_MARGIN = 0.25  # between the best and the second logit, at every prompt position and greedy step


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    seed: int  # the first one whose greedy steps all keep the margin
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    matrix: gguf.GGMLQuantizationType  # of every matrix but the embedding and the head
    embedding: gguf.GGMLQuantizationType
    tied: bool
    head_dim: int = 32
    context: int = 512
    rope_base: float = 100000.0
    eps: float = 1e-5


F32, Q4_1, Q8_0 = (gguf.GGMLQuantizationType[n] for n in ("F32", "Q4_1", "Q8_0"))
MODELS = [
    Model("tiny-llama-q4_1", 1110, hidden=128, layers=3, heads=4, kv_heads=2, ffn=192, matrix=Q4_1, embedding=Q8_0, tied=True),
    Model("tiny-llama-f32", 409, hidden=64, layers=2, heads=2, kv_heads=1, ffn=96, matrix=F32, embedding=F32, tied=True),
    Model("tiny-llama-untied", 49, hidden=64, layers=2, heads=4, kv_heads=2, ffn=96, matrix=Q4_1, embedding=Q8_0, tied=False),
]


# --- tokenizer ---------------------------------------------------------------------------------------------------------------


def byte_letters():
    """The letter that byte-level BPE writes for each byte: itself if it shows, else the next free one from U+0100 (GPT-2's table)."""
    shown = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    hidden = [b for b in range(256) if b not in shown]
    letters = {b: chr(b) for b in shown} | {b: chr(256 + i) for i, b in enumerate(hidden)}
    return letters, [*shown, *hidden]


def split_words(text):
    """Pieces within which merges may happen: GPT-2's pattern for ASCII, digits one by one as in SmolLM2."""
    return re.findall(r"[0-9]|'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", text)


def join_pair(pieces, left, right):
    joined, i = [], 0
    while i < len(pieces):
        pair = i + 1 < len(pieces) and pieces[i] == left and pieces[i + 1] == right
        joined.append(left + right if pair else pieces[i])
        i += 2 if pair else 1
    return joined


def learn_merges(text, count):
    """The `count` merges that byte-pair encoding learns: the most frequent pair first, ties by the letters."""
    letters, _ = byte_letters()
    words = [[letters[b] for b in w.encode()] for w in split_words(text)]
    merges = []
    while len(merges) < count:
        pairs = {}
        for word in words:
            for pair in zip(word, word[1:]):
                pairs[pair] = pairs.get(pair, 0) + 1
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        words = [join_pair(w, *best) for w in words]
    return merges


def encode(text, merges, tokens):
    """Token ids of ASCII text: the plain definition of BPE, for the prompt."""
    letters, _ = byte_letters()
    ids = []
    for word in split_words(text):
        pieces = [letters[b] for b in word.encode()]
        for left, right in merges:
            pieces = join_pair(pieces, left, right)
        ids += [tokens.index(p) for p in pieces]
    return ids


# --- weights and the llama computation ----------------------------------------------------------------------------------------


def make_weights(m):
    """Tensors by GGUF name, float32, matrices as [outputs, inputs], in file order."""
    rng = np.random.default_rng(m.seed)

    def matrix(rows, cols, gain):
        return (rng.standard_normal((rows, cols)) * gain / np.sqrt(cols)).astype(np.float32)

    def norm(spread=0.2):
        return (1 + spread * rng.standard_normal(m.hidden)).astype(np.float32)

    # Logits of a normalised vector have about the deviation `gain` = 5.
    weights = {"token_embd.weight": matrix(VOCABULARY, m.hidden, 5)}
    for n in range(m.layers):
        p = f"blk.{n}."
        q_rows, kv_rows = m.heads * m.head_dim, m.kv_heads * m.head_dim
        weights[p + "attn_norm.weight"] = norm()
        # Gain 1.5 on q and k makes attention pick positions instead of averaging them.
        weights[p + "attn_q.weight"] = matrix(q_rows, m.hidden, 1.5)
        weights[p + "attn_k.weight"] = matrix(kv_rows, m.hidden, 1.5)
        weights[p + "attn_v.weight"] = matrix(kv_rows, m.hidden, 1)
        weights[p + "attn_output.weight"] = matrix(m.hidden, q_rows, 1)
        weights[p + "ffn_norm.weight"] = norm()
        weights[p + "ffn_gate.weight"] = matrix(m.ffn, m.hidden, 1.5)
        weights[p + "ffn_up.weight"] = matrix(m.ffn, m.hidden, 1)
        weights[p + "ffn_down.weight"] = matrix(m.hidden, m.ffn, 1.5)
    # Random signs: otherwise a tied head answers each token with itself, its embedding being part of the residual stream.
    weights["output_norm.weight"] = norm() * rng.choice([-1, 1], m.hidden).astype(np.float32)
    if not m.tied:
        weights["output.weight"] = matrix(VOCABULARY, m.hidden, 5)
    return weights


def type_of(m, name):
    if name in ("token_embd.weight", "output.weight"):
        return m.embedding
    return F32 if "norm" in name else m.matrix


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def rotate(x, base):
    """Rotary embedding over ADJACENT pairs (2i, 2i + 1), as GGUF's llama files want. x: [positions, heads, head_dim]."""
    positions, _, dim = x.shape
    angle = np.arange(positions)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    even, odd = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2] = even * cos - odd * sin
    out[..., 1::2] = even * sin + odd * cos
    return out


def logits_of(m, w, ids):
    """float64 [len(ids), vocabulary]; `w` are the dequantised weights in float64."""
    t = len(ids)
    x = w["token_embd.weight"][ids]
    mask = np.where(np.arange(t)[None, :] > np.arange(t)[:, None], -np.inf, 0.0)
    for n in range(m.layers):
        p = f"blk.{n}."
        h = rms_norm(x, w[p + "attn_norm.weight"], m.eps)
        q = rotate((h @ w[p + "attn_q.weight"].T).reshape(t, m.heads, m.head_dim), m.rope_base)
        k = rotate((h @ w[p + "attn_k.weight"].T).reshape(t, m.kv_heads, m.head_dim), m.rope_base)
        v = (h @ w[p + "attn_v.weight"].T).reshape(t, m.kv_heads, m.head_dim)
        mixed = np.empty_like(q)
        for head in range(m.heads):
            shared = head // (m.heads // m.kv_heads)
            scores = q[:, head] @ k[:, shared].T / np.sqrt(m.head_dim) + mask
            e = np.exp(scores - scores.max(axis=-1, keepdims=True))
            mixed[:, head] = e / e.sum(axis=-1, keepdims=True) @ v[:, shared]
        x = x + mixed.reshape(t, -1) @ w[p + "attn_output.weight"].T
        h = rms_norm(x, w[p + "ffn_norm.weight"], m.eps)
        gate = h @ w[p + "ffn_gate.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w[p + "ffn_up.weight"].T)) @ w[p + "ffn_down.weight"].T
    head = w["token_embd.weight"] if m.tied else w["output.weight"]
    return rms_norm(x, w["output_norm.weight"], m.eps) @ head.T


# --- files -------------------------------------------------------------------------------------------------------------------


def write_gguf(path, m, stored, tokens, merges):
    w = gguf.GGUFWriter(path, "llama")
    w.add_name(m.name)
    w.add_context_length(m.context)
    w.add_embedding_length(m.hidden)
    w.add_block_count(m.layers)
    w.add_feed_forward_length(m.ffn)
    w.add_head_count(m.heads)
    w.add_head_count_kv(m.kv_heads)
    w.add_layer_norm_rms_eps(m.eps)
    w.add_rope_freq_base(m.rope_base)
    w.add_rope_dimension_count(m.head_dim)
    w.add_key_length(m.head_dim)
    w.add_value_length(m.head_dim)
    w.add_vocab_size(VOCABULARY)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("smollm")
    w.add_token_list(tokens)
    control, normal = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    w.add_token_types([control if i < len(CONTROL) else normal for i in range(len(tokens))])
    w.add_token_merges([f"{left} {right}" for left, right in merges])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    w.add_pad_token_id(2)
    w.add_add_bos_token(False)
    w.add_add_space_prefix(False)
    w.add_chat_template(CHAT_TEMPLATE)
    for name, data in stored.items():
        w.add_tensor(name, data, raw_dtype=type_of(m, name))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def margins(logits):
    top = np.sort(logits, axis=-1)
    return top[..., -1] - top[..., -2]


def make(m, folder, tokens, merges):
    stored = {n: gguf.quants.quantize(x, type_of(m, n)) for n, x in make_weights(m).items()}
    exact = {n: gguf.quants.dequantize(x, type_of(m, n)).astype(np.float64) for n, x in stored.items()}
    prompt = [1] + encode(PROMPT_TEXT, merges, tokens)
    logits = logits_of(m, exact, prompt)
    ids, smallest = list(prompt), margins(logits).min()
    for _ in range(GREEDY_STEPS):
        last = logits_of(m, exact, ids)[-1]
        smallest = min(smallest, margins(last))
        ids.append(int(last.argmax()))
    greedy = ids[len(prompt):]
    distinct = len(set(greedy))
    if smallest < SMALLEST_MARGIN or distinct < GREEDY_STEPS * 3 // 4 or min(greedy) < len(CONTROL):
        sys.exit(f"{m.name}: seed {m.seed} gives margin {smallest:.3f}, {distinct} different greedy tokens; try another seed")
    write_gguf(folder / f"{m.name}.gguf", m, stored, tokens, merges)
    np.save(folder / f"{m.name}.logits.npy", logits.astype(np.float32))
    (folder / f"{m.name}.ids.json").write_text(json.dumps(prompt) + "\n")
    (folder / f"{m.name}.greedy.json").write_text(json.dumps(greedy) + "\n")
    rows = [f"{n} {type_of(m, n).name} {zlib.crc32(stored[n].tobytes()):08x} {' '.join(map(str, exact[n].shape))}\n" for n in stored]
    (folder / f"{m.name}.tensors.txt").write_text("".join(rows))
    size = (folder / f"{m.name}.gguf").stat().st_size
    print(f"{m.name}: {size:,} bytes, logits deviate by {logits.std():.2f}, smallest margin {smallest:.3f}, greedy {greedy}")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "tests" / "data"
    letters, order = byte_letters()
    merges = learn_merges(TEXT, VOCABULARY - len(CONTROL) - 256)
    tokens = CONTROL + [letters[b] for b in order] + [left + right for left, right in merges]
    assert len(set(tokens)) == len(tokens) == VOCABULARY
    for m in MODELS:
        make(m, folder, tokens, merges)


if __name__ == "__main__":
    main()
