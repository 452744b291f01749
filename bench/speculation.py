#!/usr/bin/env python3
"""How much guessing speeds answers up, and that it changes none of them.

Runs the same greedy prompts with and without guesses, interleaved, several times; takes the fastest of each. The prompts are a code edit, a
summary with quotations and free prose.

    bench/speculation.py ANEDVD MODEL [--rounds 3] [--device cpu|sim] [--draft MODEL] [--tokens 200]
"""
import argparse
import json
import subprocess

CODE = '''def area(width, height):
    """Area of a rectangle in square metres."""
    if width < 0 or height < 0:
        raise ValueError("a side is negative")
    return width * height


def volume(width, height, depth):
    """Volume of a box in cubic metres."""
    if width < 0 or height < 0 or depth < 0:
        raise ValueError("a side is negative")
    return width * height * depth


def mean(values):
    """Arithmetic mean of a list of numbers."""
    if not values:
        raise ValueError("no values")
    return sum(values) / len(values)
'''
ARTICLE = (
    "The lighthouse on the northern cape was built in 1874 by the engineer Maria Holm. She wrote in her diary: \"The sea took the first tower "
    "in one night, and it will not take the second.\" The second tower has walls of granite two metres thick. Its lamp burned whale oil until "
    "1911, then petroleum, and since 1958 it has run on electricity. The keeper Jonas Berg, who lived there for forty years, said: \"A light "
    "that is seen by nobody is still a light.\" Today the tower is a museum, open from May to September."
)
PROMPTS = {
    "code edit": "Repeat this Python file exactly, but rename the function mean to average:\n\n" + CODE,
    "summary with quotes": "Summarise this text and quote both persons word for word:\n\n" + ARTICLE,
    "free prose": "Write a short story about a fox who learns to sail.",
}


def run(args, prompt, speculate):
    words = [args.anedvd, "run", args.model, prompt, "--temp", "0", "-n", str(args.tokens), "--json", "--device", args.device]
    words += ["--speculate", "0"] if not speculate else []
    words += ["--draft", args.draft] if speculate and args.draft else []
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("anedvd")
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--draft")
    args = parser.parse_args()
    print("| text | tokens | drafted | accepted | tok/s without | with | ratio |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name, prompt in PROMPTS.items():
        best, drafted, accepted = {False: 0.0, True: 0.0}, 0, 0
        for _ in range(args.rounds):
            results = {speculate: run(args, prompt, speculate) for speculate in (False, True)}
            if results[False]["ids"] != results[True]["ids"]:
                raise SystemExit(f"{name}: guesses changed the answer")
            for speculate, result in results.items():
                rate = result["decode_tok_s"]
                if "ane" in result:
                    rate = result["completion_tokens"] / (result["ane"]["all"]["simulated_ms"] / 1e3)
                best[speculate] = max(best[speculate], rate)
            drafted, accepted = (results[True]["speculation"][key] for key in ("drafted", "accepted"))
        count = results[True]["completion_tokens"]
        print(f"| {name} | {count} | {drafted} | {accepted} | {best[False]:.1f} | {best[True]:.1f} | {best[True] / best[False]:.2f} |")


if __name__ == "__main__":
    main()
