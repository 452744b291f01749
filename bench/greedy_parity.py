#!/usr/bin/env python3
"""Compares greedy continuations of anedvd and llama.cpp on one GGUF file.

    python3 bench/greedy_parity.py ANEDVD_BINARY LLAMA_SERVER_BINARY MODEL.gguf [--tokens 64] [--chat] [--threads 2]

For 20 varied prompts both programs continue the same token ids greedily. Prints how many continuations are equal; for each that parts, the place,
both tokens, and by how much their logits differ in anedvd's exact and normal mode. Both programs round activations to 8 bits, each in its own way,
so a choice between two tokens is open when their exact logits differ by no more than that rounding moves such a difference. That noise is measured:
at every generated position of all prompts, the difference between the two best tokens' logits in normal mode minus the same in exact mode; sigma is
the root mean square of these. A parting is a near-tie when its exact gap is at most 3 sigma.
Exit code 3 if a continuation parts at more than a near-tie. Needs numpy.
"""

import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy as np

from greedy_prompts import PROMPTS


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def start_server(binary, model, port, threads):
    server = subprocess.Popen([binary, "-m", model, "--port", str(port), "-t", threads, "-c", "4096", "--no-webui"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                if answer.status == 200:
                    return server
        except OSError:
            time.sleep(0.2)
    server.terminate()
    sys.exit("llama-server did not start")


def logits(args, ids, folder, exact):
    """[tokens, vocabulary]"""
    (folder / "ids.json").write_text(json.dumps(ids))
    subprocess.run([args.anedvd, "logits", args.model, "--threads", args.threads, "--ids-file", folder / "ids.json", "--out", folder / "out.npy", "--quiet"]
                   + (["--exact"] if exact else []), check=True, stdout=subprocess.DEVNULL)
    return np.load(folder / "out.npy")


def pair_noise(normal, exact):
    """For each position, how far the difference between the two best tokens moved."""
    rows = np.arange(len(exact))
    best, second = np.argpartition(exact, -2, axis=1)[:, -2:].T
    return (normal[rows, best] - normal[rows, second]) - (exact[rows, best] - exact[rows, second])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("anedvd")
    parser.add_argument("llama_server")
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--threads", default="2", help="of both programs; anedvd's numbers do not depend on it")
    parser.add_argument("--chat", action="store_true", help="put each prompt into the chat template")
    args = parser.parse_args()
    port = free_port()
    server = start_server(args.llama_server, args.model, port, args.threads)
    equal, partings, noise = 0, [], []
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for prompt in PROMPTS:
                text = prompt
                if args.chat:
                    text = post(f"http://127.0.0.1:{port}/apply-template", {"messages": [{"role": "user", "content": prompt}]})["prompt"]
                ids = json.loads(subprocess.run([args.anedvd, "tokenize", args.model, "--special", "--text", text],
                                                check=True, capture_output=True).stdout)
                peer = post(f"http://127.0.0.1:{port}/completion",
                            {"prompt": ids, "n_predict": args.tokens, "temperature": 0, "return_tokens": True, "cache_prompt": False,
                             "ignore_eos": False})["tokens"]
                ours = json.loads(subprocess.run(
                    [args.anedvd, "run", args.model, "--no-chat", "--prompt", text, "--temp", "0", "-n", str(args.tokens), "--json",
                     "--threads", args.threads],
                    check=True, capture_output=True).stdout)["ids"]
                # Row i chooses ours[i].
                normal, exact = (logits(args, ids + ours[:-1], folder, mode)[len(ids) - 1:] for mode in (False, True))
                noise.append(pair_noise(normal, exact))
                end = min(len(ours), len(peer))
                at = next((i for i in range(end) if ours[i] != peer[i]), None)
                if at is None:
                    equal += 1
                    print(f"equal {end:3} tokens  {prompt[:50]!r}", flush=True)
                    continue
                gap, normal_gap = (float(rows[at, ours[at]] - rows[at, peer[at]]) for rows in (exact, normal))
                partings.append(abs(gap))
                print(f"parts at {at:3}       {prompt[:50]!r}: ours {ours[at]}, peer {peer[at]}, exact gap {gap:+.3f}, normal gap {normal_gap:+.3f}",
                      flush=True)
    finally:
        server.terminate()
        server.wait()
    noise = np.concatenate(noise)
    sigma = float(np.sqrt(np.mean(noise**2)))
    beyond = sum(gap > 3 * sigma for gap in partings)
    print(f"{equal} of {len(PROMPTS)} equal; sigma {sigma:.3f} over {len(noise)} positions (largest {np.abs(noise).max():.3f}); "
          f"{sum(gap <= sigma for gap in partings)} partings within 1 sigma, {sum(gap <= 2 * sigma for gap in partings)} within 2, "
          f"{sum(gap <= 3 * sigma for gap in partings)} within 3, {beyond} beyond")
    sys.exit(3 if beyond else 0)


if __name__ == "__main__":
    main()
