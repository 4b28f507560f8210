"""Active fact-checking by several judges.

    shared statements   a vote on each: the label that most judges give. Judges that are divided leave it unknown to
                        us, as judges that gave no answer do
    own statements      judges have none in common that they could vote on: the mean of their scores

Invariant: what is not decided is a failure that opens the bounds, and never the label Unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from local_judge.judge.failures import Failure
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings, Label, Ruling
from local_judge.protocols.deepresearcheval.facts.labels import read_label
from local_judge.protocols.deepresearcheval.facts.over import over_facts
from local_judge.protocols.deepresearcheval.facts.scores import score_facts
from local_judge.protocols.deepresearcheval.facts.tally import label_of
from local_judge.protocols.ensemble import mean_trees, opened
from local_judge.protocols.scores import Profile, ScoreNode

DIVIDED = Failure(kind="incomplete", detail="the judges are divided, or gave no answer")


def facts_together(judges: Sequence[FactsFindings], profile: Profile) -> ScoreNode:
    """The scores of one report by all judges."""
    own = [(score_facts(findings, profile),) for findings in judges]
    if len(judges) == 1:
        return own[0][0]
    if not _one_set(judges):
        return mean_trees(own)[0]
    value, against, favour = (
        (score_facts(voted(judges, profile, side), profile),) for side in (None, "Wrong", "Right")
    )
    return opened(value, against, favour, own)[0]


def over_facts_together(
    reports: Sequence[Sequence[FactsFindings]], profile: Profile, n_missing: int
) -> ScoreNode:
    """The scores over several reports by all judges."""
    if not reports:
        return over_facts((), profile, n_missing)
    own = [(over_facts(findings, profile, n_missing),) for findings in zip(*reports, strict=True)]
    if len(own) == 1:
        return own[0][0]
    if not all(map(_one_set, reports)):
        return mean_trees(own)[0]
    value, against, favour = (
        (over_facts([voted(judges, profile, side) for judges in reports], profile, n_missing),)
        for side in (None, "Wrong", "Right")
    )
    return opened(value, against, favour, own)[0]


def voted(judges: Sequence[FactsFindings], profile: Profile, side: Label | None = None) -> FactsFindings:
    """Findings with the label of each statement as the judges give it together.

    Args:
        judges: one judge's findings each, about the same statements.
        profile: whose labels.
        side: how missing answers and ties count; None leaves them out.
    """
    rulings = [
        _vote([label_of(ruling, profile) for ruling in same], same[0].statement, side)
        for same in zip(*(findings.rulings for findings in judges), strict=True)
    ]
    return judges[0].model_copy(update={"rulings": tuple(rulings)})


def _vote(labels: Sequence[str | None], statement: str, side: Label | None) -> Ruling:
    said = [side if label is None else label for label in labels]
    counts = Counter(label for label in said if label is not None)
    most = max(counts.values(), default=0)
    first = [label for label, n in counts.items() if n == most]
    if len(first) != 1 and side is None:
        return Ruling(statement=statement, failure=DIVIDED)
    label = side if side in first else first[0]
    return Ruling(statement=statement, label=read_label(label or ""), given=label)


def _one_set(judges: Sequence[FactsFindings]) -> bool:
    return all(findings.source == "shared" for findings in judges)
