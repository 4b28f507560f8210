"""The scores that several judges gave the same reports: in one run with several judges, or in several runs.

Invariants: judges are compared on reports of the same id and the same text; a report that one of them has not scored is
missing for this judge, and is counted; each judge of each run is one judge, so that a judge that ran twice is compared
with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from local_judge.errors import InputError
from local_judge.runs.manifest import judges_of
from local_judge.runs.records import CaseRecord
from local_judge.runs.scored import Nodes, find_paths, load_scored, protocol_of
from local_judge.runs.store import RunStore
from local_judge.scoring.coverage import Coverage, coverage_of
from local_judge.scoring.node import Profile
from local_judge.stats.agreement.stability import JudgedReport


class JudgedColumn(NamedTuple):
    """One score of all reports."""

    path: tuple[str, ...]
    reports: tuple[JudgedReport, ...]
    coverage: Coverage
    """Of the scores of all judges."""


class JudgedRuns(NamedTuple):
    """Scores of the same reports by several judges."""

    protocol: str
    judges: tuple[str, ...]
    """Of one run by their names; of several runs by the run's name, followed by the judge's where it has several."""
    columns: tuple[JudgedColumn, ...]


class _RunJudge(NamedTuple):
    """One judge of one run."""

    run: Path
    judge: str | None


def judged_runs(
    runs: Sequence[Path], protocol: str | None, profile: Profile, wanted: str | None
) -> JudgedRuns:
    """The scores that `wanted` names, of all reports of `runs` by each judge.

    Args:
        runs: run directories.
        protocol: whose scores; None where the runs have one protocol only.
        profile: by which formulas.
        wanted: as `find_paths` takes it.

    Raises:
        RunError: a directory holds no finished run, or not of this protocol or profile; there is no such score.
        InputError: there is one judge only, a run is given twice, runs have different protocols, or a report is another
            text or answers another task in two runs.
    """
    sources = _run_judges(runs)
    names = {run: protocol_of(RunStore(run), protocol) for run in runs}
    for run, name in names.items():
        if name != names[runs[0]]:
            raise InputError(
                f"{run}: has scores of {name!r}, and {runs[0]} of {names[runs[0]]!r}; name one with --protocol"
            )
    known: dict[str, tuple[CaseRecord, Path]] = {}
    given: dict[str, dict[str, Nodes]] = {}
    for label, source in sources.items():
        scored = load_scored(source.run, names[source.run], profile, source.judge)
        given[label] = scored.nodes
        for record in scored.records:
            before, place = known.setdefault(record.id, (record, source.run))
            if (before.document, before.task) != (record.document, record.task):
                raise InputError(
                    f"report {record.id!r} is another text, or answers another task, in {place} than in {source.run}"
                )
    paths = (path for nodes in given.values() for own in nodes.values() for path in own)
    columns = [
        JudgedColumn(
            path,
            tuple(
                JudgedReport(id, record.task, _scores(id, path, given)) for id, (record, _) in known.items()
            ),
            coverage_of(own[path].score for nodes in given.values() for own in nodes.values() if path in own),
        )
        for path in find_paths(paths, wanted, f"{runs[0]}: {names[runs[0]]}")
    ]
    return JudgedRuns(names[runs[0]], tuple(sources), tuple(columns))


def _run_judges(runs: Sequence[Path]) -> dict[str, _RunJudge]:
    """The judges of all runs by the names that they have here."""
    twice = next((run for place, run in enumerate(runs) if run.resolve() in _resolved(runs[:place])), None)
    if twice is not None:
        raise InputError(f"{twice}: given twice; a run agrees with itself")
    unlike = len({run.resolve().name for run in runs}) == len(runs)
    sources: dict[str, _RunJudge] = {}
    for run in runs:
        own = judges_of(RunStore(run))
        title = run.resolve().name if unlike else str(run)
        for judge in own or (None,):
            label = title if judge is None else judge if len(runs) == 1 else f"{title}/{judge}"
            sources[label] = _RunJudge(run, judge)
    if len(sources) < 2:
        raise InputError(
            f"{runs[0]}: one judge scored its reports; give a run with several judges, or several runs"
        )
    return sources


def _resolved(runs: Sequence[Path]) -> list[Path]:
    return [run.resolve() for run in runs]


def _scores(id: str, path: tuple[str, ...], given: dict[str, dict[str, Nodes]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for judge, nodes in given.items():
        node = nodes.get(id, {}).get(path)
        if node is not None and node.score.value is not None:
            found[judge] = node.score.value
    return found
