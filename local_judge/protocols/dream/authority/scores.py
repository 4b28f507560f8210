"""Domain authority, 0 to 100 (DREAM, section 3).

    DA = 100 * (1 / |D|) * sum over D of S_d / 10          D: distinct domains cited; S_d: 1 to 10

    authority       a report that cites no domain has 0, as the paper's tables print it
    when_cited      it has none
    over reports    the means of both, and `share_uncited`: reports that cite no domain, of all reports

Of several judges, S_d is the mean of those that gave one. A domain without a score is left out and opens the bounds
with 1 and with 10.

Invariant: with citations no report is under 10.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.dream.authority.domains import shown
from local_judge.protocols.dream.authority.findings import AuthorityFindings, CitedDomain
from local_judge.protocols.dream.means import mean_over, share_over
from local_judge.protocols.scores import Score, ScoreNode

SCALE = 10.0
"""From a domain's score to the metric's."""
LEAST, MOST = 10.0, 100.0
UNCITED = "it cites no domain"


def score_authority(judges: Sequence[AuthorityFindings]) -> ScoreNode:
    """DA of one report, with the share of each domain; one judge at least."""
    domains = tuple(
        ScoreNode(id=same[0].domain, label=shown(same[0].domain), score=_domain(same))
        for same in zip(*(found.domains for found in judges), strict=True)
    )
    cited = _mean([node.score for node in domains])
    notes = [UNCITED] if not domains else []
    if judges[0].n_unresolved:
        notes.append(f"{judges[0].n_unresolved} citations lead to no address")
    if cited.n_failed:
        notes.append(f"{cited.n_failed} of {cited.n_expected} answers failed")
    note = "; ".join(notes)
    when_cited = cited.model_copy(update={"note": note})
    headline = when_cited if domains else Score(value=0.0, low=0.0, high=0.0, note=f"0: {note}")
    return ScoreNode(
        id="authority",
        label="Domain authority",
        score=headline,
        children=(
            ScoreNode(id="when_cited", label="of reports that cite", score=when_cited, children=domains),
        ),
    )


def over_authority(reports: Sequence[Sequence[AuthorityFindings]], n_missing: int) -> ScoreNode:
    """DA over all reports of a system, by one judge or several.

    Args:
        reports: of each, the findings of each judge.
        n_missing: reports without findings.
    """
    nodes = [score_authority(judges) for judges in reports]
    children = (
        ScoreNode(
            id="when_cited",
            label="mean over reports that cite",
            score=mean_over([node.find("when_cited").score for node in nodes], n_missing, LEAST, MOST),
        ),
        ScoreNode(
            id="share_uncited",
            label="reports that cite no domain",
            score=share_over([not judges[0].domains for judges in reports], n_missing),
        ),
    )
    return ScoreNode(
        id="authority",
        label="Domain authority",
        score=mean_over([node.score for node in nodes], n_missing, 0.0, MOST),
        children=children,
    )


def _domain(same: Sequence[CitedDomain]) -> Score:
    """One domain by all judges."""
    scores = [SCALE * one.score for one in same if one.score is not None]
    n_failed = len(same) - len(scores)
    return Score(
        value=sum(scores) / len(scores) if scores else None,
        n_expected=len(same),
        n_failed=n_failed,
        low=(sum(scores) + LEAST * n_failed) / len(same),
        high=(sum(scores) + MOST * n_failed) / len(same),
        note="rated by a person" if all(one.by == "file" for one in same) else "",
    )


def _mean(domains: Sequence[Score]) -> Score:
    if not domains:
        return Score(value=None, n_undefined=1, note=UNCITED)
    values = [one.value for one in domains if one.value is not None]
    return Score(
        value=sum(values) / len(values) if values else None,
        numerator=sum(values) / MOST if values else None,
        denominator=float(len(values)) if values else None,
        n_expected=sum(one.n_expected for one in domains),
        n_failed=sum(one.n_failed for one in domains),
        low=sum(one.low or 0.0 for one in domains) / len(domains),
        high=sum(one.high or 0.0 for one in domains) / len(domains),
    )


def rated_authority(found: AuthorityFindings) -> tuple[Rated, ...]:
    """The score of each domain that the judge was asked about."""
    return tuple(
        Rated(
            metric="authority",
            item=one.domain,
            value=None if one.score is None else float(one.score),
            scale="interval",
        )
        for one in found.domains
        if one.by == "judge"
    )
