"""Several judges side by side, and how far they agree, for the terminal.

Invariant: a judge that failed is seen: beside its scores stands how many of its answers are missing, and beside each
measure of agreement how many items it left open; a measure without value is a dash, with its reason below the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from local_judge.reporting.summary import (
    MANY_COLUMNS,
    RULE_NOTE,
    add_root_columns,
    root_summaries,
    roots_of,
    with_bounds,
)
from local_judge.runs.records import CaseRecord, RunScoreRecord, ScoreRecord, scores_over_reports
from local_judge.runs.rescoring import AgreementRecord
from local_judge.stats.estimate import DRAWS, LEVEL, Estimate
from local_judge.terminal import NONE, count, plain_table, safe

ENSEMBLE = "together"


def judge_tables(
    records: Sequence[CaseRecord],
    scores: Sequence[ScoreRecord],
    judges: Sequence[str],
    aggregates: Sequence[RunScoreRecord] = (),
) -> list[Table]:
    """For each protocol and profile, each judge's scores and the ensemble's.

    They are means over the reports, or of the only system what the protocol's own rule gives over its reports.
    """
    return [
        _judge_table(
            [row for row in scores if (row.protocol, row.profile) == key], records, judges, aggregates
        )
        for key in dict.fromkeys((row.protocol, row.profile) for row in scores)
    ]


def _judge_table(
    rows: Sequence[ScoreRecord],
    records: Sequence[CaseRecord],
    judges: Sequence[str],
    aggregates: Sequence[RunScoreRecord],
) -> Table:
    mean = "" if len(records) == 1 else f", means of {count(len(records), 'report')}"
    found = plain_table(f"{rows[0].protocol} ({rows[0].profile} profile) by judge{mean}")
    roots = roots_of(rows)
    many = len(roots) > MANY_COLUMNS
    found.add_column("judge", min_width=12, overflow="fold")
    add_root_columns(found, roots)
    found.add_column("calls failed", justify="right")
    one_system = len({record.system for record in records}) == 1
    ruled = False
    for judge in (*judges, None):
        own = [row for row in rows if row.judge == judge]
        by_rule = scores_over_reports(aggregates, own[0], records[0].system) if own and one_system else {}
        summaries = root_summaries(own, roots, len(records), by_rule)
        ruled = ruled or any(one.by_rule for one in summaries)
        found.add_row(
            safe(judge) if judge is not None else ENSEMBLE,
            *(with_bounds(one.score, many, one.text()) for one in summaries),
            str(sum(record.calls_failed(judge) for record in records) or ""),
            style="bold" if judge is None else None,
        )
    if ruled:
        found.caption, found.caption_justify = RULE_NOTE, "left"
    return found


def agreement_table(rows: Sequence[AgreementRecord], *, whole: bool) -> Table:
    """Agreement by metric.

    Args:
        rows: of one run.
        whole: with pairs of judges and of answers, differences and intervals; else of all judges, in short.
    """
    more = ("pairs alike", "difference") if whole else ()
    found = plain_table(
        "agreement of the judges",
        ("protocol", "metric", *(("judges",) if whole else ())),
        ("items", "all alike", *more, "kappa", "alpha", "without answer"),
    )
    for row in rows:
        if not whole and len(row.judges) < max(len(one.judges) for one in rows):
            continue
        figures = (row.alike, *((row.alike_pairs, row.difference) if whole else ()), row.kappa, row.alpha)
        found.add_row(
            safe(row.protocol),
            safe(row.metric),
            *((safe(", ".join(row.judges)),) if whole else ()),
            str(row.n_items),
            *(_cell(figure, whole) for figure in figures),
            ", ".join(f"{safe(judge)} {n}" for judge, n in row.n_missing.items() if n),
        )
    return found


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
