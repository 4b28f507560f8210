"""Agreement of judges on the scores of the same reports, and stability of their order of systems.

    tau          Kendall's tau-b over reports
    difference   mean |first - second|, bias: mean (first - second), on the scale of the score
    icc          ICC(2,1) of Shrout and Fleiss

Intervals are of a bootstrap over tasks, in which the reports of a task stay together.

Invariants: two judges are compared on the reports that both scored, if there are at least three. A score counts once
for each judge and report. A judge of a run is one of the compared judges only if its identity is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from local_judge.base.errors import InputError
from local_judge.lab.qualification.comparing.model import Agreeing, Stability
from local_judge.lab.qualification.figures import Draws, draws_of
from local_judge.runs.storage.manifest import protocols_of, read_manifest
from local_judge.runs.storage.records import load_records, load_scores
from local_judge.runs.storage.store import RunStore
from local_judge.stats.agreement.icc import icc_2_1
from local_judge.stats.agreement.stability import OrderStability, order_stability, ranks_of
from local_judge.stats.correlation import kendall_draws
from local_judge.stats.estimate import Estimate, undefined, with_interval
from local_judge.stats.numeric import DIGITS, Floats
from serving.types import EngineIdentity

LEAST_REPORTS: Final = 3
PROFILE: Final = "paper"


class Scored(NamedTuple):
    """One score of one report by one judge."""

    protocol: str
    score: str
    judge: str
    report: str
    task: str | None
    system: str | None
    value: float | None

    @property
    def task_name(self) -> str:
        """Name of the task; a report without a task is a task of its own."""
        return self.task or f"report {self.report}"


def unaltered(folder: Path, judge: str, reports: Sequence[str]) -> list[Scored]:
    """Return the root scores of the unmodified reports in a qualification.

    Args:
        folder: directory of the qualification.
        judge: name of its judge.
        reports: ids of the reports.
    """
    found: dict[tuple[str, str, str], Scored] = {}
    for manifest in sorted((folder / "work" / "sensitivity").glob("*/manifest.json")):
        for row in _scores(RunStore(manifest.parent), {None: judge}):
            if row.report in reports:
                found.setdefault((row.protocol, row.score, row.report), row)
    return list(found.values())


def of_runs(runs: Sequence[Path], identities: Mapping[str, EngineIdentity]) -> list[Scored]:
    """Return the root scores of finished runs by those of their judges that are compared.

    Args:
        runs: directories of the runs.
        identities: identities of the compared judges, by name.

    Raises:
        RunError: a directory does not contain a finished run.
        InputError: none of its judges is compared, or two runs have scores of one report by one judge.
    """
    found: dict[tuple[str, str, str, str], tuple[Path, Scored]] = {}
    for run in runs:
        store = RunStore(run)
        judges: list[dict[str, Any]] = read_manifest(store).get("judges", [])
        names = {
            judge["name"] if len(judges) > 1 else None: name
            for judge in judges
            for name, identity in identities.items()
            if judge["identity"] == identity.model_dump(mode="json")
        }
        if not names:
            there = ", ".join(judge["name"] for judge in judges)
            raise InputError(
                f"{run}: none of its judges ({there}) is one of those compared ({', '.join(identities)}): the same "
                "weights, engine, version and options"
            )
        for row in _scores(store, names):
            before, _ = found.setdefault((row.protocol, row.score, row.judge, row.report), (run, row))
            if before != run:
                raise InputError(
                    f"{run}: {row.judge!r} also scored {row.report!r} in {before}; give one of the two runs"
                )
    return [row for _, row in found.values()]


def _scores(store: RunStore, names: Mapping[str | None, str]) -> Iterator[Scored]:
    """Yield root scores by the paper's formulas; a report without findings has a row without a value.

    Args:
        store: a finished run.
        names: new name of each judge by its name in the run; None is the only judge of the run.
    """
    records = load_records(store)
    for protocol in protocols_of(store):
        rows = [row for row in load_scores(store, (protocol,), tuple(names)) if row.profile == PROFILE]
        given = {(row.case, row.judge, node.id): node.score.value for row in rows for node in row.scores}
        for score in dict.fromkeys(node.id for row in rows for node in row.scores):
            for there, name in names.items():
                for record in records:
                    value = given.get((record.id, there, score))
                    yield Scored(protocol, score, name, record.id, record.task, record.system, value)


def agreeing(rows: Sequence[Scored], judges: Sequence[str], draws: Draws) -> list[Agreeing]:
    """Compare each two judges by each score, in the order in which the scores first occur."""
    return [
        _agreeing(metric, first, second, own, draws)
        for metric, own in _by_metric(rows)
        for first, second in combinations(judges, 2)
        if {first, second} <= {row.judge for row in own}
    ]


def stabilities(rows: Sequence[Scored], judges: Sequence[str], draws: Draws) -> list[Stability]:
    """Return the stability for each judge and score, for reports that name at least two systems."""
    found: list[Stability] = []
    for (protocol, score), own in _by_metric(rows):
        by_judge = {judge: [row for row in own if row.judge == judge] for judge in judges}
        kept = {judge: made for judge, mine in by_judge.items() if (made := _order(mine, draws))}
        for judge, one in kept.items():
            same = {other: _same_order(by_judge[judge], by_judge[other]) for other in kept if other != judge}
            found.append(
                Stability(
                    protocol=protocol,
                    score=score,
                    judge=judge,
                    n_tasks=one.n_tasks,
                    n_reports=len(by_judge[judge]),
                    n_missing=sum(row.value is None for row in by_judge[judge]),
                    order=one.order,
                    kept=one.kept,
                    closest=one.closest,
                    closest_kept=one.closest_kept,
                    same_order={other: known for other, known in same.items() if known is not None},
                )
            )
    return found


def _both(*judges: Sequence[Scored]) -> tuple[list[dict[str, Scored]], list[str]]:
    """Return each judge's scores that have a value, by report, and the reports that all judges scored."""
    sides = [{row.report: row for row in rows if row.value is not None} for rows in judges]
    return sides, sorted(set[str].intersection(*map(set, sides)))


def _same_order(own: Sequence[Scored], other: Sequence[Scored]) -> bool | None:
    """Check whether two judges order systems alike on the reports that both scored; None if there is no order."""
    sides, both = _both(own, other)
    orders = [_order([row for id, row in side.items() if id in both], Draws(0, 0)) for side in sides]
    ranks = [ranks_of(made.order) for made in orders if made is not None and made.order]
    return ranks[0] == ranks[1] if len(ranks) == 2 else None


def _by_metric(rows: Sequence[Scored]) -> Iterator[tuple[tuple[str, str], list[Scored]]]:
    for metric in dict.fromkeys((row.protocol, row.score) for row in rows):
        yield metric, [row for row in rows if (row.protocol, row.score) == metric]


def _agreeing(
    metric: tuple[str, str], first: str, second: str, rows: Sequence[Scored], draws: Draws
) -> Agreeing:
    sides, both = _both(*([row for row in rows if row.judge == judge] for judge in (first, second)))
    return Agreeing(
        protocol=metric[0],
        score=metric[1],
        first=first,
        second=second,
        n=len(both),
        n_only_first=len(sides[0]) - len(both),
        n_only_second=len(sides[1]) - len(both),
        **_estimates(both, sides, draws),
    )


def _estimates(both: Sequence[str], sides: Sequence[dict[str, Scored]], draws: Draws) -> dict[str, Estimate]:
    if len(both) < LEAST_REPORTS:
        reason = f"{len(both)} reports that both have scored, needs {LEAST_REPORTS}"
        return dict.fromkeys(("tau", "difference", "bias", "icc"), undefined(reason))
    x, y = (np.array([side[report].value for report in both], np.float64) for side in sides)
    tasks = [sides[0][report].task_name for report in both]
    names = sorted(set(tasks))
    place = np.array([names.index(task) for task in tasks], np.int64)
    drawn = [np.bincount(draw, minlength=len(names))[place] for draw in draws_of(len(names), draws)]
    counts = np.array(drawn, np.float64).reshape(-1, len(both))

    def estimate(measure: Callable[[Floats], Floats], missing: str = "") -> Estimate:
        value = _number(measure(np.ones((1, len(both))))[0])
        values = [_number(one) for one in measure(counts)]
        found = with_interval(Estimate(value, len(both)), values, len(names))
        return replace(found, reason="" if value is not None else missing)

    groups = np.zeros(len(both), np.int64)
    apart = x - y
    return {
        "tau": estimate(lambda n: kendall_draws(x, y, groups, n), "the scores of one are all equal"),
        "difference": estimate(lambda n: n @ np.abs(apart) / n.sum(axis=1)),
        "bias": estimate(lambda n: n @ apart / n.sum(axis=1)),
        "icc": icc_2_1([(float(a), float(b)) for a, b in zip(x, y, strict=True)]),
    }


def _order(rows: Sequence[Scored], draws: Draws) -> OrderStability | None:
    """Return the order of systems; None if fewer than two systems are named."""
    given: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.system is not None and row.value is not None:
            given.setdefault(row.task_name, {}).setdefault(row.system, []).append(row.value)
    if len({row.system for row in rows} - {None}) < 2:
        return None
    means = {
        task: {system: float(np.mean(own)) for system, own in systems.items()}
        for task, systems in given.items()
    }
    return order_stability(means, seed=draws.seed, draws=draws.n)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), DIGITS) + 0.0
