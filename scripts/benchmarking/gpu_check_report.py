"""Markdown report of the check of a judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

Figures = dict[str, Any]


def publish(found: Figures, out: Path) -> int:
    """Print the report and write all figures as JSON; return 1 if anything failed."""
    out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(markdown(found))
    return 1 if any(word == "failed" for run in found["runs"] for _, word, _ in reasons(run)) else 0


def markdown(found: Figures) -> str:
    """Return the report as one Markdown block of at most 60 lines."""
    options = "".join(f" --{word}" for word in ("random-weights", "quick") if found.get(word))
    rows = RANDOM_ROWS if found.get("random-weights") else ROWS
    lines = [f"### gpu_check{options}", "", "| version | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in list(found["versions"].items())[:16]]
    runs: list[Figures] = found["runs"]
    lines += ["", f"| | {' | '.join(run['judge'] for run in runs)} |", "|---" * (len(runs) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(cell(run, path) for run in runs)} |" for name, *path in rows]
    lines += [
        f"- {run['judge']}{f', {step}' if step else ''}: {word}: {reason}"
        for run in runs
        for step, word, reason in reasons(run)
    ]
    return "\n".join(lines)


_MACHINE: Sequence[tuple[str, ...]] = (
    ("start, s", "start_seconds"),
    ("KV cache, tokens", "kv_tokens"),
    ("GPU memory, GiB", "memory", "gpu_memory_gib"),
    ("server memory, GiB", "memory", "server_memory_gib"),
    ("prefill, tokens/s", "speed", "prefill_tokens_per_s"),
    ("decode alone, tokens/s", "speed", "decode_tokens_per_s"),
    ("requests at once", "speed", "decode_at_once"),
    ("decode at once, tokens/s", "speed", "decode_at_once_tokens_per_s"),
)
"""Name of a row, and the keys of its figure."""
ROWS: Sequence[tuple[str, ...]] = (
    *_MACHINE,
    ("reports evaluated", "reports", "done"),
    ("calls failed", "reports", "calls_failed"),
    ("reports per hour", "reports", "reports_per_hour"),
    ("cached share of prompt tokens", "reports", "cached_share"),
    ("replies compared with a second run", "again", "replies"),
    ("of these equal, with log-probabilities", "again", "equal_share"),
    ("of these with the same text", "again", "same_text_share"),
    ("claims of known truth", "claims", "claims"),
    ("verdicts right", "claims", "right"),
    ("verdicts as on the CPU build", "claims", "recorded", "alike"),
    ("largest difference of P(yes)", "claims", "recorded", "largest_difference"),
)
RANDOM_ROWS: Sequence[tuple[str, ...]] = (
    ("parameters", "parameters"),
    *_MACHINE,
    ("peak memory of this process, GiB", "memory", "peak_gib"),
    ("tokens of a second prompt with the same beginning", "prefix", "prompt_tokens"),
    ("of these from the cache", "prefix", "cached_tokens"),
    ("share of the time outside the model", "client", "share"),
    ("reply under a JSON schema", "schema", "reply"),
    ("error if memory runs out", "out_of_memory", "error"),
    ("calls answered after it", "out_of_memory", "answered"),
)


def cell(run: Figures, path: Sequence[str]) -> str:
    """Return a figure for the table; a dash if it was not measured."""
    figures = run
    for key in path[:-1]:
        figures = cast("Figures", figures.get(key, {}))
    value: object = figures.get(path[-1])
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[float]", value)))
    return value.replace("|", "\\|") if isinstance(value, str) else f"{value:,}"


def reasons(run: Figures) -> list[tuple[str, str, str]]:
    """Return step, `failed` or `skipped`, and the reason, for everything that was not measured."""
    parts: list[tuple[str, Figures]] = [("", run)]
    for name, figures in run.items():
        if isinstance(figures, dict):
            part = cast("Figures", figures)
            parts += [(name, part), (name, part.get("recorded", {}))]
    return [
        (name, word, part[word]) for name, part in parts for word in ("failed", "skipped") if word in part
    ]
