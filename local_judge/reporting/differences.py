"""Two runs compared: scores, verdicts and answers, as data for the terminal, the page and programs.

Invariant: every number is of matched reports only, and what has no match is counted. Noise is measured by a repetition
of the first run or is unknown; it is never assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from local_judge.base.model import Frozen
from local_judge.claims.model import Label
from local_judge.protocols.base import ItemRow
from local_judge.runs.results.attributes import OpenRun, open_runs
from local_judge.runs.results.matching import (
    MatchedReports,
    StoredVerdict,
    items_by_question,
    matched_reports,
    score_pairs,
    system_pairs,
    verdicts_by_claim,
)
from local_judge.runs.results.scored import (
    Nodes,
    find_path,
    load_scored,
    meanings_of,
    report_path,
    report_scores,
    reports_of,
)
from local_judge.runs.storage.manifest import changed, difference, judges_of, protocols_of, read_manifest
from local_judge.scoring.node import Profile, headlines
from local_judge.stats.estimate import DRAWS, LEAST_UNITS, LEVEL
from local_judge.stats.paired import Difference, corrected, paired_difference
from local_judge.terminal import NONE, count, plain_table, safe


class ScoreDifference(Frozen):
    """One score in both runs."""

    protocol: str
    path: tuple[str, ...]
    label: str
    difference: Difference
    """Second run minus first run; Holm's correction is over all scores of the comparison."""
    noise: Difference | None = None
    """Repetition minus first run; null without a repetition."""
    within_noise: bool | None = None
    """True if the difference is not larger than the farther end of the noise's interval; null if it is unknown."""


class Flip(Frozen):
    """Claim whose verdict differs."""

    report: str
    """Id of the report in the first run."""
    claim: str
    source: str
    first: Label | None
    """Verdict of the first run; null if it failed."""
    second: Label | None
    first_confidence: float | None = None
    second_confidence: float | None = None
    unstable: bool | None = None
    """True if the verdict also changed in the repetition; null without one."""


class ItemChange(Frozen):
    """Answer to a question of a protocol that differs."""

    report: str
    protocol: str
    metric: str
    item: str
    text: str
    first: str | float | None
    second: str | float | None
    unstable: bool | None = None


class Changes(Frozen):
    """Counts of matched verdicts or answers, and of those that differ."""

    n: int
    """Matched ones."""
    n_changed: int
    n_first: int
    """Number of units of matched reports that only the first run has."""
    n_second: int
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
    item_changes: tuple[ItemChange, ...]
    seed: int
    resamples: int


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
        protocol: the only protocol to compare; None for all that both runs have.
        score: the only score to compare, as `runs.scored.find_path` takes it; None for the overall ones.
        profile: profile of the scores.
        all_scores: compare the scores of all dimensions.
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
    names = [name for name in protocols_of(first.store) if name in protocols_of(second.store)]
    names = [name for name in names if protocol in (None, name)] or ([protocol] if protocol else [])
    scores = [
        row
        for name in names
        for row in _scores(name, opened, matched, noise, score, profile, all_scores, seed, draws)
    ]
    whole = corrected([row.difference for row in scores])
    single = all(run.judge is not None or not judges_of(run.store) for run in opened)
    verdicts, flips = _flips(opened, matched, noise) if single else (None, ())
    items, item_changes = _items(names, opened, matched, noise) if single else (None, ())
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
        scores=tuple(
            row.model_copy(update={"difference": one}) for row, one in zip(scores, whole, strict=True)
        ),
        verdicts=verdicts,
        flips=tuple(flips),
        items=items,
        item_changes=tuple(item_changes),
        seed=seed,
        resamples=draws,
    )


def _inputs(first: OpenRun, second: OpenRun) -> Iterator[str]:
    one, other = read_manifest(first.store), read_manifest(second.store)
    for key in changed(one, other):
        yield ".".join([key, *(step.strip("'") for step in difference(one.get(key), other.get(key)))])


def _scores(
    protocol: str,
    opened: Sequence[OpenRun],
    matched: MatchedReports,
    noise: MatchedReports | None,
    wanted: str | None,
    profile: Profile,
    all_scores: bool,
    seed: int,
    draws: int,
) -> Iterator[ScoreDifference]:
    loaded = [load_scored(run.store.root, protocol, profile, run.judge) for run in opened]
    pairs = score_pairs(matched, loaded[0], loaded[1])
    by_noise = score_pairs(noise, loaded[0], loaded[2]) if noise is not None else {}
    meanings = meanings_of(loaded[:2])
    paths = [path for path in pairs if not meanings.varies(path)]
    if wanted is not None:
        paths = [find_path(pairs, wanted, loaded[0].place, meanings)]
    elif not all_scores:
        paths = _overall(loaded[0].nodes)
    labels = {path: node.label for nodes in loaded[0].nodes.values() for path, node in nodes.items()}
    for path in paths:
        found = paired_difference(pairs.get(path, ()), seed=seed, draws=draws)
        again = paired_difference(by_noise[path], seed=seed, draws=draws) if by_noise.get(path) else None
        yield ScoreDifference(
            protocol=protocol,
            path=path,
            label=labels[path],
            difference=found,
            noise=again,
            within_noise=_within(found, again),
        )


def _overall(nodes: Mapping[str, Nodes]) -> list[tuple[str, ...]]:
    """Return the paths of the scores that sum up a report."""
    found: dict[tuple[str, ...], None] = {}
    for own in nodes.values():
        for root in headlines([node for path, node in own.items() if len(path) == 1]):
            found[(root.id,)] = None
    return list(found)


def _within(found: Difference, noise: Difference | None) -> bool | None:
    if found.value is None or noise is None or noise.low is None or noise.high is None:
        return None
    return abs(found.value) <= max(abs(noise.low), abs(noise.high))


def _flips(
    opened: Sequence[OpenRun], matched: MatchedReports, noise: MatchedReports | None
) -> tuple[Changes, list[Flip]]:
    flips: list[Flip] = []
    counts, by_noise = _Counts(), _Counts()
    repeats = {one.id: other for one, other in noise.pairs} if noise is not None else {}
    for one, other in matched.pairs:
        mine = verdicts_by_claim(opened[0], one, opened[0].judge)
        theirs = verdicts_by_claim(opened[1], other, opened[1].judge)
        again: Mapping[tuple[str, str], StoredVerdict] = {}
        if one.id in repeats:
            again = verdicts_by_claim(opened[2], repeats[one.id], opened[2].judge)
        counts.add(_labels(mine), _labels(theirs))
        by_noise.add(_labels(mine), _labels(again))
        for key, (text, verdict) in mine.items():
            against = theirs[key].verdict if key in theirs else None
            if against is not None and against.label != verdict.label:
                flips.append(
                    Flip(
                        report=one.id,
                        claim=text,
                        source=verdict.url,
                        first=verdict.label,
                        second=against.label,
                        first_confidence=verdict.confidence,
                        second_confidence=against.confidence,
                        unstable=again[key].verdict.label != verdict.label if key in again else None,
                    )
                )
    return counts.changes(by_noise if noise is not None else None), flips


def _labels(found: Mapping[tuple[str, str], StoredVerdict]) -> dict[tuple[str, ...], object]:
    return {key: one.verdict.label for key, one in found.items()}


def _items(
    protocols: Sequence[str],
    opened: Sequence[OpenRun],
    matched: MatchedReports,
    noise: MatchedReports | None,
) -> tuple[Changes, list[ItemChange]]:
    found: list[ItemChange] = []
    counts, by_noise = _Counts(), _Counts()
    repeats = {one.id: other for one, other in noise.pairs} if noise is not None else {}
    for protocol in protocols:
        for one, other in matched.pairs:
            mine = items_by_question(opened[0], one, protocol, opened[0].judge)
            theirs = items_by_question(opened[1], other, protocol, opened[1].judge)
            again: Mapping[tuple[str, str, str], ItemRow] = {}
            if one.id in repeats:
                again = items_by_question(opened[2], repeats[one.id], protocol, opened[2].judge)
            counts.add(_values(mine), _values(theirs))
            by_noise.add(_values(mine), _values(again))
            found += [
                ItemChange(
                    report=one.id,
                    protocol=protocol,
                    metric=row.metric,
                    item=row.item,
                    text=row.text,
                    first=row.value,
                    second=theirs[key].value,
                    unstable=again[key].value != row.value if key in again else None,
                )
                for key, row in mine.items()
                if key in theirs and theirs[key].value != row.value
            ]
    return counts.changes(by_noise if noise is not None else None), found


def _values(found: Mapping[tuple[str, str, str], ItemRow]) -> dict[tuple[str, ...], object]:
    return {key: one.value for key, one in found.items()}


class _Counts:
    """Counts of matched and changed units."""

    def __init__(self) -> None:
        self.n = self.n_changed = self.n_first = self.n_second = 0

    def add(self, first: Mapping[tuple[str, ...], object], second: Mapping[tuple[str, ...], object]) -> None:
        both = first.keys() & second.keys()
        self.n += len(both)
        self.n_changed += sum(first[key] != second[key] for key in both)
        self.n_first += len(first) - len(both)
        self.n_second += len(second) - len(both)

    def changes(self, noise: _Counts | None) -> Changes:
        return Changes(
            n=self.n,
            n_changed=self.n_changed,
            n_first=self.n_first,
            n_second=self.n_second,
            n_changed_by_noise=None if noise is None else noise.n_changed,
        )


def difference_parts(found: RunDifference, limit: int) -> Iterator[RenderableType]:
    """Yield the tables and lines of a comparison; `limit`: maximum number of verdicts and of answers."""
    first, second = safe(found.first), safe(found.second)
    yield f"{second} compared with {first}: {count(found.n_reports, 'report')} matched by {found.matched_by}"
    if found.n_first or found.n_second:
        yield f"without a match: {found.n_first} of {first}, {found.n_second} of {second}"
    yield "what differs: " + (", ".join(map(safe, found.inputs)) or "nothing in the inputs")
    yield score_differences(found)
    tested = sum(one.difference.p is not None for one in found.scores)
    yield (
        f"( ) {LEVEL} % paired bootstrap interval over tasks, {found.resamples:,} draws, seed {found.seed}; "
        f"p: sign flips of tasks, corrected for {count(tested, 'test')} (Holm)"
    )
    yield "means are over the matched reports, also of scores that `show` computes by a protocol's own rule"
    if found.again is None:
        yield (
            "the judge's own noise is unknown: repeat the first run with another sampling seed in its preset and "
            "name it with --again"
        )
    for what, changes in (("verdicts", found.verdicts), ("answers", found.items)):
        if changes is None:
            yield f"{what}: not compared, because a run has several judges; choose one with --judge"
        else:
            yield _counted(what, changes)
    yield from _flip_blocks(found.flips, limit)
    yield from _change_table(found.item_changes, limit)


def score_differences(found: RunDifference) -> Table:
    """Return a row for each score: both means, the difference with its interval, the p-value and the noise."""
    noise = ("noise",) if found.again is not None else ()
    table = plain_table(
        "", ("score",), (safe(found.first), safe(found.second), "difference", "tasks", "p", *noise)
    )
    for one in found.scores:
        own = one.difference
        table.add_row(
            safe(f"{one.protocol}: {one.label}"),
            _number(own.first),
            _number(own.second),
            difference_text(own),
            str(own.n_tasks),
            p_text(own),
            *((_noise(one),) if noise else ()),
        )
    return table


class SystemDifference(Frozen):
    """One score of two systems on the same tasks."""

    protocol: str
    path: tuple[str, ...]
    label: str
    first: str
    """System."""
    second: str
    difference: Difference
    """Second system minus first one; Holm's correction is over all pairs of systems of the score."""


def system_differences(
    run: OpenRun,
    profile: Profile = "paper",
    *,
    all_scores: bool = False,
    protocol: str | None = None,
    score: str | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> tuple[SystemDifference, ...]:
    """Return the mean differences of all pairs of systems of a run, paired by task.

    Args:
        run: a finished run.
        profile: profile of the scores; a protocol without it is left out.
        all_scores: compare the scores of all dimensions instead of the overall ones.
        protocol: the only protocol to compare.
        score: the only score to compare, as `runs.scored.find_path` takes it.
        seed: random seed of the bootstrap.
        draws: number of resamples.

    Raises:
        RunError: the run has no such protocol, profile or score.
    """
    found: list[SystemDifference] = []
    for name in protocols_of(run.store) if protocol is None else (protocol,):
        systems = report_scores(run.store, name, profile, run.judge)
        labels = {row.path: row.label for row in systems}
        paths = [row.path for row in systems if all_scores or row.headline]
        if score is not None:
            paths = [report_path(run.store, name, profile, score, run.judge)]
        scored = load_scored(run.store.root, name, profile, run.judge, paths)
        for path in dict.fromkeys(paths):
            pairs = system_pairs(reports_of(scored, path))
            differences = corrected(
                [paired_difference(own, seed=seed, draws=draws) for own in pairs.values()]
            )
            found += [
                SystemDifference(
                    protocol=name,
                    path=path,
                    label=labels[path],
                    first=first,
                    second=second,
                    difference=difference,
                )
                for (first, second), difference in zip(pairs, differences, strict=True)
                if difference.n
            ]
    return tuple(found)


def system_difference_parts(found: Sequence[SystemDifference]) -> Iterator[RenderableType]:
    """Yield a table of the differences between systems, and a note."""
    if not found:
        yield "no two systems have scores on the same task"
        return
    table = plain_table("differences of systems", ("score", "systems"), ("difference", "tasks", "p"))
    for one in found:
        systems = f"{safe(one.second, 30)} - {safe(one.first, 30)}"
        own = one.difference
        table.add_row(
            safe(f"{one.protocol}: {one.label}"), systems, difference_text(own), str(own.n_tasks), p_text(own)
        )
    yield table
    yield (
        f"( ) {LEVEL} % paired bootstrap interval over tasks; p: sign flips of tasks, corrected for all pairs of "
        f"systems of a score (Holm), for {LEAST_UNITS} tasks or more"
    )


def difference_text(found: Difference) -> str:
    """Return a difference with its interval: `+0.25 (-0.10 to +0.60)`."""
    if found.value is None:
        return NONE
    if found.low is None or found.high is None:
        return f"{found.value:+.2f}"
    return f"{found.value:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


def p_text(found: Difference) -> str:
    """Return the corrected p-value; a dash if there are too few tasks for one."""
    value = found.p if found.p_holm is None else found.p_holm
    return NONE if value is None else f"{value:.3f}"


def _noise(one: ScoreDifference) -> str:
    if one.noise is None or one.within_noise is None:
        return NONE
    return f"{difference_text(one.noise)} {'within' if one.within_noise else 'beyond'}"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _counted(what: str, changes: Changes) -> str:
    said = f"{what}: {changes.n_changed:,} of {changes.n:,} changed"
    if changes.n_changed_by_noise is not None:
        said += f", {changes.n_changed_by_noise:,} in the repetition"
    if changes.n_first or changes.n_second:
        said += f"; {changes.n_first:,} and {changes.n_second:,} are in one run only"
    return said


def _flip_blocks(flips: Sequence[Flip], limit: int) -> Iterator[RenderableType]:
    if not flips:
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for one in flips[:limit]:
        table.add_row()
        table.add_row("claim", safe(one.claim))
        table.add_row("report", safe(one.report))
        table.add_row("source", safe(one.source))
        before, after = _label(one.first, one.first_confidence), _label(one.second, one.second_confidence)
        table.add_row("verdict", f"{before} → {after}{_unstable(one.unstable)}")
    yield table
    if len(flips) > limit:
        yield f"{len(flips) - limit:,} more changed verdicts: --shown {len(flips)} or --json lists them"


def _change_table(changes: Sequence[ItemChange], limit: int) -> Iterator[RenderableType]:
    if not changes:
        return
    table = plain_table("", ("report", "metric", "item"), ("first", "second"))
    for one in changes[:limit]:
        table.add_row(
            safe(one.report, 30),
            safe(f"{one.protocol}: {one.metric}"),
            safe(one.text or one.item, 80),
            _value(one.first),
            f"{_value(one.second)}{_unstable(one.unstable)}",
        )
    yield table
    if len(changes) > limit:
        yield f"{len(changes) - limit:,} more changed answers: --shown {len(changes)} or --json lists them"


def _label(label: Label | None, confidence: float | None) -> str:
    said = label or "failed"
    return said if confidence is None else f"{said} {confidence:.2f}"


def _unstable(unstable: bool | None) -> str:
    return " (also changed in the repetition)" if unstable else ""


def _value(value: str | float | None) -> str:
    return NONE if value is None else safe(f"{value:g}" if isinstance(value, float) else str(value), 40)
