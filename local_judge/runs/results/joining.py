"""Runs joined by their judges: the scores of one judge may be in one run, or in one run for each system.

Two runs are of one judge if they have the same judges (model, weights, engine, sampling) and no report in common; runs
made from published files record no judge, and count as having the same. Settings and draws distinguish runs with the
same judge and reports in common; where joined runs differ in settings, the reason names one. A report is a system's
answer to a task; without both names, its id.

Invariants: no report counts twice for one judge; what makes runs one judge or several follows from the runs, and is
said; where they allow both, the user decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

from local_judge.base.errors import InputError
from local_judge.base.output import count
from local_judge.runs.storage.manifest import difference, judge_of, judges_of, read_manifest
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore, canonical

Differ = Literal["systems", "judges"]
"""Difference of several runs: all are one judge's, of different systems or tasks; or each is another judge's."""


class Source(NamedTuple):
    """Scores of one judge in one run."""

    run: Path
    judge: str | None
    """Name of one of several judges; None for the only one, or for the ensemble."""


class Method(NamedTuple):
    """One judge, or the ensemble of several, with all runs that have its scores."""

    name: str
    """The run's name, with the judge's if the run has several; of several runs, the first one's and their number."""
    sources: tuple[Source, ...]
    """Runs without a report in common."""
    ensemble: bool = False
    """Flag: scores of several judges, merged by the protocol's rule."""

    @property
    def place(self) -> str:
        """Runs, for messages."""
        return ", ".join(str(one.run) for one in self.sources)


class Joining(NamedTuple):
    """Several runs as the methods that they are of."""

    methods: tuple[Method, ...]
    """An ensemble comes before its judges."""
    reason: str
    """Reason why the runs are one judge or several, in one line; empty for one run."""


def run_names(runs: Sequence[Path], consequence: str) -> list[str]:
    """Return the names of runs: of their directories, or their paths if two directories have the same name.

    Raises:
        InputError: a directory is given twice; the message ends with `consequence`.
    """
    resolved = [path.resolve() for path in runs]
    twice = next((path for place, path in enumerate(runs) if resolved[place] in resolved[:place]), None)
    if twice is not None:
        raise InputError(f"{twice}: given twice; {consequence}")
    unique = len({path.name for path in resolved}) == len(runs)
    return [full.name if unique else str(path) for full, path in zip(resolved, runs, strict=True)]


def identities(store: RunStore, chosen: str | None) -> list[str]:
    """Return the identity and sampling of each judge of a run, or of the chosen one, whatever its name."""
    return [identity for name, identity in _identities(store).items() if chosen in (None, name)]


def by_judges(runs: Sequence[Path], judge: str | None) -> list[list[Path]]:
    """Return the runs in groups with the same judges, whatever their reports, in order.

    Raises:
        RunError: a directory contains no run, or the run has no such judge.
    """
    groups: dict[str, list[Path]] = {}
    for run in runs:
        store = RunStore(run)
        groups.setdefault(canonical(sorted(identities(store, judge_of(store, judge)))), []).append(run)
    return list(groups.values())


def join_runs(runs: Sequence[Path], judge: str | None = None, differ: Differ | None = None) -> Joining:
    """Return runs as the methods that they are of.

    Args:
        runs: directories of finished runs.
        judge: one of several judges; None for the ensemble and each of its judges.
        differ: what the runs differ in; None if that follows from them.

    Raises:
        RunError: a directory contains no finished run, or the run has no such judge.
        InputError: a run is given twice, runs that are said to be one judge's have a report in common, or it does not
            follow from the runs which of them are one judge's.
    """
    names = dict(zip(runs, run_names(runs, "a report counts once"), strict=True))
    reports = {run: _reports(RunStore(run)) for run in runs}
    if differ == "judges":
        groups = [[run] for run in runs]
    elif differ == "systems":
        groups = [list(runs)]
        _check_numbers(runs, judge)
        for one, other in combinations(runs, 2):
            if shared := _shared(one, other, reports):
                raise InputError(
                    f"--differ systems: {_said(shared[0])} is in {one} and in {other}, and a report counts once"
                )
    else:
        groups = [part for group in by_judges(runs, judge) for part in _without_overlap(group, reports)]
        _check_common(groups, reports)
    methods = tuple(method for group in groups for method in _methods(group, judge, names, len(groups) == 1))
    return Joining(methods, _reason(groups, reports) if len(runs) > 1 else "")


def _identities(store: RunStore) -> dict[str, str]:
    """Return the identity and sampling of each judge of a run by its name; none in a run that was imported."""
    judges: list[Mapping[str, Any]] = read_manifest(store).get("judges", [])
    return {judge["name"]: canonical([judge["identity"], judge["sampling"]]) for judge in judges}


def _reports(store: RunStore) -> dict[tuple[str, ...], None]:
    found = (
        (one.task, one.system) if one.task is not None and one.system is not None else (one.id,)
        for one in load_records(store)
    )
    return dict.fromkeys(found)


Reports = Mapping[Path, Mapping[tuple[str, ...], None]]


def _shared(one: Path, other: Path, reports: Reports) -> list[tuple[str, ...]]:
    return [unit for unit in reports[one] if unit in reports[other]]


def _said(unit: tuple[str, ...]) -> str:
    return " by ".join(map(repr, unit))


def _without_overlap(runs: Sequence[Path], reports: Reports) -> Iterator[list[Path]]:
    """Yield runs of the same judges in groups that have no report in common."""
    if not _overlapping(runs, reports):
        yield list(runs)
        return
    by_settings: dict[str, list[Path]] = {}
    for run in runs:
        by_settings.setdefault(canonical(_settings(RunStore(run))), []).append(run)
    for group in by_settings.values():
        overlapping = _overlapping(group, reports)
        if not overlapping:
            yield group
        elif len(overlapping) == len(group) * (len(group) - 1) // 2:
            yield from ([run] for run in group)
        else:
            one, other = overlapping[0]
            third = next(run for run in group if run not in (one, other))
            raise InputError(
                f"{one} and {other} have reports in common, {third} is by the same judge with the same settings: it "
                "could belong to either; put the results of each judge into one run, or give --differ judges to take "
                "each run as another judge"
            )


def _overlapping(runs: Sequence[Path], reports: Reports) -> list[tuple[Path, Path]]:
    return [(one, other) for one, other in combinations(runs, 2) if _shared(one, other, reports)]


def _check_numbers(runs: Sequence[Path], judge: str | None) -> None:
    """Refuse to join the scores of one judge with those of an ensemble."""
    several = {run: judges_of(RunStore(run)) for run in runs}
    alone = next((run for run, names in several.items() if not names), None)
    both = next((run for run, names in several.items() if names), None)
    if alone is not None and both is not None:
        which = f"the judge {judge!r}" if judge is not None else "an ensemble"
        raise InputError(
            f"--differ systems: {both} has {len(several[both])} judges and {alone} has one, so that the scores of "
            f"{which} are not in both; join runs with the same number of judges"
        )


def _settings(store: RunStore) -> dict[str, Any]:
    """Return what changes the scores of a judge: settings, draw and prompts, but not the protocols that were run."""
    manifest = read_manifest(store)
    config = {key: value for key, value in manifest["config"].items() if key != "protocols"}
    config["draw"] = manifest.get("run", {}).get("draw", 0)
    protocols: Mapping[str, Mapping[str, Any]] = manifest.get("protocols") or {}
    published = {
        name: one["original_prompts"] for name, one in protocols.items() if "original_prompts" in one
    }
    return {**config, "prompts_digest": manifest.get("prompts"), "original_prompts": published}


def _differing(runs: Sequence[Path]) -> str:
    """Return the name of a setting that differs between joined runs; of protocols, only those that they share."""
    first, *others = (_settings(RunStore(run)) for run in runs)
    for other in others:
        left, right = dict(first), dict(other)
        for name in ("settings", "original_prompts"):
            one: dict[str, Any] = left.pop(name, None) or {}
            another: dict[str, Any] = right.pop(name, None) or {}
            shared = one.keys() & another.keys()
            left |= {f"{name}.{key}": one[key] for key in shared}
            right |= {f"{name}.{key}": another[key] for key in shared}
        if path := difference(left, right):
            return ".".join(path[:2])
    return ""


def _check_common(groups: Sequence[Sequence[Path]], reports: Reports) -> None:
    """Refuse two judges without a report in common, which may be one judge that changed between the runs."""
    for ones, others in combinations(groups, 2):
        if not any(_shared(one, other, reports) for one in ones for other in others):
            raise InputError(
                f"{ones[0]} and {others[0]} have different judges and no report in common; give --differ systems to "
                "take them as one judge's, or --differ judges to take each run as another judge"
            )


def _methods(
    runs: Sequence[Path], judge: str | None, names: Mapping[Path, str], alone: bool
) -> Iterator[Method]:
    """Yield the ensemble of the judges of joined runs, and each judge; or only the chosen or only judge."""
    title = names[runs[0]] + (f" + {len(runs) - 1}" if len(runs) > 1 else "")
    judges = judges_of(RunStore(runs[0]))
    if judge is not None or not judges:
        yield Method(title, tuple(Source(run, judge) for run in runs))
        return
    prefix = "" if alone else f"{title}/"
    if all(judges_of(RunStore(run)) for run in runs):
        yield Method(f"{prefix}ensemble", tuple(Source(run, None) for run in runs), ensemble=True)
    known = [_identities(RunStore(run)) for run in runs]
    for name, identity in known[0].items():
        # Names differ between runs of one judge, and identities where the user says that the runs are one judge's.
        same = [
            next((one for one, its in own.items() if its == identity), name if name in own else None)
            for own in known
        ]
        sources = [Source(run, one) for run, one in zip(runs, same, strict=True) if one is not None]
        yield Method(f"{prefix}{name}", tuple(sources))


def _reason(groups: Sequence[Sequence[Path]], reports: Reports) -> str:
    runs = count(sum(map(len, groups)), "run")
    differing = next((name for group in groups if (name := _differing(group))), "")
    note = f"; their settings differ ({differing})" if differing else ""
    if len(groups) == 1:
        return f"{runs} without a report in common, taken as one judge's{note}"
    pairs = ((one, other) for some, others in combinations(groups, 2) for one in some for other in others)
    shared = {unit for one, other in pairs for unit in _shared(one, other, reports)}
    return f"{runs} taken as {len(groups)} judges, with {count(len(shared), 'report')} in common{note}"
