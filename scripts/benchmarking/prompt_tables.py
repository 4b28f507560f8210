"""The tables of docs/appendix/prompts.md: what was measured, by which judge, of which prompt.

Invariant: a row is there because it was measured, and says by a digest of which prompt; measuring a prompt again with
the same judge replaces its row and leaves all others as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scripts.benchmarking.prompt_rows import Kind

DOCUMENT = "docs/appendix/prompts.md"
Row = dict[str, Any]
"""Row that the benchmark prints for one prompt."""


class Column(NamedTuple):
    """One column of a table."""

    title: str
    cell: Callable[[Row], str]


def number(key: str, places: int = 2) -> Callable[[Row], str]:
    """Return a figure with so many places; a dash where it does not exist."""
    return lambda row: "–" if row[key] is None else f"{row[key]:.{places}f}"


def _computed(row: Row) -> str:
    if row["computed"] is None:
        return f"about {row['shared_once'] / row['asked']:.0f}"
    return f"{row['computed'] / row['asked']:.0f}"


def per_asked(key: str, places: int) -> Callable[[Row], str]:
    """Return a count over what was asked about."""
    return lambda row: f"{row[key] / row['asked']:.{places}f}"


def text(form: str) -> Callable[[Row], str]:
    """Keys in a form."""
    return lambda row: form.format_map(row)


_HEAD = (
    Column("prompt", text("`{prompt}`")),
    Column("judge", text("{judge}")),
    Column("digest", text("`{digest}`")),
    Column("answered", text("{n} of {asked}")),
)
_TAIL = (
    Column("prompt tokens", per_asked("prompt_tokens", 0)),
    Column("computed", _computed),
    Column("generated", per_asked("generated", 1)),
)
COLUMNS: Mapping[Kind, tuple[Column, ...]] = {
    "verification": (
        *_HEAD,
        Column("AUC", number("auc")),
        Column("accuracy", number("accuracy")),
        Column("fitted", number("fitted_accuracy")),
        Column("caught", number("caught")),
        Column("called wrong", number("called_wrong")),
        *_TAIL,
    ),
    "extraction": (
        *_HEAD,
        Column("recall", number("recall")),
        Column("recall, uncited", number("recall_uncited")),
        Column("precision", number("precision")),
        Column("F1", number("f1")),
        *_TAIL,
    ),
    "scoring": (
        *_HEAD,
        Column("perturbed below", number("below")),
        Column("level", number("level")),
        Column("above", number("above")),
        Column("mean fall", number("fall")),
        *_TAIL,
    ),
}
_PROMPT, _JUDGE, _DIGEST = 0, 1, 2


def markers(kind: Kind) -> tuple[str, str]:
    """Between which a table stands."""
    return f"<!-- measured: {kind} -->\n", "<!-- end -->"


def table_of(document: str, kind: Kind) -> list[list[str]]:
    """Return the cells of the rows that stand in a document.

    Raises:
        ValueError: the document has no such table.
    """
    before, after = markers(kind)
    found = re.search(re.escape(before) + "(.*?)" + re.escape(after), document, re.DOTALL)
    if found is None:
        raise ValueError(f"no table between {before.strip()} and {after}")
    lines = [line for line in found[1].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def with_rows(document: str, kind: Kind, rows: Sequence[Row], order: Sequence[str]) -> str:
    """Return a document with these rows in its table, each in the place of an older one of the same prompt and judge.

    Args:
        document: its text.
        kind: which table.
        rows: as the benchmark prints them.
        order: names of prompts, in the order of the table; judges in the order of their names.

    Raises:
        ValueError: the document has no such table.
    """
    columns = COLUMNS[kind]
    made = [[column.cell(row) for column in columns] for row in rows]
    kept = {(cells[_JUDGE], cells[_PROMPT].strip("`")): cells for cells in [*table_of(document, kind), *made]}
    known = {name: place for place, name in enumerate(order)}
    names = sorted(kept, key=lambda key: (key[0], known.get(key[1], len(known)), key[1]))
    head = f"| {' | '.join(column.title for column in columns)} |\n" + "|---" * len(columns) + "|\n"
    table = head + "".join(f"| {' | '.join(kept[name])} |\n" for name in names)
    before, after = markers(kind)
    start = document.index(before) + len(before)
    return document[:start] + table + document[document.index(after, start) :]


def write_rows(path: Path, kind: Kind, rows: Sequence[Row], order: Sequence[str]) -> None:
    """`with_rows` on a file."""
    path.write_text(with_rows(path.read_text(encoding="utf-8"), kind, rows, order), encoding="utf-8")


def stale(document: str, kind: Kind, digests: Mapping[str, str]) -> Iterator[str]:
    """Return a line for each row whose prompt has changed since it was measured."""
    for cells in table_of(document, kind):
        name, judge, digest = cells[_PROMPT].strip("`"), cells[_JUDGE], cells[_DIGEST].strip("`")
        if name not in digests:
            yield f"{kind}: there is no prompt `{name}`; delete its row"
        elif digests[name] != digest:
            yield (
                f"{kind}: `{name}` was measured as {digest} and is {digests[name]} now; run "
                f"scripts/bench_prompts --judge {judge} --rows {kind}.{name} --table"
            )
