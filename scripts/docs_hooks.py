"""Hooks of the documentation site, which fill pages with what the code already says.

A line that contains only a link to a model, such as ``[`Claim`](../local_judge/claims/model.py)``, becomes a table of
its fields. A comment with a name of `GENERATED`, such as `<!-- commands -->`, becomes what its function returns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from local_judge.lab.qualification.probes import sensitivity_probes
from local_judge.ledger.database import TABLES
from local_judge.protocols.deer.rubric.load import label_of, load_rubric
from scripts.command_reference import reference
from scripts.field_tables import field_table

FENCE = re.compile(r"^(\s*```\w+) .*$", re.MULTILINE)
MODEL = re.compile(r"^\[`(\w+)`\]\((?:\.\./)+((?:local_judge|serving|indexes)/[\w/]+)\.py\)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in what the code says; remove what follows the language of a code block.

    The rest of that line says how tests check the block.
    """
    filled = MODEL.sub(lambda found: field_table(found[2].replace("/", "."), found[1]), markdown)
    for name, generate in GENERATED.items():
        mark = f"<!-- {name} -->"
        if mark in filled:
            filled = filled.replace(mark, generate())
    return FENCE.sub(r"\1", filled)


def _rubric() -> Iterator[str]:
    for dimension, items in groupby(load_rubric().items(), key=lambda row: row[0][0]):
        yield f"\n### {label_of(dimension)}\n\n| item | text |\n|---|---|"
        for path, item in items:
            yield f"| `{'.'.join(path[1:])}` | {item.text} |"


def _probes() -> Iterator[str]:
    yield "| probe | score | flaw | should | reason |\n|---|---|---|---|---|"
    for name, installed in sensitivity_probes().items():
        for one in installed.probe.expectations:
            should = "fall" if one.truth < 0 else "not rise"
            yield f"| `{name}` | `{one.path}` | `{one.flaw}` | {should} | {one.reason} |"


GENERATED: Mapping[str, Callable[[], str]] = {
    "commands": reference,
    "ledger tables": lambda: f"```sql\n{TABLES.strip()}\n```",
    "rubric items": lambda: "\n".join(_rubric()),
    "sensitivity probes": lambda: "\n".join(_probes()),
}
"""Parts of pages that are written from the code, by the name in their comment."""
