"""A run of several protocols as one profile: its metrics under the four verticals of `taxonomy`.

    value        by the protocol's rule over a system's reports, else the mean over the reports that have one
    normalised   100 * (value - low) / (high - low) of the metric's scale, turned round where lower is better

Invariants: a metric stands under one vertical; nothing is averaged over metrics, which measure different things on
scales of their own; how many reports a value is of, and how many failed or have none, stands beside it; a score that
has no place is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from local_judge.documents.model import Frozen
from local_judge.protocols.scores import Profile, Score, ScoreNode, failed, in_part, known_share, mean_of
from local_judge.reporting.numbers import NONE, bounds, count, known_percent
from local_judge.reporting.numbers import value as shown
from local_judge.reporting.tables import safe
from local_judge.reporting.taxonomy import ASIDE, LABELS, PLACES, Path, Place, Vertical, unplaced
from local_judge.runs.records import CaseRecord, RunScoreRecord, ScoreRecord, scores_over_reports


class Placed(Frozen):
    """One metric of one system in a profile."""

    protocol: str
    path: tuple[str, ...]
    label: str
    vertical: Vertical | None
    """None for a root that the taxonomy does not have."""
    system: str | None
    value: float | None
    """By the protocol's rule over the reports, or their mean; on the metric's own scale."""
    low: float | None
    """What failures leave open, as of a score."""
    high: float | None
    known: float | None
    """Share from 0 to 1 of what the value rests on that is known; None where nothing of it could fail."""
    scale: tuple[float, float | None]
    """Its ends; None where there is no upper one, or nothing is known of it."""
    better: str
    normalised: float | None
    n_reports: int
    n_values: int
    """Reports that have a value."""
    n_failed: int
    """Reports without a value through failures of ours, those that were not read or not scored among them."""
    n_in_part: int
    """Reports whose value rests on a part of the answers."""
    n_undefined: int
    """Reports that have no value by the formula itself, or for which the metric was not asked."""


class Verticals(Frozen):
    """A run's profile."""

    profile: Profile
    metrics: tuple[Placed, ...]
    """By system, vertical and protocol."""
    aside: dict[str, str]
    """Scores without a place, as `protocol/path`, and why."""


def verticals(
    records: Sequence[CaseRecord],
    scores: Sequence[ScoreRecord],
    profile: Profile,
    over: Sequence[RunScoreRecord] = (),
) -> Verticals:
    """The profile of a run's systems.

    Args:
        records: the reports.
        scores: of all protocols, by one judge or all together.
        profile: by whose formulas.
        over: scores over all reports of a system, by the same judge; none where `records` are a part of the run.
    """
    rows = [row for row in scores if row.profile == profile]
    metrics: list[Placed] = []
    for system in dict.fromkeys(record.system for record in records):
        own = [record.id for record in records if record.system == system]
        found = [
            placed for name in _protocols(rows) for placed in _of_protocol(name, rows, own, system, over)
        ]
        order: list[Vertical | None] = [*LABELS, None]
        metrics += sorted(found, key=lambda one: order.index(one.vertical))
    roots = {(row.protocol, root.id) for row in rows for root in row.scores}
    aside = {
        f"{name}/{'/'.join(path)}": why
        for name in _protocols(rows)
        for path, why in ASIDE.get(name, {}).items()
        if (name, path[0]) in roots
    }
    return Verticals(profile=profile, metrics=tuple(metrics), aside=aside)


def _protocols(rows: Sequence[ScoreRecord]) -> list[str]:
    return list(dict.fromkeys(row.protocol for row in rows))


def _of_protocol(
    name: str,
    rows: Sequence[ScoreRecord],
    cases: Sequence[str],
    system: str | None,
    over: Sequence[RunScoreRecord],
) -> Iterator[Placed]:
    like = next(row for row in rows if row.protocol == name)
    by_rule = scores_over_reports(over, like, system)
    trees = {row.case: row.scores for row in rows if row.protocol == name}
    roots = list(dict.fromkeys(root.id for tree in trees.values() for root in tree))
    places: dict[Path, Place | None] = {
        path: place for path, place in PLACES.get(name, {}).items() if path[0] in roots
    }
    places |= {(root,): None for root in unplaced(name, roots)}
    for path, place in places.items():
        nodes = [_at(trees[case], path) if case in trees else None for case in cases]
        yield placed_score(name, path, place, system, nodes, by_rule.get(path))


def _at(tree: Sequence[ScoreNode], path: Path) -> ScoreNode | None:
    try:
        return next(root for root in tree if root.id == path[0]).find(*path[1:])
    except (KeyError, StopIteration):
        return None


def placed_score(
    protocol: str,
    path: Path,
    place: Place | None,
    system: str | None,
    nodes: Sequence[ScoreNode | None],
    by_rule: Score | None,
) -> Placed:
    """A metric of some reports: by the protocol's rule, else the mean; a report without node is unknown.

    Args:
        protocol: whose.
        path: of the score.
        place: of the metric; None where the taxonomy has none.
        system: who wrote the reports.
        nodes: of each report; None where it was not read or not scored.
        by_rule: the score over the reports, where the protocol has a rule for them.
    """
    low, high = (place.low, place.high) if place is not None else (None, None)
    unknown = Score(value=None, n_expected=1, n_failed=1, low=low, high=high)
    scores = [node.score if node is not None else unknown for node in nodes]
    mean = by_rule or mean_of(scores)
    n_values = sum(score.value is not None for score in scores)
    n_failed = sum(failed(score) for score in scores)
    normalised = place.normalised(mean.value) if place is not None and mean.value is not None else None
    return Placed(
        protocol=protocol,
        path=path,
        label=next((node.label for node in nodes if node is not None), path[-1]),
        vertical=place.vertical if place is not None else None,
        system=system,
        value=mean.value,
        low=mean.low,
        high=mean.high,
        known=known_share(mean),
        scale=(place.low, place.high) if place is not None else (0.0, None),
        better=place.better if place is not None else "",
        normalised=normalised,
        n_reports=len(nodes),
        n_values=n_values,
        n_failed=n_failed,
        n_in_part=sum(in_part(score) for score in scores),
        n_undefined=len(nodes) - n_values - n_failed,
    )


def vertical_tables(found: Verticals) -> Iterator[Table | str]:
    """A table for each system, and what has no place."""
    for system in dict.fromkeys(placed.system for placed in found.metrics):
        own = [placed for placed in found.metrics if placed.system == system]
        of = f" of {safe(system, 40)}" if system is not None else ""
        yield _table(f"{count(own[0].n_reports, 'report')}{of} ({found.profile} profile)", own)
    if found.aside:
        listed = "; ".join(f"{safe(name)} ({why})" for name, why in found.aside.items())
        yield f"without a place: {listed}"


def _table(title: str, metrics: Sequence[Placed]) -> Table:
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    for name in (
        "value",
        "bounds",
        "known",
        "scale",
        "better",
        "0 to 100",
        "reports",
        "failed",
        "in part",
        "N/A",
    ):
        table.add_column(name, justify="right")
    for vertical in (*LABELS, None):
        if all(placed.vertical != vertical for placed in metrics):
            continue
        label = "Not placed" if vertical is None else LABELS[vertical]
        table.add_row(label, style="bold")
        for placed in metrics:
            if placed.vertical == vertical:
                table.add_row(*_cells(placed))
    return table


def _cells(placed: Placed) -> list[str]:
    score = Score(value=placed.value, low=placed.low, high=placed.high, known=placed.known)
    low, high = placed.scale
    ends = f"{low:g} to {high:g}" if high is not None else f"from {low:g}" if placed.better else NONE
    return [
        f"  {safe(placed.protocol)}: {safe(placed.label)}",
        shown(score),
        bounds(score),
        known_percent(score),
        ends,
        placed.better or NONE,
        NONE if placed.normalised is None else f"{placed.normalised:.1f}",
        f"{placed.n_values} of {placed.n_reports}",
        *(str(number or "") for number in (placed.n_failed, placed.n_in_part, placed.n_undefined)),
    ]
