"""FACT by several judges, and what of a report they can be compared in.

Invariants: judges of the claim set vote pair by pair; judges that extracted pairs of their own have none in common that
they could vote on, and their scores are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_judge.claims.votes import Vote, decide
from local_judge.protocols.base import Rated
from local_judge.protocols.ensemble import mean_trees, opened
from local_judge.protocols.fact.findings import FactFindings, Outcome, Pair, Reason
from local_judge.protocols.fact.over import over
from local_judge.protocols.fact.scores import score
from local_judge.protocols.fact.view import folded
from local_judge.protocols.scores import Profile, ScoreNode

_JUDGED: Mapping[bool, Outcome] = {True: "supported", False: "unsupported"}

_OF_JUDGES = frozenset({None, "judged_unknown", "judge_failed"})
"""Reasons, or none, of outcomes that a judge was asked for; others are the same for all judges."""


def together(judges: Sequence[FactFindings], profile: Profile) -> tuple[ScoreNode, ...]:
    """The scores of one report by all judges."""
    own = [score(findings, profile) for findings in judges]
    if not _one_claim_set(judges):
        return mean_trees(own)
    value, against, favour = (score(voted(judges, side), profile) for side in (None, False, True))
    return opened(value, against, favour, own)


def over_together(
    reports: Sequence[Sequence[FactFindings]], profile: Profile, n_missing: int
) -> tuple[ScoreNode, ...]:
    """The scores over several reports by all judges."""
    if not reports:
        return over((), profile, n_missing)
    own = [over(findings, profile, n_missing) for findings in zip(*reports, strict=True)]
    if not all(map(_one_claim_set, reports)):
        return mean_trees(own)
    value, against, favour = (
        over([voted(judges, side) for judges in reports], profile, n_missing) for side in (None, False, True)
    )
    return opened(value, against, favour, own)


def voted(judges: Sequence[FactFindings], favour: bool | None = None) -> FactFindings:
    """Findings with the outcome of each pair as the judges give it together.

    Args:
        judges: one judge's findings each, on one claim set.
        favour: how missing answers and ties count: for the report, against it, or (None) not at all.
    """
    found = [_by_key(findings) for findings in judges]
    pairs = tuple(
        _pair(pair, [one.get(key, pair) for one in found], favour) for key, pair in found[0].items()
    )
    return judges[0].model_copy(update={"pairs": pairs})


def rated(findings: FactFindings) -> tuple[Rated, ...]:
    """The outcome of each pair whose page the judge was shown."""
    return tuple(
        Rated(
            metric="support",
            item="\n".join(key),
            value=None if pair.reason == "judge_failed" else pair.outcome,
            scale="nominal",
        )
        for key, pair in _by_key(findings).items()
        if pair.reason in _OF_JUDGES
    )


def _one_claim_set(judges: Sequence[FactFindings]) -> bool:
    return all(findings.source == "shared" for findings in judges)


def _by_key(findings: FactFindings) -> dict[tuple[str, str], Pair]:
    return {(folded(pair.statement), pair.url): pair for pair in findings.pairs}


def _pair(pair: Pair, judged: Sequence[Pair], favour: bool | None) -> Pair:
    if pair.reason not in _OF_JUDGES:
        return pair
    votes = [_vote(one) for one in judged]
    supported = decide(votes, favour)
    outcome = "unknown" if supported is None else _JUDGED[supported]
    unknown: Reason = "tied" if any(votes) else "judge_failed"
    return Pair(
        statement=pair.statement,
        url=pair.url,
        outcome=outcome,
        reason=unknown if supported is None else None,
        sentence=pair.sentence,
        key=pair.key,
    )


def _vote(pair: Pair) -> Vote | None:
    if pair.outcome == "unknown":
        return None
    return Vote(pair.outcome == "supported", pair.confidence, pair.threshold)
