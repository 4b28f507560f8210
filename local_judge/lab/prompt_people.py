"""Two runs with different prompts against people: labels of claims, and ratings of reports.

Each prompt extracts its own claims. A label counts for a run if the run has a verdict on the same report, the same page
and a statement of the same words: letter case, white space, compatibility forms of characters (NFKC) and a full stop at
the end make no difference. Statements in other words do not count, because a label of one says nothing sure of another.

Invariants: a labelled statement counts once, with what most of its annotators say; what has no match is counted; a
comparison is of the statements that both runs answered.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from indexes.urls import UrlError, normalise_url
from local_judge.base.model import Frozen
from local_judge.protocols.base import AnyProtocol
from local_judge.runs.results.attributes import OpenRun
from local_judge.runs.results.labels import ClaimLabel
from local_judge.runs.results.matching import MatchedReports, verdicts_by_claim
from local_judge.runs.results.ratings import Joined
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.records import CaseRecord
from local_judge.stats.agreement.method import agreement_of_method, difference_of_methods
from local_judge.stats.estimate import Estimate
from local_judge.stats.paired_calls import CallComparison, PairedCall, compare_calls

CLAIM_SETS = "claims"
"""Name of the verdicts of claim sets; other verdicts are named after their protocol."""

_Place = tuple[int, str, str]
"""Number of the pair of reports, normalised URL, and words of a statement."""


class LabelComparison(Frozen):
    """Verdicts of one kind against people's labels."""

    verdicts: str
    """`claims`, or the protocol that gave the verdicts."""
    n_matched: tuple[int, int]
    """Number of labelled statements that the run has, answered or not, by run."""
    n_unanswered: tuple[int, int]
    """Number of these without an answer: the judge failed, or the page could not be read."""
    found: CallComparison
    """The runs on the statements that both answered; units are reports."""


class LabelledPrompts(Frozen):
    """Two runs against people's labels."""

    n_labels: int
    n_unclear: int
    n_without_text: int
    """Labels without the text of their claim, which cannot be matched."""
    n_elsewhere: int
    """Labels of reports that are not in both runs, or of pages without a valid URL."""
    n_divided: int
    """Statements that as many annotators call supported as not."""
    n_statements: int
    """Labelled statements that can be matched."""
    kinds: tuple[LabelComparison, ...]


class RatedPrompts(Frozen):
    """One measure of agreement with people's ratings (`results agree`)."""

    protocol: str
    score: str
    measure: str
    first: Estimate
    second: Estimate
    difference: Estimate
    """second - first, over the reports that both have scored."""


class _Labels(NamedTuple):
    truths: Mapping[_Place, bool]
    n_unclear: int
    n_without_text: int
    n_elsewhere: int
    n_divided: int


def labelled_prompts(
    labels: Sequence[ClaimLabel],
    protocols: Sequence[AnyProtocol],
    runs: tuple[OpenRun, OpenRun],
    matched: MatchedReports,
    *,
    seed: int,
    draws: int,
) -> LabelledPrompts:
    """Compare two runs by labels of claims.

    Args:
        labels: people's labels, of claims of either run.
        protocols: protocols of both runs.
        runs: the runs.
        matched: their reports in pairs.
        seed: random seed of the bootstrap.
        draws: number of resamples.
    """
    known = _truths(labels, matched)
    kinds: list[LabelComparison] = []
    for name in (CLAIM_SETS, *(one.name for one in protocols)):
        protocol = next((one for one in protocols if one.name == name), None)
        sides = [
            {place: said for place, said in _verdicts(run, side, matched, protocol) if place in known.truths}
            for side, run in enumerate(runs)
        ]
        if not any(sides):
            continue
        first, second = sides
        calls = [
            PairedCall(str(place[0]), truth, one, other)
            for place, truth in known.truths.items()
            if (one := first.get(place)) is not None and (other := second.get(place)) is not None
        ]
        kinds.append(
            LabelComparison(
                verdicts=name,
                n_matched=(len(first), len(second)),
                n_unanswered=(list(first.values()).count(None), list(second.values()).count(None)),
                found=compare_calls(calls, seed=seed, draws=draws),
            )
        )
    return LabelledPrompts(
        n_labels=len(labels),
        n_statements=len(known.truths),
        kinds=tuple(kinds),
        **{name: count for name, count in known._asdict().items() if name != "truths"},
    )


def _truths(labels: Sequence[ClaimLabel], matched: MatchedReports) -> _Labels:
    # Where an id names different pairs in the two runs, that of the first run counts.
    pairs = {pair[side].id: number for side in (1, 0) for number, pair in enumerate(matched.pairs)}
    votes: dict[_Place, list[bool]] = {}
    n_unclear = n_without_text = n_elsewhere = 0
    for label in labels:
        place = _place(pairs.get(label.report), label.url, label.text)
        if label.label == "unclear":
            n_unclear += 1
        elif not label.text.strip():
            n_without_text += 1
        elif place is None:
            n_elsewhere += 1
        else:
            votes.setdefault(place, []).append(label.label == "supported")
    truths = {place: 2 * sum(own) > len(own) for place, own in votes.items() if 2 * sum(own) != len(own)}
    return _Labels(truths, n_unclear, n_without_text, n_elsewhere, len(votes) - len(truths))


def _verdicts(
    run: OpenRun, side: int, matched: MatchedReports, protocol: AnyProtocol | None
) -> Iterator[tuple[_Place, bool | None]]:
    """Yield whether a run calls a statement supported, None for a failure. Of equal ones, the first answer counts."""
    found: dict[_Place, bool | None] = {}
    for number, pair in enumerate(matched.pairs):
        for url, text, said in _of_report(run, pair[side], protocol):
            place = _place(number, url, text)
            if place is not None and found.get(place) is None:
                found[place] = said
    yield from found.items()


def _of_report(
    run: OpenRun, record: CaseRecord, protocol: AnyProtocol | None
) -> Iterator[tuple[str, str, bool | None]]:
    if protocol is None:
        for (_, url), stored in verdicts_by_claim(run, record, None).items():
            label = stored.verdict.label
            yield url, stored.claim, None if label is None else label == "supported"
    elif record.status == "done":
        findings = run.store.read_item(findings_file(protocol.name, None), record.key, protocol.findings_type)
        for one in protocol.page_verdicts(findings):
            yield one.url, one.statement, one.supported


def _place(number: int | None, url: str, text: str) -> _Place | None:
    if number is None:
        return None
    with suppress(UrlError):
        words = unicodedata.normalize("NFKC", " ".join(text.split())).casefold()
        return number, normalise_url(url), words.rstrip(" .。")
    return None


def rated_prompts(
    joined: Joined, protocol: str, score: str, *, seed: int, draws: int
) -> tuple[RatedPrompts, ...]:
    """Return the measures of `results agree` that both runs have, with the difference of the second and the first.

    Args:
        joined: ratings with the scores of the two runs.
        protocol: protocol of the score.
        score: name of the score.
        seed: random seed of the bootstrap.
        draws: number of resamples.
    """
    first, second = (one.tasks for one in joined.methods)
    # Without two ratings of a report, the filter by the agreement of people would remove every task.
    filtered = any(len(report.ratings) > 1 for task in joined.tasks for report in task.reports)
    sides = [
        {
            one.id: one.estimate
            for one in agreement_of_method(tasks, filtered=filtered, seed=seed, draws=draws).measures
        }
        for tasks in (first, second)
    ]
    differences = difference_of_methods(second, first, filtered=filtered, seed=seed, draws=draws).measures
    return tuple(
        RatedPrompts(
            protocol=protocol,
            score=score,
            measure=one.label,
            first=sides[0][one.id],
            second=sides[1][one.id],
            difference=one.estimate,
        )
        for one in differences
        if one.id in sides[0] and one.id in sides[1]
    )
