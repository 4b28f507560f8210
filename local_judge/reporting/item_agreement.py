"""Agreement of judges with people's labels of items, as terminal tables and as JSON: one table for each metric.

Invariant: what a label or an answer is missing for, or left out for, is counted below the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from local_judge.base.output import Table, count, shorten
from local_judge.reporting.agreement import (
    OVER_JUDGES,
    judges_table,
    measure_json,
    measures_table,
    over_judges_json,
)
from local_judge.reporting.summary import listed, unknown_lines
from local_judge.runs.results.item_labels import LabelledMetric, LabelledRuns
from local_judge.stats.agreement.items import agreement_of_annotators, agreement_with_labels
from local_judge.stats.agreement.ratings import Measure, OverJudges, over_judges
from local_judge.stats.estimate import LEVEL
from local_judge.terminal import safe

ANY = "any judge"
"""Column of the agreement of people with at least one of several judges."""


class MetricAgreement(NamedTuple):
    """Agreement on the items of one metric."""

    labelled: LabelledMetric
    people: tuple[Measure, ...]
    columns: tuple[tuple[str, tuple[Measure, ...]], ...]
    """Measures of each judge, then of the ensemble if it decides, then of any judge if there are several."""
    n_judges: int
    over_judges: tuple[OverJudges, ...]


class ItemAgreement(NamedTuple):
    """Agreement of judges with people's labels."""

    runs: LabelledRuns
    metrics: tuple[MetricAgreement, ...]
    reason: str
    """Reason why several runs are one judge or several; empty for one run."""
    clusters: str
    """Units that the bootstrap draws, such as reports."""
    seed: int
    draws: int


def item_agreement(
    runs: LabelledRuns,
    ensembles: Sequence[str] = (),
    reason: str = "",
    people: Mapping[str, Sequence[Measure]] = MappingProxyType({}),
    clusters: str = "reports",
    *,
    seed: int,
    draws: int,
) -> ItemAgreement:
    """Compute the agreement on the items of each metric.

    Args:
        runs: labels with the judges' answers.
        ensembles: names of those judges that are ensembles.
        reason: what makes several runs one judge or several.
        people: further measures of the annotators, by metric.
        clusters: what the items' `report`s are.
        seed: of the bootstrap over reports.
        draws: of each interval.
    """
    metrics: list[MetricAgreement] = []
    for one in runs.metrics:
        judges = [name for name in one.judges if name not in ensembles]
        both = [name for name in one.judges if name in ensembles]
        columns = {
            name: agreement_with_labels(one.items, [name], seed=seed, draws=draws)
            for name in (*judges, *both)
        }
        own = [columns[name] for name in judges]
        if len(judges) > 1:
            columns[ANY] = agreement_with_labels(one.items, judges, seed=seed, draws=draws)
        metrics.append(
            MetricAgreement(
                one,
                (
                    *agreement_of_annotators(one.items, seed=seed, draws=draws),
                    *people.get(one.metric, ()),
                ),
                tuple(columns.items()),
                len(judges),
                over_judges(own),
            )
        )
    return ItemAgreement(runs, tuple(metrics), reason, clusters, seed, draws)


def item_tables(found: ItemAgreement) -> Iterator[Table]:
    """Yield the tables of each metric."""
    for one in found.metrics:
        columns = [(shorten(name, 30), measures) for name, measures in one.columns]
        title = f"agreement with human labels, {one.labelled.metric}"
        yield measures_table(title, one.people, columns)
        if one.n_judges > 1:
            yield judges_table(one.over_judges, one.n_judges)


def item_notes(found: ItemAgreement) -> Iterator[str]:
    """Yield the notes below the tables, one line each, without control characters."""
    yield f"{LEVEL}% bootstrap intervals over {found.clusters} of {found.draws:,} draws, seed {found.seed}"
    if found.reason:
        yield found.reason
    if any(one.n_judges > 1 for one in found.metrics):
        yield OVER_JUDGES
    runs = found.runs
    if runs.n_empty:
        yield f"{count(runs.n_empty, 'row')} without label, or unclear"
    for names, what in (
        (runs.absent, "labels without their item in the runs"),
        (runs.other_text, "labels of items with another text"),
    ):
        if names:
            yield f"{what}: {len(names)} ({safe(listed(names))})"
    for one in found.metrics:
        yield from map(safe, _metric_notes(one, found.clusters))
        for name, measures in (("people", one.people), *one.columns):
            # Of labels without an item there is no share.
            shown = [(measure.label, measure.estimate) for measure in measures if ":" not in measure.id]
            for line in unknown_lines(shown):
                yield safe(f"{one.labelled.metric}, {name}: {line}")


def _metric_notes(found: MetricAgreement, clusters: str) -> Iterator[str]:
    one = found.labelled
    people = {name for item in one.items for name in item.labels}
    n = sum(len(item.labels) for item in one.items)
    reports = {item.report for item in one.items}
    undecided = sum(item.label is None for item in one.items)
    said = f"{count(n, 'label')} by {count(len(people), 'annotator')} of {count(len(one.items), 'item')} in "
    lacking = f"; {undecided} items without a majority" if undecided else ""
    yield f"{one.metric}: {said}{count(len(reports), clusters.removesuffix('s'))}{lacking}"
    if one.n_unanswered:
        lost = ", ".join(f"{name} {n}" for name, n in one.n_unanswered.items())
        yield f"  labelled items without an answer: {lost}"
    if one.strange:
        yield f"  labels that no judge gave: {', '.join(one.strange[:5])}"


def item_json(found: ItemAgreement) -> dict[str, Any]:
    """Return all results as plain data."""
    runs = found.runs
    return {
        "seed": found.seed,
        "resamples": found.draws,
        "joined": found.reason,
        "n_labels": runs.n_labels,
        "n_empty": runs.n_empty,
        "not_in_runs": list(runs.absent),
        "other_text": list(runs.other_text),
        "metrics": {
            one.labelled.metric: {
                "n_items": len(one.labelled.items),
                "n_labels": sum(len(item.labels) for item in one.labelled.items),
                "n_unanswered": dict(one.labelled.n_unanswered),
                "labels_of_no_judge": list(one.labelled.strange),
                "people": [measure_json(measure) for measure in one.people],
                "judges": {name: [measure_json(one) for one in measures] for name, measures in one.columns},
                "over_judges": over_judges_json(one.over_judges, one.n_judges),
            }
            for one in found.metrics
        },
    }
