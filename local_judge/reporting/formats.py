"""Formats in which `export` writes the results of a run, besides the files of published projects.

Invariants: all formats have the same numbers; texts of reports, pages and judges are escaped by the rules of the
format: CSV cells that a spreadsheet would read as a formula get an apostrophe in front. No file is overwritten.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.base.errors import UserError, optional_module, os_errors
from local_judge.base.output import Table, count
from local_judge.base.rows import harmless_cell
from local_judge.reporting.exports import check_new
from local_judge.reporting.inspect_log import write_inspect_log
from local_judge.reporting.leaderboard import as_html, as_latex, as_markdown
from local_judge.reporting.run_tables import leaderboard
from local_judge.runs.results.tables import (
    COLUMNS,
    Row,
    TableName,
    Texts,
    claim_rows,
    item_rows,
    joined,
    report_rows,
    score_rows,
    system_rows,
)
from local_judge.runs.storage.rescoring import AgreementRecord, load_agreement
from local_judge.runs.storage.seal import modifications
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Profile
from local_judge.stats.estimate import Estimate

Written = dict[str, int]
"""Number of rows, systems or numbers of each file."""

SCORES, SYSTEMS, AGREEMENT = "scores.csv", "systems.csv", "agreement.csv"

_FIGURES = ("alike", "alike_pairs", "difference", "kappa", "alpha")
_AGREEMENT = (
    *("protocol", "version", "metric", "scale", "judges", "n_reports", "n_items", "n_missing"),
    *(f"{name}_{part}" for name in _FIGURES for part in ("value", "n", "low", "high", "reason")),
    "seed",
)


class Format(NamedTuple):
    """One format of results."""

    what: str
    """Contents, in a few words."""
    noun: str
    """Unit that is counted."""
    write: Callable[[RunStore, Path, str | None, Profile], Written]
    """Function that writes a run to a folder, by one of several judges, with the formulas of a profile."""

    def unit(self, number: int) -> str:
        """Return the number with the unit."""
        return count(number, self.noun)


def export_results(
    store: RunStore, out: Path, format: str, judge: str | None = None, profile: Profile = "paper"
) -> Written:
    """Write the results of a run to `out` in one of `FORMATS`.

    Args:
        store: a finished run.
        out: an empty or new folder.
        format: name of the format.
        judge: one of several judges; None for the ensemble's scores, and for the claims and items of all judges.
        profile: formulas of the scores.

    Raises:
        RunError: the run is not finished or was modified, it has no such judge, or `out` is not empty or cannot be
            written.
        UserError: a package of the format's extra is missing.
    """
    check_new(out)
    return FORMATS[format].write(store, out, judge, profile)


def export_csv(store: RunStore, out: Path, judge: str | None = None, profile: Profile = "paper") -> Written:
    """Write `scores.csv`, and systems, claims, items and agreement where the run has such rows."""
    check_new(out)
    tables: dict[str, tuple[Sequence[str], list[Row]]] = {
        f"{name}.csv": (tuple(COLUMNS[name]), rows)
        for name, rows in _tables(store, judge, profile).items()
        if name != "reports"
    }
    agreement = load_agreement(store) if judge is None else []
    tables[AGREEMENT] = (_AGREEMENT, [_agreement(row) for row in agreement])
    written = {name: table for name, table in tables.items() if table[1] or name == SCORES}
    for name, (columns, rows) in written.items():
        RunStore(out).write_text(name, _csv(columns, rows))
    return {name: len(rows) for name, (_, rows) in written.items()}


def _tables(store: RunStore, judge: str | None, profile: Profile) -> dict[TableName, list[Row]]:
    return {
        "scores": score_rows(store, profile, judge),
        "systems": system_rows(store, profile, judge),
        "claims": claim_rows(store, judge),
        "items": item_rows(store, judge),
        "reports": report_rows(store),
    }


def _agreement(row: AgreementRecord) -> dict[str, Any]:
    figures: dict[str, Estimate | None] = {name: getattr(row, name) for name in _FIGURES}
    flat = {
        f"{name}_{part}": None if figure is None else getattr(figure, part)
        for name, figure in figures.items()
        for part in ("value", "n", "low", "high", "reason")
    }
    missing = "; ".join(f"{judge} {n}" for judge, n in row.n_missing.items())
    kept = row.model_dump(exclude={*_FIGURES, "judges", "n_missing"})
    return {**kept, **flat, "judges": "; ".join(row.judges), "n_missing": missing}


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO(newline="")
    # A file of numbers goes from hand to hand without what stood beside it.
    mark = {"modified": "; ".join(modifications())} if modifications() else {}
    writer = csv.DictWriter(text, (*columns, *mark), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in {**row, **mark}.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return harmless_cell(joined(value))


def _parquet(store: RunStore, out: Path, judge: str | None, profile: Profile) -> Written:
    """Write each table to a Parquet file, with the type of each column."""
    pa, parquet = (optional_module(name, "Parquet", "frames") for name in ("pyarrow", "pyarrow.parquet"))
    tables = _tables(store, judge, profile)
    kinds: dict[type, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    marks = {"modified": "; ".join(modifications())} if modifications() else None
    with os_errors(UserError, f"{out}: cannot be written"):
        out.mkdir(parents=True, exist_ok=True)
        for name, rows in tables.items():
            fields = [
                pa.field(column, pa.list_(pa.string()) if kind == Texts else kinds[kind])
                for column, kind in COLUMNS[name].items()
            ]
            table = pa.Table.from_pylist(rows, schema=pa.schema(fields, metadata=marks))
            parquet.write_table(table, out / f"{name}.parquet")
    return {f"{name}.parquet": len(rows) for name, rows in tables.items()}


def _leaderboard(
    name: str, text: Callable[[Table, Sequence[str]], str]
) -> Callable[[RunStore, Path, str | None, Profile], Written]:
    def write(store: RunStore, out: Path, judge: str | None, profile: Profile) -> Written:
        table, notes = leaderboard(store, profile, judge)
        marks = [f"modified: {line}" for line in modifications()]
        RunStore(out).write_text(name, text(table, [*notes, *marks]))
        return {name: len(table.lines)}

    return write


FORMATS: Mapping[str, Format] = {
    "csv": Format("scores, systems, claims, items and agreement as CSV", "row", export_csv),
    "parquet": Format("the same tables as Parquet (extra `frames`)", "row", _parquet),
    "markdown": Format(
        "the leaderboard as a Markdown table", "system", _leaderboard("leaderboard.md", as_markdown)
    ),
    "latex": Format("the leaderboard as a LaTeX table", "system", _leaderboard("leaderboard.tex", as_latex)),
    "html": Format("the leaderboard as an HTML table", "system", _leaderboard("leaderboard.html", as_html)),
    "inspect": Format("a log that `inspect view` opens", "sample", write_inspect_log),
}
