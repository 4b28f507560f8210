"""The parts as trees, of one judge or of several, and over the reports of a system.

Invariant: the trees are the same whatever the number of judges; a part that was not run has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.deepresearcheval.facts.scores import rated_facts
from local_judge.protocols.deepresearcheval.facts.together import facts_together, over_facts_together
from local_judge.protocols.deepresearcheval.findings import DreFindings
from local_judge.protocols.deepresearcheval.quality.over import over_quality
from local_judge.protocols.deepresearcheval.quality.scores import quality_together, rated_quality
from local_judge.protocols.scores import Profile, ScoreNode


def score(found: DreFindings, profile: Profile) -> tuple[ScoreNode, ...]:
    """The roots of each part that was run."""
    return together([found], profile)


def together(judges: Sequence[DreFindings], profile: Profile) -> tuple[ScoreNode, ...]:
    """The scores of one report by all judges that have findings about it; one at least."""
    quality = [found.quality for found in judges if found.quality is not None]
    facts = [found.facts for found in judges if found.facts is not None]
    return (
        *(quality_together(quality, profile) if quality else ()),
        *((facts_together(facts, profile),) if facts else ()),
    )


def over(reports: Sequence[Sequence[DreFindings]], profile: Profile, n_missing: int) -> tuple[ScoreNode, ...]:
    """The scores of a system, from all judges' findings about each of its reports."""
    quality = [[found.quality for found in judges if found.quality is not None] for judges in reports]
    judged = [judges for judges in quality if judges]
    facts = [[found.facts for found in judges if found.facts is not None] for judges in reports]
    checked = [judges for judges in facts if judges]
    return (
        *(over_quality(judged, profile, n_missing) if judged else ()),
        *((over_facts_together(checked, profile, n_missing),) if checked else ()),
    )


def rated(found: DreFindings) -> tuple[Rated, ...]:
    """All decisions of one judge."""
    return (
        *(rated_quality(found.quality) if found.quality is not None else ()),
        *(rated_facts(found.facts) if found.facts is not None else ()),
    )
