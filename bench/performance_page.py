#!/usr/bin/env python3
"""Puts what bench/compare_llamacpp.py --json wrote into docs/performance.md, between its two marks, and draws docs/performance.svg.

    python3 bench/performance_page.py FOUND.json [FOUND.json …]
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- table: bench/performance_page.py -->", "<!-- end of table -->"
DRAWN = ("answer", "answer at depth 512", "4 answers", "prompt 32", "prompt 128", "prompt 512")


def figures(value):
    return f"{value:,.3g}" if value < 1000 else f"{round(value, -1 if value < 10000 else -2):,.0f}"


def entry(row):
    if row is None:
        return ""
    if row["cell"] == "limits":
        return f"{row['read_gb_s']:.0f} GB/s {share(row['answer_share'])}, {row['int8_gop_s']:.0f} Gop/s {share(row['prompt_share'])}"
    return f"**{row['ratio']:.2f}** {figures(row['ours'])} : {figures(row['peer'])}"


def share(value):
    return f"({100 * value:.0f} %)" if value else ""


def table(found):
    """A table for each number of threads: a row a cell, a column a file."""
    cells = {row["cell"] for row in found["rows"]}
    sides = {(row["model"], row["threads"]) for row in found["rows"]}
    blank = "" if len(found["rows"]) == len(cells) * len(sides) else " blank: not measured."
    rounds = found["rounds"] if found["rounds"] == found["least_rounds"] else f"{found['least_rounds']} to {found['rounds']}"
    lines = [f"{found['processor']}, {found['cores']} cores, {found['date']}, rounds a cell: {rounds}. **Ratio**, then anedvd : llama.cpp, the best of each side. Answers and prompts in tok/s; "
             f"of time and memory less is better.{blank} Limits: reading and multiplying in the same minutes, and the share that the answer and the prompt of 512 reach."]
    for threads in sorted({row["threads"] for row in found["rows"]}, reverse=True):
        rows = [row for row in found["rows"] if row["threads"] == threads]
        models = list(dict.fromkeys(row["model"] for row in rows))
        cells = list(dict.fromkeys(row["cell"] for row in rows))
        units = {row["cell"]: row.get("unit", "") for row in rows}
        lines += ["", f"| {threads} thread{'s' if threads > 1 else ''} | {' | '.join(models)} |", f"| --- |{' --- |' * len(models)}"]
        for cell in cells:
            of = {row["model"]: row for row in rows if row["cell"] == cell}
            unit = f", {units[cell]}" if units[cell] in ("s", "MB") else ""
            lines.append(f"| {cell}{unit} | {' | '.join(entry(of.get(model)) for model in models)} |")
    return "\n".join(lines)


def merged(paths):
    """The rows of several runs; a later file's row takes the place of an earlier one's."""
    runs = [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]
    rows = {(row["model"], row["threads"], row["cell"]): row for run in runs for row in run["rows"]}
    rounds = [run["rounds"] for run in runs]
    return {**runs[-1], "rounds": max(rounds), "least_rounds": min(rounds), "rows": list(rows.values())}


def drawing(found):
    """Bars of the ratios, a group a file; the line at 1 is llama.cpp."""
    rows = [row for row in found["rows"] if row["cell"] in DRAWN and row["threads"] == max(r["threads"] for r in found["rows"])]
    models = list(dict.fromkeys(row["model"] for row in rows))
    left, scale, bar = 330, 70, 14
    height = 30 + sum((sum(row["model"] == model for row in rows) + 2) * (bar + 4) for model in models)
    parts, y = [], 24
    for model in models:
        parts.append(f'<text x="8" y="{y + 11}" class="name">{model}</text>')
        y += bar + 6
        for row in (row for row in rows if row["model"] == model):
            parts.append(f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{row["cell"]}</text>'
                         f'<rect x="{left}" y="{y}" width="{row["ratio"] * scale:.0f}" height="{bar}"/>'
                         f'<text x="{left + row["ratio"] * scale + 6:.0f}" y="{y + 11}">{row["ratio"]:.2f}</text>')
            y += bar + 4
        y += bar
    one = left + scale
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height}" font-family="sans-serif" font-size="12">'
            '<style>text{fill:#555}.name{font-weight:bold}rect{fill:#3b7a9e}@media(prefers-color-scheme:dark){text{fill:#bbb}}</style>'
            f'<text x="{one}" y="14" text-anchor="middle">llama.cpp = 1</text>{"".join(parts)}'
            f'<path d="M{one} 18V{height}" stroke="#c33" fill="none"/></svg>\n')


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    found = merged(sys.argv[1:])
    page = ROOT / "docs" / "performance.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    (ROOT / "docs" / "performance.svg").write_text(drawing(found), encoding="utf-8")


if __name__ == "__main__":
    main()
