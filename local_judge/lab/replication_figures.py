"""Published figures next to the figures of this program.

A figure is equal if it can be rounded to the published one:   |ours - published| <= 0.5 * 10^-decimals
A figure over a part of the reports is not compared: its difference is shown, and it is neither equal nor different.

Invariant: a figure that the runs do not have stays empty and is not counted as different.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from local_judge.base.errors import RunError
from local_judge.base.model import Frozen
from local_judge.base.rows import parse_object, read_text, row_of
from local_judge.lab.experiments.curves import Results
from local_judge.lab.experiments.run import RESULTS
from local_judge.lab.replication import PRINTED, ROW, Column, Replication
from local_judge.reporting.groups import group_scores
from local_judge.runs.results.attributes import open_runs
from local_judge.runs.storage.store import MANIFEST

CHANGE = "change"
"""Row of a curve that has its relative change from the first condition to the last, in percent."""
EXACT = 1e-9
"""Tolerance of an equal figure, for the error of floating-point numbers."""


class Figure(Frozen):
    """One figure of a table."""

    row: str
    column: str
    published: float | None
    ours: float | None
    difference: float | None
    """Ours minus the published one; None if one of them is missing."""
    equal: bool | None
    """Flag: ours rounds to the published one; None if one of them is missing, or ours is over a part of the reports."""
    n_values: int | None = None
    """Number of reports behind ours, or of pairs for a change; of the score with the fewest if several are averaged.
    None for a figure that follows from published ones."""
    n_reports: int | None = None
    n_failed: int = 0
    """Number of reports, or of units of a curve, that are missing or in part through failures."""
    incomplete: bool = False
    """Flag: ours is a statistic, and answers of a judge are missing."""
    decimals: int
    """Decimals of the published figure."""

    @property
    def partial(self) -> bool:
        """True if ours is over a part of the reports, or rests on a part of their answers."""
        lacking = self.n_values != self.n_reports or self.n_failed > 0 or self.incomplete
        return self.ours is not None and lacking


def compare(file: Replication, out: Path, complete: bool = True) -> list[Figure]:
    """Return all figures that are computed, by row.

    Args:
        file: the replication.
        out: output folder of its commands.
        complete: False if a command left answers of a judge missing.

    Raises:
        RunError: the folder has no run, or the runs lack a score of the file, or the command of statistics did not
            print a number that the file names.
    """
    values = {**_scores(file, out), **_curves(file, out), **_statistics(file, out, complete)}
    return [
        _figure(file, row, name, column, values)
        for row in file.rows
        for name, column in file.columns.items()
        if column.n_rules
    ]


class Value(NamedTuple):
    """Value of a score, and what it rests on, as in `Figure`."""

    value: float | None
    n_values: int | None
    n_reports: int | None
    n_failed: int = 0
    incomplete: bool = False


Values = Mapping[tuple[str, str], Value]
"""Values by row, as the runs name it, and by score; statistics by row, as the file names it, and by place."""


def _figure(file: Replication, row: str, name: str, column: Column, values: Values) -> Figure:
    printed = dict(zip(file.columns, file.rows[row], strict=True))
    key = file.names.get(row, row)
    found = [values.get((key, one)) for one in (*column.score, column.curve) if one]
    if column.statistic:
        found = [values.get((row, column.statistic))]
    known = [one for one in found if one is not None]
    if found:
        ours = _mean([one and one.value for one in found])
    elif column.mean:
        ours = _mean([printed[one] for one in column.mean])
    else:
        assert column.ratio is not None
        above, below = (printed[one] for one in column.ratio)
        ours = None if above is None or not below else above / below
    ours = None if ours is None else _finite(ours * column.times)
    published = printed[name]
    least = min(known, key=lambda one: one.n_values or 0, default=None)
    decimals = file.decimals if column.decimals is None else column.decimals
    figure = Figure(
        row=row,
        column=name,
        published=published,
        ours=ours,
        difference=None if ours is None or published is None else _finite(ours - published),
        equal=None,
        n_values=least and least.n_values,
        n_reports=least and least.n_reports,
        n_failed=max((one.n_failed for one in known), default=0),
        incomplete=any(one.incomplete for one in known),
        decimals=decimals,
    )
    if figure.difference is None or figure.partial:
        return figure
    return figure.model_copy(update={"equal": abs(figure.difference) <= 0.5 * 10**-decimals + EXACT})


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _scores(file: Replication, out: Path) -> Values:
    wanted = list(dict.fromkeys(one for column in file.columns.values() for one in column.score))
    if not wanted:
        return {}
    folders = sorted(path.parent for path in out.glob(f"**/{MANIFEST}"))
    if not folders:
        raise RunError(f"{out}: contains no run")
    found = group_scores(open_runs(folders), [file.by], file.profile, wanted)
    return {
        (group.key[file.by] or "", name): Value(
            cell.value, cell.n_values, cell.n_reports, cell.n_failed + cell.n_in_part
        )
        for group in found.groups
        for name, cell in zip(wanted, group.cells, strict=True)
        if cell is not None
    }


def _curves(file: Replication, out: Path) -> Values:
    wanted = {column.curve for column in file.columns.values() if column.curve}
    if not wanted:
        return {}
    return dict(_points(wanted, out / RESULTS))


def _points(wanted: set[str], path: Path) -> Iterator[tuple[tuple[str, str], Value]]:
    results = row_of(Results, parse_object(read_text(path), str(path)), str(path))
    labels = {one.id: one.label for one in results.design.conditions}
    for curve in results.curves:
        name = f"{curve.protocol}:{curve.path}"
        if name not in wanted or curve.judge not in (None, results.judges[0]):
            continue
        for point in curve.points:
            value = Value(point.value, point.n, point.n_reports, point.n_failed)
            yield (labels[point.condition], name), value
        pairs = curve.pairs
        if pairs is not None and pairs.relative_change is not None:
            yield (CHANGE, name), Value(100 * pairs.relative_change, pairs.n, pairs.of, 0)


def _statistics(file: Replication, out: Path, complete: bool) -> Values:
    wanted = [
        (row, column.statistic)
        for row, figures in file.rows.items()
        for column, figure in zip(file.columns.values(), figures, strict=True)
        if column.statistic and figure is not None
    ]
    if not wanted:
        return {}
    path = out / PRINTED
    printed = parse_object(read_text(path), str(path))
    return {
        (row, place): Value(
            _number_at(printed, place, file.names.get(row, row), path), None, None, 0, not complete
        )
        for row, place in wanted
    }


BELOW = " > "
"""Separates the steps of a row that is a place of several steps."""


def _number_at(printed: dict[str, Any], place: str, row: str, path: Path) -> float | None:
    """Return the number at a place; None if it is null or the row is not there. Raises RunError: there is no number."""
    found: object = printed
    steps = [
        (name, step)
        for name in place.split(".")
        for step in (row.split(BELOW) if name == ROW else [name.replace(ROW, row)])
    ]
    for name, step in steps:
        below = _below(found)
        if step not in below:
            if ROW in name:
                return None
            there = ", ".join(key for key in below if not key.isdigit())
            raise RunError(f"{path}: no {step!r} of {place!r}" + (f"; there are {there}" if there else ""))
        found = below[step]
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise RunError(f"{path}: {place!r} is not a number")
    return float(found)


def _below(found: object) -> dict[str, object]:
    """Return what is below an object or a list, by key, or by the `id`, `score` or position of an element."""
    if isinstance(found, dict):
        return cast("dict[str, object]", found)
    if not isinstance(found, list):
        return {}
    below: dict[str, object] = {}
    for n, one in enumerate(cast("list[object]", found)):
        below[str(n)] = one
        keys = cast("dict[str, object]", one) if isinstance(one, dict) else {}
        name = keys.get("id", keys.get("score"))
        if isinstance(name, str):
            below[name] = keys
    return below
