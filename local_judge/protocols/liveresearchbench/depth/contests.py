"""Pairs as games between systems, for a ranking.

Invariant: every pair that was asked about is in it, failed or not; who the systems are is said by the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.base import Contest
from local_judge.protocols.liveresearchbench.depth.findings import DepthFindings
from local_judge.protocols.liveresearchbench.depth.outcome import POINTS, consistent, games
from local_judge.protocols.scores import Profile


def depth_contests(findings: Sequence[DepthFindings], profile: Profile) -> tuple[Contest, ...]:
    """The contests of one report.

    Args:
        findings: each judge's, of the same report; at least one.
        profile: one game a pair (`paper`), or two for each judge (`upstream`).
    """
    first = findings[0]
    found: list[Contest] = []
    for index, pair in enumerate(first.pairs):
        if first.leave_out and pair.opponent.kind == "baseline" and pair.opponent.defects:
            continue
        pairs = [one.pairs[index] for one in findings]
        agreed = [consistent(one, profile) for one in pairs]
        found.append(
            Contest(
                opponent=pair.opponent.name,
                case=pair.opponent.case,
                document=pair.opponent.document,
                points=tuple(
                    None if game.outcome is None else POINTS[game.outcome] for game in games(pairs, profile)
                ),
                consistent=tuple(one for one in agreed if one is not None),
            )
        )
    return tuple(found)
