"""Runs with their scores, read once for all parts of a page.

Invariant: of an unfinished run, the scores are those of the reports that are complete so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from local_judge.protocols.base import load_protocol
from local_judge.runs.results.attributes import OpenRun
from local_judge.runs.results.joining import run_names
from local_judge.runs.results.scored import Nodes, Scored
from local_judge.runs.storage.manifest import judges_of, protocols_of
from local_judge.runs.storage.records import load_records, load_scores
from local_judge.runs.storage.rescoring import derived_scores
from local_judge.runs.storage.resume import is_finished, unfinished_records
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import SystemScore, load_system_scores, summarised
from local_judge.scoring.node import Profile


class Loaded(NamedTuple):
    """Scores of one protocol by one judge in one run."""

    run: int
    """Index of the run."""
    judge: str | None
    protocol: str
    scored: Scored
    systems: list[SystemScore]


class Results(NamedTuple):
    """Runs with their scores, read once for all parts of a page."""

    runs: Sequence[OpenRun]
    profile: Profile
    loaded: Sequence[Loaded]

    def trees(self, run: int, judge: str | None, report: str) -> dict[str, Nodes]:
        """Return the scores of one report by protocol."""
        return {
            one.protocol: one.scored.nodes.get(report, {})
            for one in self.loaded
            if (one.run, one.judge) == (run, judge)
        }


def load_results(paths: Sequence[Path], profile: Profile = "paper") -> Results:
    """Read the scores of one or several runs.

    Args:
        paths: run directories.
        profile: formulas; a protocol without this profile is shown by its only one.

    Raises:
        RunError: a directory contains no run, or the run was modified.
        InputError: a directory is given twice.
    """
    runs = [
        _opened(path, name) for path, name in zip(paths, run_names(paths, "a run counts once"), strict=True)
    ]
    found = [one for place, run in enumerate(runs) for one in _loaded(place, run, profile)]
    return Results(runs, profile, found)


def _opened(path: Path, name: str) -> OpenRun:
    """Open a run; of an unfinished one, the reports that are complete so far."""
    store = RunStore(path)
    if is_finished(store):
        return OpenRun(name, store, None, load_records(store))
    return OpenRun(name, store, None, unfinished_records(store, judges_of(store)))


def _loaded(place: int, run: OpenRun, profile: Profile) -> Iterator[Loaded]:
    judges = judges_of(run.store)
    for protocol in protocols_of(run.store):
        having = load_protocol(protocol).profiles
        used = profile if profile in having else having[0]
        if is_finished(run.store):
            rows = load_scores(run.store, (protocol,), (None, *judges), profile=used)
            systems = load_system_scores(run.store, (protocol,), (None, *judges))
        else:
            rows, aggregates = derived_scores(run.store, protocol, run.records, judges)
            systems = summarised(run.records, rows, aggregates)
        for judge in (None, *judges):
            nodes = {
                row.case: dict(entry for root in row.scores for entry in root.walk())
                for row in rows
                if (row.profile, row.judge) == (used, judge)
            }
            scored = Scored(run.records, nodes, f"{run.store.root}: {protocol}")
            own = [row for row in systems if (row.profile, row.judge) == (used, judge)]
            yield Loaded(place, judge, protocol, scored, [row for row in own if not row.all_systems])
