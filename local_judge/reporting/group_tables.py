"""Tables of scores and labels by groups of reports.

Invariant: a score is printed with its bounds, and a mean with the number of reports that have a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from local_judge.base.model import Frozen
from local_judge.base.output import NONE, Table, shorten
from local_judge.claims.model import ClaimSet
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.reporting.groups import MEAN_OF, Cell, Column, Groups
from local_judge.reporting.summary import score_lines, score_notes
from local_judge.runs.results.attributes import Entry, Key, OpenRun
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.manifest import one_judge_of, protocols_of
from local_judge.runs.storage.records import CaseRecord
from local_judge.terminal import safe


class LabelCounts(Frozen):
    """The labels of one kind in one group."""

    key: dict[str, str | None]
    counts: dict[str, int]
    """Number of decisions by label, with 0 for labels that only other groups have."""
    n_without: int
    """Decisions without an answer."""

    @property
    def n(self) -> int:
        """Decisions that have a label."""
        return sum(self.counts.values())


class Labels(Frozen):
    """The labels of one kind in all groups."""

    kind: str
    """`claim type`, `source status`, `verdict`, or the protocol and its name of the decision."""
    groups: tuple[LabelCounts, ...]


def label_counts(
    runs: Sequence[OpenRun], by: Sequence[str], groups: Mapping[Key, Sequence[Entry]]
) -> tuple[Labels, ...]:
    """The labels of the reports that were evaluated, of all runs together.

    Args:
        runs: finished runs.
        by: names of the attributes.
        groups: their reports, as `runs.attributes.groups_of` gives them.

    Raises:
        RunError: a run has several judges and none is chosen, or findings are missing.
    """
    opened = {run.name: run for run in runs}
    judges = {run.name: one_judge_of(run.store, run.judge, "labels") for run in runs}
    loaded = {run.name: [load_protocol(name) for name in protocols_of(run.store)] for run in runs}
    counted: dict[str, dict[Key, Counter[str | None]]] = {}
    for key, own in groups.items():
        for one in own:
            if one.record.status == "done":
                found = _labels(opened[one.run], one.record, judges[one.run], loaded[one.run])
                for kind, label in found:
                    counted.setdefault(kind, {}).setdefault(key, Counter())[label] += 1
    return tuple(_kind(kind, by, list(groups), found) for kind, found in counted.items())


def _labels(
    run: OpenRun, record: CaseRecord, judge: str | None, protocols: Sequence[AnyProtocol]
) -> Iterator[tuple[str, str | None]]:
    """Each label of a report with its kind; None for a decision without an answer."""
    claims = run.store.find_item(claims_file(judge), record.key, ClaimSet)
    if claims is not None:
        yield from (("claim type", claim.type) for claim in claims.claims)
        yield from (("source status", source.status) for source in claims.sources)
        yield from (("verdict", verdict.label) for verdict in claims.verdicts)
    for protocol in protocols:
        findings = run.store.read_item(
            findings_file(protocol.name, judge), record.key, protocol.findings_type
        )
        for one in protocol.decisions(findings):
            if one.scale == "nominal":
                label = None if one.value is None else str(one.value)
                yield f"{protocol.name}: {one.metric}", label


def _kind(
    kind: str, by: Sequence[str], keys: Sequence[Key], found: Mapping[Key, Counter[str | None]]
) -> Labels:
    names = sorted({name for counts in found.values() for name in counts if name is not None})
    return Labels(
        kind=kind,
        groups=tuple(
            LabelCounts(
                key=dict(zip(by, key, strict=True)),
                counts={name: found.get(key, Counter())[name] for name in names},
                n_without=found.get(key, Counter())[None],
            )
            for key in keys
        ),
    )


MANY_COLUMNS = 4
"""Most scores of all protocols that share one table."""
LONGEST_LABEL = 32
"""A longer label gives way to the score's id."""


def group_tables(found: Groups) -> Iterator[Table | str]:
    """Yield the tables of scores by group, then the notes."""
    protocols = list(dict.fromkeys(column.protocol for column in found.columns if column.protocol))
    in_one = len(found.columns) <= MANY_COLUMNS
    tables = [protocols] if in_one else [[name] for name in protocols]
    for names in tables[:-1]:
        yield _table(found, names)
    yield _table(found, [*tables[-1], MEAN_OF])
    yield from _notes(found)


def _table(found: Groups, protocols: Sequence[str]) -> Table:
    named = ", ".join(filter(None, protocols))
    judge = f", judge {found.judge}" if found.judge is not None else ""
    title = f"{named} by {', '.join(found.by)} ({found.profile} profile{judge})"
    table = Table(title, found.by, ("reports",))
    shown = [place for place, column in enumerate(found.columns) if column.protocol in protocols]
    several = len(list(filter(None, protocols))) > 1
    for place in shown:
        table.add_column(_heading(found.columns[place], several))
    for group in found.groups:
        evaluated = "" if group.n_evaluated == group.n_reports else f"{group.n_evaluated} of "
        table.add_row(
            *_key(group.key),
            f"{evaluated}{group.n_reports}",
            *(_cell(group.cells[place]) for place in shown),
        )
    return table


def _heading(column: Column, several: bool) -> str:
    label = column.label if len(column.label) <= LONGEST_LABEL else column.path[-1]
    return f"{column.protocol}: {label}" if several and column.protocol else label


def _key(key: Mapping[str, str | None]) -> list[str]:
    return [NONE if text is None else shorten(text, 40) for text in key.values()]


def _cell(cell: Cell | None) -> str:
    """Return the value and its rank, then interval, bounds, known share, and spread over runs, one line each."""
    if cell is None:
        return NONE
    first, *lines = score_lines(cell, with_bounds=True)
    if cell.rank is not None:
        first += f" #{cell.rank}" + ("" if cell.rank_change is None else f" {cell.rank_change:+d}")
    if cell.spread is not None and cell.spread.sd is not None:
        n_values = sum(value is not None for value in cell.spread.runs.values())
        lines.append(
            f"sd {cell.spread.sd:.2f} of {n_values}, {cell.spread.least:.2f} to {cell.spread.most:.2f}"
        )
    return "\n".join([first, *lines])


def _notes(found: Groups) -> Iterator[str]:
    """Yield the notes below the tables, one line each, without control characters."""
    cells = [cell for group in found.groups for cell in group.cells if cell is not None]
    if any(cell.low is not None and cell.low != cell.high for cell in cells):
        yield "bounds: lowest and highest possible value, given what failed"
    notes = score_notes(
        (f"{column.label} of {', '.join(str(text) for text in group.key.values())}", cell)
        for group in found.groups
        for column, cell in zip(found.columns, group.cells, strict=True)
        if cell is not None
    )
    yield from map(safe, notes)
    if any(cell.spread is not None for cell in cells):
        yield "values are means over runs; sd: sample standard deviation over so many runs, with minimum and maximum"
    if any(cell.rank is not None for cell in cells):
        within = f" with the same {', '.join(found.by[:-1])}" if len(found.by) > 1 else ""
        first = found.columns[0]
        named = safe(f"{first.protocol}: {first.label}".removeprefix(": "))
        yield f"#: rank among the groups{within}; +, -: rank by {named} less this rank"


def label_tables(kinds: Sequence[Labels]) -> Iterator[Table | str]:
    """Yield a table for each kind of label, with shares of the decisions that have a label."""
    for one in kinds:
        by = list(one.groups[0].key)
        title = f"{one.kind} by {', '.join(by)}"
        table = Table(title, by, ("all",))
        for name in one.groups[0].counts:
            table.add_column(shorten(name, LONGEST_LABEL))
        without = any(group.n_without for group in one.groups)
        if without:
            table.add_column("no answer")
        for group in one.groups:
            shares = [
                f"{number} ({100 * number / group.n:.1f}%)" if number else "0"
                for number in group.counts.values()
            ]
            ends = [str(group.n_without)] if without else []
            table.add_row(*_key(group.key), str(group.n), *shares, *ends)
        yield table
    if not kinds:
        yield "no report has claims or decisions with labels"
