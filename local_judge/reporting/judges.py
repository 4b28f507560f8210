"""Several judges side by side, and how far they agree, for the terminal.

Invariant: a judge that failed is seen: beside its scores stands how many of its answers are missing, and beside each
measure of agreement how many items it left open; a measure without value is a dash, with its reason below the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from local_judge.protocols.scores import Score, mean_of
from local_judge.reporting.numbers import NONE, count, value
from local_judge.reporting.tables import (
    BY_RULE,
    MANY_COLUMNS,
    RULE_NOTE,
    UNKNOWN,
    mean_cell,
    safe,
    with_bounds,
)
from local_judge.runs.inter_judge import AgreementRecord
from local_judge.runs.records import CaseRecord, RunScoreRecord, ScoreRecord, scores_over_reports
from local_judge.stats.estimate import DRAWS, LEVEL, Estimate

TOGETHER = "together"


def judge_tables(
    records: Sequence[CaseRecord],
    scores: Sequence[ScoreRecord],
    judges: Sequence[str],
    over: Sequence[RunScoreRecord] = (),
) -> list[Table]:
    """For each protocol and profile, each judge's scores and those of all together.

    They are means over the reports, or of the only system what the protocol's own rule gives over its reports.
    """
    return [
        _judge_table([row for row in scores if (row.protocol, row.profile) == key], records, judges, over)
        for key in dict.fromkeys((row.protocol, row.profile) for row in scores)
    ]


def _judge_table(
    rows: Sequence[ScoreRecord],
    records: Sequence[CaseRecord],
    judges: Sequence[str],
    over: Sequence[RunScoreRecord],
) -> Table:
    mean = "" if len(records) == 1 else f", means of {count(len(records), 'report')}"
    title = f"{rows[0].protocol} ({rows[0].profile} profile) by judge{mean}"
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    roots = rows[0].scores
    many = len(roots) > MANY_COLUMNS
    systems = {record.system for record in records}
    table.add_column("judge", min_width=12, overflow="fold")
    for root in roots:
        table.add_column(safe(root.label), justify="right", min_width=5, overflow="fold")
    table.add_column("calls failed", justify="right")
    for judge in (*judges, None):
        own = [row for row in rows if row.judge == judge]
        missing = [UNKNOWN] * (len(records) - len(own))
        by_rule = scores_over_reports(over, own[0], records[0].system) if own and len(systems) == 1 else {}
        table.add_row(
            safe(judge) if judge is not None else TOGETHER,
            *(
                _mean([*(_root(row, root.id) for row in own), *missing], by_rule.get((root.id,)), below=many)
                for root in roots
            ),
            str(sum(record.calls_failed(judge) for record in records) or ""),
            style="bold" if judge is None else None,
        )
    of_only = scores_over_reports(over, rows[0], records[0].system) if len(systems) == 1 else {}
    if any((root.id,) in of_only for root in roots):
        table.caption, table.caption_justify = RULE_NOTE, "left"
    return table


def _mean(scores: Sequence[Score], by_rule: Score | None, *, below: bool) -> str:
    if by_rule is not None:
        return with_bounds(by_rule, below, f"{value(by_rule)}{BY_RULE}")
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


def _cell(figure: Estimate | None, whole: bool) -> str:
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
