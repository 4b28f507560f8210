"""Several judges side by side, and how far they agree, for the terminal.

Invariant: a judge that failed is seen: beside its scores stands how many of its answers are missing, and beside each
measure of agreement how many items it left open; a measure without value is a dash, with its reason below the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from local_judge.protocols.scores import Score, mean_of
from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import MANY_COLUMNS, mean_cell, safe, with_bounds
from local_judge.runs.concord import AgreementRecord, Figure
from local_judge.runs.records import CaseRecord, ScoreRecord
from local_judge.stats.agreement.estimate import DRAWS, LEVEL

TOGETHER = "together"


def judge_tables(
    records: Sequence[CaseRecord], scores: Sequence[ScoreRecord], judges: Sequence[str]
) -> list[Table]:
    """For each protocol and profile, each judge's scores and those of all together, as means over the reports."""
    return [
        _judge_table([row for row in scores if (row.protocol, row.profile) == key], records, judges)
        for key in dict.fromkeys((row.protocol, row.profile) for row in scores)
    ]


def _judge_table(rows: Sequence[ScoreRecord], records: Sequence[CaseRecord], judges: Sequence[str]) -> Table:
    n_done = sum(record.status == "done" for record in records)
    mean = "" if n_done == 1 else f", means of {count(n_done, 'report')}"
    title = f"{rows[0].protocol} ({rows[0].profile} profile) by judge{mean}"
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    roots = rows[0].scores
    many = len(roots) > MANY_COLUMNS
    table.add_column("judge", min_width=12, overflow="fold")
    for root in roots:
        table.add_column(safe(root.label), justify="right", min_width=5, overflow="fold")
    table.add_column("calls failed", justify="right")
    for judge in (*judges, None):
        own = [row for row in rows if row.judge == judge]
        table.add_row(
            safe(judge) if judge is not None else TOGETHER,
            *(_mean([_root(row, root.id) for row in own], below=many) for root in roots),
            str(sum(record.calls_failed(judge) for record in records) or ""),
            style="bold" if judge is None else None,
        )
    return table


def _mean(scores: Sequence[Score], *, below: bool) -> str:
    mean = mean_of(scores)
    return with_bounds(mean, below, mean_cell(mean, scores))


def _root(row: ScoreRecord, id: str) -> Score:
    """A judge of a protocol that extracts for itself may have no such score."""
    return next((root.score for root in row.scores if root.id == id), Score(value=None, n_undefined=1))


def agreement_table(rows: Sequence[AgreementRecord], *, whole: bool) -> Table:
    """Agreement by metric.

    Args:
        rows: of one run.
        whole: with pairs of judges and of answers, differences and intervals; else of all judges, in short.
    """
    table = Table(title="agreement of the judges", title_justify="left", show_edge=False, pad_edge=False)
    for name in ("protocol", "metric", *(("judges",) if whole else ())):
        table.add_column(name, overflow="fold")
    headings = ("items", "all alike", *(("pairs alike", "difference") if whole else ()), "kappa", "alpha")
    for name in (*headings, "without answer"):
        table.add_column(name, justify="right")
    for row in rows:
        if not whole and len(row.judges) < max(len(one.judges) for one in rows):
            continue
        figures = (row.alike, *((row.alike_pairs, row.difference) if whole else ()), row.kappa, row.alpha)
        table.add_row(
            safe(row.protocol),
            safe(row.metric),
            *((safe(", ".join(row.judges)),) if whole else ()),
            str(row.n_items),
            *(_cell(figure, whole) for figure in figures),
            ", ".join(f"{safe(judge)} {n}" for judge, n in row.n_missing.items() if n),
        )
    return table


def agreement_notes(rows: Sequence[AgreementRecord]) -> Iterator[str]:
    """What a reader has to know beside the whole table, a line each."""
    n_draws = max((figure.n_draws for row in rows for figure in (row.alike, row.alpha)), default=0)
    if n_draws:
        yield f"{LEVEL}% bootstrap intervals over reports of {DRAWS:,} draws"
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for name, figure in (("all alike", row.alike), ("kappa", row.kappa), ("alpha", row.alpha)):
            if figure is not None and figure.value is None:
                reasons.setdefault((name, figure.reason), {})[f"{row.protocol} {safe(row.metric)}"] = None
    for (name, reason), metrics in reasons.items():
        yield f"no {name} where {reason}: {', '.join(metrics)}"


def _cell(figure: Figure | None, whole: bool) -> str:
    if figure is None:
        return ""
    if figure.value is None:
        return NONE
    said = f"{figure.value:.2f}"
    if figure.hits is not None:
        said += f" ({figure.hits:.0f}/{figure.n})"
    if whole and figure.low is not None and figure.high is not None:
        said += f"\n[dim]{figure.low:.2f} to {figure.high:.2f}[/dim]"
    return said
