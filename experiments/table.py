"""
Print results as Markdown: the ladder, and the parameters of each level.

    python experiments/table.py eval.json [fit.json]
"""

import json
import sys
from pathlib import Path

COLUMNS = {
    "ppl": "PPL",
    "ppl_full_token": "PPL full token",
    "ppl_byte": "PPL byte",
    "ppl_macro": "PPL macro",
    "top1": "top-1",
    "top5": "top-5",
    "top1_full_token": "top-1 full",
    "helped": "helped",
    "hurt": "hurt",
}


def ladder(result: dict) -> str:
    lines = ["| | " + " | ".join(COLUMNS.values()) + " | Δ PPL to the row above [95 %] |"]
    lines.append("|---" * (len(COLUMNS) + 2) + "|")
    for row in result["rows"]:
        change = ""
        if row["difference"] is not None:
            low, high = row["interval"]
            change = f"{row['difference']:+.4f} [{low:+.4f}, {high:+.4f}]"
        cells = [f"{row[name]:.3f}" for name in COLUMNS]
        lines.append(f"| {row['name']} | " + " | ".join(cells) + f" | {change} |")
    settings = result["settings"]
    lines.append("")
    lines.append(
        f"{result['positions']:,} positions of {result['documents']} documents, "
        f"k = {settings['k']}, coverage {result['rows'][0]['coverage']:.3f}, "
        f"seed {settings['seed']}, model {settings['fingerprint'][:12]}."
    )
    return "\n".join(lines)


def parameters(result: dict) -> str:
    lines = ["| calibration | λ | level | w | b |", "|---|---|---|---|---|"]
    for row in result["parameters"]:
        cells = (row["calibration"], f"{row['lam']:.3f}", row["level"])
        lines.append(f"| {' | '.join(cells)} | {row['w']:.4f} | {row['b']:+.3f} |")
    lines.append("")
    lines.append(f"{result['positions']:,} positions, coverage {result['coverage']:.3f}.")
    return "\n".join(lines)


def main(paths: list[str]) -> None:
    for path in paths:
        result = json.loads(Path(path).read_text())
        print(f"\n**{Path(path).name}**\n")
        print(
            ladder(result)
            if "rows" in result and "parameters" not in result
            else parameters(result)
        )


if __name__ == "__main__":
    main(sys.argv[1:])
