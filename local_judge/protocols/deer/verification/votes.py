"""Several judges' rows of one report as one, by votes.

Invariant: the judges have verified the same claims of the same sources, so that they differ in verdicts alone; a pair
of claim and URL counts once, whatever number of judges there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_judge.claims.votes import Vote, decide, majority
from local_judge.protocols.deer.verification.rows import ClaimRow, Outcome, PairRow, Rows

_JUDGED: Mapping[bool, Outcome] = {True: "supported", False: "not_supported"}


def voted(rows: Sequence[Rows], *, unsettled: bool = False) -> Rows:
    """The rows with each verdict, and each answer on a source's reliability, as the judges give it together.

    Args:
        rows: one judge's each.
        unsettled: take what a missing answer might have changed, and ties, for unknown: the bounds of the scores are
            then those of all that the judges might have said. By themselves missing answers change nothing.
    """
    others = [{claim.id: claim for claim in one.claims} for one in rows]
    claims = tuple(_claim(claim, [one[claim.id] for one in others], unsettled) for claim in rows[0].claims)
    return rows[0].model_copy(update={"claims": claims})


def n_tied(rows: Rows) -> int:
    """Pairs on which the judges are divided evenly."""
    return sum(pair.outcome == "tied" for claim in rows.claims for pair in claim.pairs)


def _claim(claim: ClaimRow, judged: Sequence[ClaimRow], unsettled: bool) -> ClaimRow:
    found = [{pair.url: pair for pair in one.pairs} for one in judged]
    pairs = tuple(_pair(pair, [one[pair.url] for one in found], unsettled) for pair in claim.pairs)
    return claim.model_copy(update={"pairs": pairs})


def _pair(pair: PairRow, judged: Sequence[PairRow], unsettled: bool) -> PairRow:
    if pair.outcome == "source_unavailable":
        return pair
    votes = [_vote(one) for one in judged]
    ratings = [one.reliable for one in judged]
    supported, reliable = decide(votes), majority(ratings)
    if unsettled and decide(votes, favour=False) != decide(votes, favour=True):
        supported, votes = None, []
    if unsettled and majority(ratings, favour=False) != majority(ratings, favour=True):
        reliable = None
    unknown: Outcome = "tied" if any(votes) else "judge_failed"
    return PairRow(
        url=pair.url,
        outcome=unknown if supported is None else _JUDGED[supported],
        reliable=reliable,
    )


def _vote(pair: PairRow) -> Vote | None:
    if pair.failed:
        return None
    return Vote(pair.outcome == "supported", pair.confidence, pair.threshold)
