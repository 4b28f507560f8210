"""Two runs, or the systems of one run, compared: scores, verdicts and answers.

Invariants: every number is of matched reports or tasks only, and what has no match is counted. The p-value of a
difference does not depend on what is shown: Holm's correction is over the overall scores of all protocols and all pairs
that are compared, and over their other scores likewise. Noise is measured by a repetition of the first run or is
unknown; it is never assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from local_judge.base.model import Frozen
from local_judge.runs.results.attributes import OpenRun, open_runs
from local_judge.runs.results.matching import (
    MatchedReports,
    Place,
    Sides,
    answers_of,
    matched_reports,
    score_values,
    system_values,
    verdicts_of,
)
from local_judge.runs.results.scored import (
    Scored,
    find_path,
    load_scored,
    meanings_of,
    report_path,
    report_scores,
    reports_of,
    stored_profiles,
)
from local_judge.runs.storage.manifest import (
    changed,
    difference,
    judges_of,
    protocols_of,
    read_manifest,
)
from local_judge.scoring.node import Profile, headlines
from local_judge.stats.comparison import Difference, compare, corrected, mean_contrast
from local_judge.stats.estimate import DRAWS


class ScoreDifference(Frozen):
    """One score of two runs, or of two systems."""

    protocol: str
    path: Place
    label: str
    first: str
    """Run or system."""
    second: str
    difference: Difference
    """Second minus first."""
    noise: Difference | None = None
    """Repetition minus first run; null without a repetition."""
    within_noise: bool | None = None
    """True if the difference is not larger than the farther end of the noise's interval; null if it is unknown."""


class Flip(Frozen):
    """Verdict on a claim, or answer to a question of a protocol, that differs."""

    report: str
    """Id of the report in the first run."""
    protocol: str = ""
    """Protocol that asks the question; empty for a verdict on a claim."""
    metric: str = ""
    item: str = ""
    text: str
    """Claim or question."""
    source: str
    """URL of the page; empty for a question about the report."""
    first: str | float | None
    """Verdict or answer of the first run; null if it failed."""
    second: str | float | None
    first_confidence: float | None = None
    second_confidence: float | None = None
    unstable: bool | None = None
    """True if it also changed in the repetition; null without one."""


class Changes(Frozen):
    """Counts of matched verdicts or answers, and of those that differ."""

    n: int = 0
    """Matched ones."""
    n_changed: int = 0
    n_first: int = 0
    """Number of verdicts or answers of matched reports that only the first run has."""
    n_second: int = 0
    n_changed_by_noise: int | None = None
    """Changes between the first run and its repetition; null without one."""


class RunDifference(Frozen):
    """Comparison of two runs."""

    first: str
    second: str
    again: str | None
    """Repetition of the first run."""
    inputs: tuple[str, ...]
    """Parts of the manifests that differ."""
    matched_by: str
    n_reports: int
    """Matched reports."""
    n_first: int
    """Reports of the first run without a match."""
    n_second: int
    profile: Profile
    scores: tuple[ScoreDifference, ...]
    verdicts: Changes | None
    """Null if a run has several judges and none is chosen."""
    flips: tuple[Flip, ...]
    items: Changes | None
    item_changes: tuple[Flip, ...]
    seed: int
    resamples: int


class _Candidate(NamedTuple):
    """One score of two sides, which is tested whether it is shown or not."""

    protocol: str
    path: Place
    label: str
    names: tuple[str, str]
    sides: Sides
    overall: bool
    """True for a score that sums up a report."""
    shown: bool


def _tested(candidates: Sequence[_Candidate], seed: int, draws: int) -> list[ScoreDifference]:
    """Return the differences that are shown, corrected for all of their family."""
    found: dict[int, ScoreDifference] = {}
    for overall in (True, False):
        family = [(place, one) for place, one in enumerate(candidates) if one.overall == overall]
        if not any(one.shown for _, one in family):
            continue
        differences = corrected(
            [
                compare(*one.sides, itemgetter(0), mean_contrast, seed=seed, draws=draws if one.shown else 0)
                for _, one in family
            ]
        )
        found |= {
            place: ScoreDifference(
                protocol=one.protocol,
                path=one.path,
                label=one.label,
                first=one.names[0],
                second=one.names[1],
                difference=own,
            )
            for (place, one), own in zip(family, differences, strict=True)
            if one.shown
        }
    return [found[place] for place in sorted(found)]


def run_difference(
    runs: tuple[Path, Path],
    *,
    again: Path | None = None,
    protocol: str | None = None,
    score: str | None = None,
    profile: Profile = "paper",
    all_scores: bool = False,
    judge: str | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> RunDifference:
    """Compare the second of two runs with the first.

    Args:
        runs: run directories.
        again: repetition of the first run by the same judge, which measures its noise.
        protocol: the only protocol to show; None for all that both runs have.
        score: the only score to show, as `runs.results.scored.find_path` takes it; None for the overall ones.
        profile: profile of the scores.
        all_scores: show the scores of all dimensions.
        judge: one of several judges of the runs; None for the ensembles.
        seed: random seed of the bootstrap.
        draws: number of resamples.

    Raises:
        RunError: a directory contains no finished run, or no such protocol, profile, score or judge.
        InputError: no report of one run is in the other, or a run is given twice.
    """
    opened = open_runs([*runs, *([again] if again is not None else [])], judge)
    first, second, *others = opened
    repeated = others[0] if others else None
    matched, noise = matched_reports(first, second), repeated and matched_reports(first, repeated)
    common = [name for name in protocols_of(first.store) if name in protocols_of(second.store)]
    shown = [protocol] if protocol is not None else common
    candidates: list[_Candidate] = []
    noises: dict[tuple[str, Place], Sides] = {}
    for name in dict.fromkeys([*common, *shown]):
        if name not in shown and not all(
            profile in stored_profiles(run.store, name, run.judge) for run in opened
        ):
            continue
        loaded = [load_scored(run.store.root, name, profile, run.judge) for run in opened]
        candidates += _of_runs(
            name, (first.name, second.name), loaded, matched, name in shown, score, all_scores
        )
        if noise is not None:
            noises |= {
                (name, path): sides for path, sides in score_values(noise, loaded[0], loaded[2]).items()
            }
    scores = _tested(candidates, seed, draws)
    single = all(run.judge is not None or not judges_of(run.store) for run in opened)
    verdicts, flips = _flips(opened, matched, noise, [""]) if single else (None, ())
    items, item_changes = _flips(opened, matched, noise, shown) if single else (None, ())
    return RunDifference(
        first=first.name,
        second=second.name,
        again=None if repeated is None else repeated.name,
        inputs=tuple(_inputs(first, second)),
        matched_by=matched.by,
        n_reports=len(matched.pairs),
        n_first=matched.n_first,
        n_second=matched.n_second,
        profile=profile,
        scores=tuple(_with_noise(row, noises.get((row.protocol, row.path)), seed, draws) for row in scores),
        verdicts=verdicts,
        flips=tuple(flips),
        items=items,
        item_changes=tuple(item_changes),
        seed=seed,
        resamples=draws,
    )


def _inputs(first: OpenRun, second: OpenRun) -> Iterator[str]:
    before, after = read_manifest(first.store), read_manifest(second.store)
    for key in changed(before, after):
        yield ".".join([key, *(step.strip("'") for step in difference(before.get(key), after.get(key)))])


def _of_runs(
    protocol: str,
    names: tuple[str, str],
    loaded: Sequence[Scored],
    matched: MatchedReports,
    shown: bool,
    wanted: str | None,
    all_scores: bool,
) -> Iterator[_Candidate]:
    values = score_values(matched, loaded[0], loaded[1])
    meanings = meanings_of(loaded[:2])
    trees = loaded[0].nodes.values()
    overall = {
        (root.id,)
        for nodes in trees
        for root in headlines([node for path, node in nodes.items() if len(path) == 1])
    }
    labels = {path: node.label for nodes in trees for path, node in nodes.items()}
    paths = [path for path in labels if path in overall or not meanings.varies(path)]
    chosen = set(paths) if all_scores else overall
    if wanted is not None and shown:
        chosen = {find_path(values, wanted, loaded[0].place, meanings)}
    for path in paths:
        yield _Candidate(
            protocol,
            path,
            labels[path],
            names,
            values.get(path, ({}, {})),
            path in overall,
            shown and path in chosen,
        )


def _with_noise(row: ScoreDifference, noise: Sides | None, seed: int, draws: int) -> ScoreDifference:
    if noise is None:
        return row
    repeated = compare(*noise, itemgetter(0), mean_contrast, seed=seed, draws=draws)
    value, within = row.difference.value, None
    if value is not None and repeated.low is not None and repeated.high is not None:
        within = abs(value) <= max(abs(repeated.low), abs(repeated.high))
    return row.model_copy(update={"noise": repeated, "within_noise": within})


def _flips(
    opened: Sequence[OpenRun], matched: MatchedReports, noise: MatchedReports | None, protocols: Sequence[str]
) -> tuple[Changes, list[Flip]]:
    """Return what differs of the answers to protocols' questions, or for the protocol '' of verdicts on claims."""
    flips: list[Flip] = []
    counts = Changes() if noise is None else Changes(n_changed_by_noise=0)
    repeats = {record.id: other for record, other in noise.pairs} if noise is not None else {}
    for protocol in protocols:
        read = partial(answers_of, protocol=protocol) if protocol else verdicts_of
        for record, other in matched.pairs:
            first, second = read(opened[0], record), read(opened[1], other)
            again = read(opened[2], repeats[record.id]) if record.id in repeats else {}
            found = [
                Flip(
                    report=record.id,
                    protocol=protocol,
                    metric=answer.metric,
                    item=answer.item,
                    text=answer.text,
                    source=answer.url,
                    first=answer.value,
                    second=second[key].value,
                    first_confidence=answer.confidence,
                    second_confidence=second[key].confidence,
                    unstable=again[key].value != answer.value if key in again else None,
                )
                for key, answer in first.items()
                if key in second and second[key].value != answer.value
            ]
            flips += found
            n = len(first.keys() & second.keys())
            by_noise = sum(key in again and again[key].value != answer.value for key, answer in first.items())
            counts = Changes(
                n=counts.n + n,
                n_changed=counts.n_changed + len(found),
                n_first=counts.n_first + len(first) - n,
                n_second=counts.n_second + len(second) - n,
                n_changed_by_noise=None
                if counts.n_changed_by_noise is None
                else counts.n_changed_by_noise + by_noise,
            )
    return counts, flips


def system_differences(
    run: OpenRun,
    profile: Profile = "paper",
    *,
    all_scores: bool = False,
    protocol: str | None = None,
    score: str | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> tuple[ScoreDifference, ...]:
    """Return the mean differences of all pairs of systems of a run, paired by task.

    Args:
        run: a finished run.
        profile: profile of the scores; a protocol without it is left out.
        all_scores: show the scores of all dimensions instead of the overall ones.
        protocol: the only protocol to show.
        score: the only score to show, as `runs.results.scored.find_path` takes it.
        seed: random seed of the bootstrap.
        draws: number of resamples.

    Raises:
        RunError: the run has no such protocol, profile or score.
    """
    candidates: list[_Candidate] = []
    names = protocols_of(run.store)
    for name in names if protocol in (None, *names) else (*names, protocol):
        shown = protocol in (None, name)
        if not shown and profile not in stored_profiles(run.store, name, run.judge):
            continue
        systems = report_scores(run.store, name, profile, run.judge)
        overall = {row.path for row in systems if row.headline}
        chosen = {row.path for row in systems} if all_scores else overall
        if score is not None and shown:
            chosen = {report_path(run.store, name, profile, score, run.judge)}
        labels = {row.path: row.label for row in systems}
        # The other scores are read only if one of them is shown.
        paths = (
            list(labels) if all_scores or not chosen <= overall else [*filter(overall.__contains__, labels)]
        )
        scored = load_scored(run.store.root, name, profile, run.judge, paths)
        for path in paths:
            values = system_values(reports_of(scored, path))
            candidates += [
                _Candidate(
                    name,
                    path,
                    labels[path],
                    (first, second),
                    (values[first], values[second]),
                    path in overall,
                    shown and path in chosen,
                )
                for first, second in combinations(values, 2)
            ]
    return tuple(row for row in _tested(candidates, seed, draws) if row.difference.n)
