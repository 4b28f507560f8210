"""Citation accuracy: errors of one report, fewer is better (section 4.1, appendix with the rubric tree).

    E1 = dead addresses          E1 rate = E1 / addresses of which it is known
    E2 = pages off topic         E2 rate = E2 / addresses of which it is known
    E3 = claims and addresses on live pages on topic where the page does not support the claim;  E3 rate = E3 / judged
    errors = E1 + E2 + E3        the paper's number is its mean over reports

A claim that a page supports in part is not supported by it; how many of E3 are such is given beside it. What we could
not read (`not_in_snapshot`, `blocked`, `empty`, `unsupported_type`) is no error and no dead page: it opens the upper
bound, as failures do.

Invariant: `low` is what is known, so that it equals the value; a page that is unknown opens `high` by one, or by one
for each claim on it where those are more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from local_judge.protocols.base import Rated
from local_judge.protocols.liveresearchbench.accuracy.findings import (
    AccuracyFindings,
    CitedClaim,
    CitedPage,
)
from local_judge.protocols.scores import Profile, Score, ScoreNode

NOT_CODED = "the published code has no citation accuracy"
NOTHING_CITED = "the report cites no page"
NO_CLAIM = "no claim cites a page that is live and on topic"
NOTHING_KNOWN = "nothing is known of any of them"

_LABELS = {
    "errors": "Citation errors",
    "e1": "E1 unreachable",
    "e2": "E2 off topic",
    "e3": "E3 unsupported",
    "e1_rate": "E1 of addresses",
    "e2_rate": "E2 of addresses",
    "e3_rate": "E3 of claims on pages",
    "partial": "of E3: supported in part",
    "unavailable": "Unavailable to us",
}


class _Tally(NamedTuple):
    """Numbers of pages, and of claims on them."""

    pages: int
    dead: int
    unavailable: int
    off_topic: int
    undecided: int
    """Pages with text of which it is not known whether they are on topic."""
    judged: int
    unsupported: int
    partial: int
    open: int
    """Claims on pages that may be live and on topic, without a verdict that counts."""
    worst: int
    """Most errors beyond those that are known."""
    in_part: int
    """Live pages on topic with a claim without a verdict."""


def score_accuracy(findings: AccuracyFindings, profile: Profile) -> ScoreNode:
    """All errors, with their kinds, rates, and what could not be read."""
    scores = _scores(_tally(findings))
    if profile == "upstream":
        none = Score(value=None, n_undefined=1, note=NOT_CODED)
        scores = dict.fromkeys(scores, none)
    children = tuple(
        ScoreNode(id=name, label=_LABELS[name], score=score)
        for name, score in scores.items()
        if name != "errors"
    )
    return ScoreNode(id="accuracy", label=_LABELS["errors"], score=scores["errors"], children=children)


def _tally(findings: AccuracyFindings) -> _Tally:
    on_page: dict[str, list[CitedClaim]] = {page.url: [] for page in findings.pages}
    for claim in findings.claims:
        on_page[claim.url].append(claim)
    unavailable = [page for page in findings.pages if page.status not in ("ok", "dead")]
    live = [page for page in findings.pages if page.status == "ok"]
    undecided = [page for page in live if page.on_topic is None]
    good = [claim for page in live if page.on_topic for claim in on_page[page.url]]
    labels = [claim.label for claim in good if claim.label is not None]
    without = [claim.url for claim in good if claim.label is None]
    unsure = [*unavailable, *undecided]
    return _Tally(
        pages=len(findings.pages),
        dead=sum(page.status == "dead" for page in findings.pages),
        unavailable=len(unavailable),
        off_topic=sum(page.on_topic is False for page in live),
        undecided=len(undecided),
        judged=len(labels),
        unsupported=sum(label != "supported" for label in labels),
        partial=labels.count("partial"),
        open=len(without) + sum(len(on_page[page.url]) for page in unsure),
        worst=len(without) + sum(_most(page, on_page[page.url]) for page in unsure),
        in_part=len(set(without)),
    )


def _most(page: CitedPage, claims: Sequence[CitedClaim]) -> int:
    """Most errors that an unknown page may hold: that it is dead or off topic, or one for each claim not supported."""
    if page.status != "ok":
        return max(1, len(claims))
    return max(1, sum(claim.label != "supported" for claim in claims))


def _scores(tally: _Tally) -> dict[str, Score]:
    pages, unavailable = tally.pages, tally.unavailable
    unknown = unavailable + tally.undecided
    pairs = tally.judged + tally.open
    errors = tally.dead + tally.off_topic + tally.unsupported
    found = _count(errors, tally.worst, pages, unknown, NOTHING_CITED)
    return {
        "errors": found.model_copy(update={"n_failed": unknown + tally.in_part}),
        "e1": _count(tally.dead, unavailable, pages, unavailable, NOTHING_CITED),
        "e2": _count(tally.off_topic, unknown, pages, unknown, NOTHING_CITED),
        "e3": _count(tally.unsupported, tally.open, pairs, tally.open, NO_CLAIM),
        "e1_rate": _rate(tally.dead, pages, unavailable, NOTHING_CITED),
        "e2_rate": _rate(tally.off_topic, pages, unknown, NOTHING_CITED),
        "e3_rate": _rate(tally.unsupported, pairs, tally.open, NO_CLAIM),
        "partial": _count(tally.partial, tally.open, pairs, tally.open, NO_CLAIM),
        "unavailable": _count(unavailable, 0, pages, 0, NOTHING_CITED),
    }


def _count(known: int, more: int, n: int, n_failed: int, without: str) -> Score:
    """A number of errors: what is known, and what may come to it; `without`: what it says where there are no units."""
    nothing = n > 0 and n_failed == n
    return Score(
        value=None if nothing else float(known),
        numerator=None if nothing else float(known),
        n_expected=n,
        n_failed=n_failed,
        low=float(known),
        high=float(known + more),
        note=NOTHING_KNOWN if nothing else "" if n else without,
    )


def _rate(found: int, n: int, n_failed: int, without: str) -> Score:
    if not n:
        return Score(value=None, n_undefined=1, note=f"0/0: {without}")
    known = n - n_failed
    return Score(
        value=found / known if known else None,
        numerator=float(found) if known else None,
        denominator=float(known) if known else None,
        n_expected=n,
        n_failed=n_failed,
        low=found / n,
        high=(found + n_failed) / n,
        note="" if known else NOTHING_KNOWN,
    )


def rated_accuracy(findings: AccuracyFindings) -> tuple[Rated, ...]:
    """Whether each page is on topic, and whether it supports each claim: several judges verify the same claims."""
    pages = [
        Rated(
            metric="on_topic",
            item=page.url,
            value=None if page.on_topic is None else "yes" if page.on_topic else "no",
            scale="nominal",
        )
        for page in findings.pages
        if page.status == "ok"
    ]
    read = {page.item for page in pages}
    claims = [
        Rated(
            metric="claim_support",
            item=f"{claim.claim} {claim.url}",
            value=None if claim.label is None else "yes" if claim.label == "supported" else "no",
            scale="nominal",
        )
        for claim in findings.claims
        if claim.url in read
    ]
    return (*pages, *claims)
