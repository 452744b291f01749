#!/usr/bin/env python3
"""Puts what bench/compare_llamacpp.py --json wrote into docs/performance.md, between its two marks, and draws docs/performance.svg.

    python3 bench/performance_page.py FOUND.json
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- table: bench/performance_page.py -->", "<!-- end of table -->"
DRAWN = ("answer", "answer at depth 512", "4 answers", "prompt 32", "prompt 128", "prompt 512")


def figures(value, unit):
    text = f"{value:,.3g}" if value < 1000 else f"{round(value, -1 if value < 10000 else -2):,.0f}"
    return f"{text} {unit}"


def table(found):
    lines = [f"{found['processor']}, {found['cores']} cores, {found['date']}, {found['rounds']} rounds a cell, the best of each side.", "",
             "| file | threads | cell | anedvd | llama.cpp | ratio |", "| --- | --- | --- | --- | --- | --- |"]
    for row in found["rows"]:
        if row["cell"] == "limits":
            shares = [f"{100 * row[key]:.0f} % of the {words}" for key, words in (("answer_share", "bandwidth by the answer"), ("prompt_share", "int8 rate by the prompt"))
                      if row[key]]
            lines.append(f"| {row['model']} | {row['threads']} | limits | {row['read_gb_s']:.0f} GB/s, {row['int8_gop_s']:.0f} Gop/s | {', '.join(shares)} | |")
            continue
        of = {"s": " of the time", "MB": " of the memory"}.get(row["unit"], "")
        lines.append(f"| {row['model']} | {row['threads']} | {row['cell']} | {figures(row['ours'], row['unit'])} | {figures(row['peer'], row['unit'])} | "
                     f"{row['ratio']:.2f}{of} |")
    return "\n".join(lines)


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
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    page = ROOT / "docs" / "performance.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    (ROOT / "docs" / "performance.svg").write_text(drawing(found), encoding="utf-8")


if __name__ == "__main__":
    main()
