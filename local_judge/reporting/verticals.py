"""Metrics of all protocols of a run under four verticals (`scoring.node.VERTICALS`).

    value        by the protocol's rule over a system's reports, else the mean over the reports that have one
    normalised   100 * (value - low) / (high - low) of the metric's scale, turned round where lower is better

Invariants: a metric stands under one vertical; nothing is averaged over metrics, which measure different things on
scales of their own; how many reports a value is of, and how many failed or have none, stands beside it; a score that
has no place is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from local_judge.base.model import Frozen
from local_judge.base.output import NONE, Table, count, shorten
from local_judge.runs.results.summary import Summary, unknown_on
from local_judge.runs.storage.records import CaseRecord, RunScoreRecord, ScoreRecord, scores_over_reports
from local_judge.scoring.node import VERTICALS, Profile, ScoreNode, Tree, Vertical
from local_judge.scoring.text import bounds, known_percent
from local_judge.scoring.text import value as shown
from local_judge.terminal import safe


class Placed(Summary):
    """One metric of one system in a profile."""

    protocol: str
    path: tuple[str, ...]
    label: str
    vertical: Vertical | None
    """None for a root of which its protocol does not say it."""
    system: str | None
    scale: tuple[float, float | None]
    """Its ends; None where there is no upper one, or nothing is known of it."""
    better: str
    normalised: float | None
    """None without a value, and on a scale without an upper end."""


class Verticals(Frozen):
    """A run's profile."""

    profile: Profile
    metrics: tuple[Placed, ...]
    """Metrics ordered by system, vertical and protocol."""
    aside: dict[str, str]
    """Scores that belong to no vertical, as `protocol/path`, with the reason."""


def verticals(
    records: Sequence[CaseRecord],
    scores: Sequence[ScoreRecord],
    profile: Profile,
    aggregates: Sequence[RunScoreRecord] = (),
) -> Verticals:
    """The profile of a run's systems.

    Args:
        records: the reports.
        scores: of all protocols, by one judge or the ensemble.
        profile: by whose formulas.
        aggregates: scores over all reports of a system, by the same judge; none where `records` are a part of the run.
    """
    rows = [row for row in scores if row.profile == profile]
    metrics: list[Placed] = []
    for system in dict.fromkeys(record.system for record in records):
        own = [record.id for record in records if record.system == system]
        found = [
            placed
            for name in _protocols(rows)
            for placed in _of_protocol(name, rows, own, system, aggregates)
        ]
        order: list[Vertical | None] = [*VERTICALS, None]
        metrics += sorted(found, key=lambda one: order.index(one.vertical))
    aside = {f"{row.protocol}/{root.id}": root.aside for row in rows for root in row.scores if root.aside}
    return Verticals(profile=profile, metrics=tuple(metrics), aside=aside)


def _protocols(rows: Sequence[ScoreRecord]) -> list[str]:
    return list(dict.fromkeys(row.protocol for row in rows))


def _of_protocol(
    name: str,
    rows: Sequence[ScoreRecord],
    cases: Sequence[str],
    system: str | None,
    aggregates: Sequence[RunScoreRecord],
) -> Iterator[Placed]:
    like = next(row for row in rows if row.protocol == name)
    over = scores_over_reports(aggregates, like, system)
    trees = {row.case: row.scores for row in rows if row.protocol == name}
    for path, like_it in _placed(trees.values()).items():
        nodes = [_at(trees[case], path) if case in trees else None for case in cases]
        yield placed_score(name, path, like_it, system, nodes, over.get(path))


def _placed(trees: Iterable[Tree]) -> dict[tuple[str, ...], ScoreNode]:
    """The scores that stand under a vertical, by path, then the roots that neither do nor stand aside or above one."""
    found: dict[tuple[str, ...], ScoreNode] = {}
    roots: dict[tuple[str, ...], ScoreNode] = {}
    for root in (root for tree in trees for root in tree):
        placed = {path: node for path, node in root.walk() if node.vertical is not None}
        found |= {path: node for path, node in placed.items() if path not in found}
        if not placed and not root.aside:
            roots.setdefault((root.id,), root)
    return {**found, **roots}


def _at(tree: Tree, path: tuple[str, ...]) -> ScoreNode | None:
    try:
        return next(root for root in tree if root.id == path[0]).find(*path[1:])
    except (KeyError, StopIteration):
        return None


def placed_score(
    protocol: str,
    path: tuple[str, ...],
    like: ScoreNode | None,
    system: str | None,
    nodes: Sequence[ScoreNode | None],
    over: ScoreNode | None,
) -> Placed:
    """A metric of some reports: by the protocol's rule, else the mean; a report without node is unknown.

    Args:
        protocol: whose.
        path: of the score.
        like: a node of the metric, which has its scale and vertical; None where no report has one.
        system: who wrote the reports.
        nodes: of each report; None where it was not read or not scored.
        over: the score over the reports, where the protocol has one of its own.
    """
    scale = like.scale if like is not None else None
    found = Placed.over(
        [unknown_on(scale) if node is None else node.score for node in nodes],
        over,
        protocol=protocol,
        path=path,
        label=next((node.label for node in nodes if node is not None), path[-1]),
        vertical=like.vertical if like is not None else None,
        system=system,
        scale=(scale.low, scale.high) if scale is not None else (0.0, None),
        better=scale.better if scale is not None else "",
        normalised=None,
    )
    if scale is None or found.value is None:
        return found
    return found.model_copy(update={"normalised": scale.normalised(found.value)})


def vertical_tables(found: Verticals) -> Iterator[Table | str]:
    """Yield a table for each system, then the scores that belong to no vertical."""
    for system in dict.fromkeys(placed.system for placed in found.metrics):
        own = [placed for placed in found.metrics if placed.system == system]
        of = f" of {shorten(system, 40)}" if system is not None else ""
        yield _table(f"{count(own[0].n_reports, 'report')}{of} ({found.profile} profile)", own)
    if found.aside:
        listed = "; ".join(f"{safe(name)} ({why})" for name, why in found.aside.items())
        yield f"under no vertical: {listed}"


_COLUMNS = ("value", "bounds", "known", "scale", "better", "0 to 100", "reports", "failed", "in part", "N/A")


def _table(title: str, metrics: Sequence[Placed]) -> Table:
    """Return the metrics under their verticals, without columns that are empty for all of them."""
    rows = {placed: _cells(placed) for placed in metrics}
    used = [place for place in range(len(_COLUMNS)) if any(cells[place] for cells in rows.values())]
    found = Table(title)
    found.add_column("metric", number=False)
    for place in used:
        found.add_column(_COLUMNS[place])
    for vertical in (*VERTICALS, None):
        own = [placed for placed in metrics if placed.vertical == vertical]
        if own:
            found.add_row(
                "No vertical" if vertical is None else VERTICALS[vertical], *[""] * len(used), bold=True
            )
        for placed in own:
            cells = rows[placed]
            found.add_row(f"  {placed.protocol}: {placed.label}", *(cells[place] for place in used))
    return found


def _cells(placed: Placed) -> list[str]:
    score = placed.score
    low, high = placed.scale
    ends = f"{low:g} to {high:g}" if high is not None else f"from {low:g}" if placed.better else NONE
    return [
        shown(score),
        bounds(score),
        known_percent(score),
        ends,
        placed.better or NONE,
        NONE if placed.normalised is None else f"{placed.normalised:.1f}",
        f"{placed.n_values} of {placed.n_reports}",
        *(str(number or "") for number in (placed.n_failed, placed.n_in_part, placed.n_undefined)),
    ]
