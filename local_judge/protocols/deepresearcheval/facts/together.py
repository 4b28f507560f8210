"""Active fact-checking by several judges.

    shared statements   a vote on each: the label that most judges give. Judges that are divided leave it unknown to
                        us, as judges that gave no answer do
    own statements      judges have none in common that they could vote on: the mean of their scores

The bounds, and the interval for the whole report, are over all labels that missing answers and ties leave open: each
number's own least and most.

Invariants: what is not decided is a failure that opens the bounds, and never the label Unknown; nothing depends on the
order of the judges. A label that its evidence does not bear out is one judge's: of these the mean is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

from local_judge.judge.failures import Failure
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings, Label, Ruling
from local_judge.protocols.deepresearcheval.facts.labels import read_label
from local_judge.protocols.deepresearcheval.facts.over import over_facts
from local_judge.protocols.deepresearcheval.facts.scores import score_facts
from local_judge.protocols.deepresearcheval.facts.tally import label_of
from local_judge.protocols.ensemble import mean_trees, over_judges
from local_judge.protocols.scores import Profile, Score, ScoreNode

DIVIDED = Failure(kind="incomplete", detail="the judges are divided, or gave no answer")

CHANGED = "changed"


class Side(NamedTuple):
    """How what is open is settled: for a label wherever it is possible, or against it."""

    label: str
    favoured: bool


_SIDES = [Side(label, favoured) for label in get_args(Label) for favoured in (True, False)]


def facts_together(judges: Sequence[FactsFindings], profile: Profile) -> ScoreNode:
    """The scores of one report by all judges."""
    own = [score_facts(findings, profile) for findings in judges]
    if len(judges) == 1:
        return own[0]
    if not _one_set(judges):
        return mean_trees([(one,) for one in own])[0]
    value, *sides = (score_facts(voted(judges, profile, side), profile) for side in (None, *_SIDES))
    return _opened(value, sides, own)


def over_facts_together(
    reports: Sequence[Sequence[FactsFindings]], profile: Profile, n_missing: int
) -> ScoreNode:
    """The scores over several reports by all judges."""
    if not reports:
        return over_facts((), profile, n_missing)
    own = [over_facts(findings, profile, n_missing) for findings in zip(*reports, strict=True)]
    if len(own) == 1:
        return own[0]
    if not all(map(_one_set, reports)):
        return mean_trees([(one,) for one in own])[0]
    value, *sides = (
        over_facts([voted(judges, profile, side) for judges in reports], profile, n_missing)
        for side in (None, *_SIDES)
    )
    return _opened(value, sides, own)


def voted(judges: Sequence[FactsFindings], profile: Profile, side: Side | None = None) -> FactsFindings:
    """Findings with the label of each statement as the judges give it together.

    Args:
        judges: one judge's findings each, about the same statements.
        profile: whose labels.
        side: how what missing answers and ties leave open is settled; None leaves ties undecided.
    """
    rulings = [
        _vote([label_of(ruling, profile) for ruling in same], same[0].statement, side)
        for same in zip(*(findings.rulings for findings in judges), strict=True)
    ]
    return judges[0].model_copy(update={"rulings": tuple(rulings)})


def _vote(labels: Sequence[str | None], statement: str, side: Side | None) -> Ruling:
    counts = Counter(label for label in labels if label is not None)
    most = max(counts.values(), default=0)
    n_missing = 0 if side is None else labels.count(None)
    # With all missing answers a label may come level with the first, and a tie may go either way.
    possible = [label for label in (*get_args(Label), *sorted(counts)) if counts[label] + n_missing >= most]
    possible = [label for label in dict.fromkeys(possible) if counts[label] + n_missing]
    if side is None and len(possible) != 1:
        return Ruling(statement=statement, failure=DIVIDED)
    label = next(
        (one for one in possible if side is not None and (one == side.label) is side.favoured), possible[0]
    )
    return Ruling(statement=statement, label=read_label(label), given=label)


def _opened(value: ScoreNode, sides: Sequence[ScoreNode], own: Sequence[ScoreNode]) -> ScoreNode:
    """`value` with the bounds of all sides and the counts of all judges' answers; all trees have the same nodes."""
    children = zip(value.children, *(one.children for one in (*sides, *own)), strict=True)
    if value.id == CHANGED:
        score = over_judges([one.score for one in own])
    else:
        settled = [one.score for one in sides]
        low, high = _ends(value.score, settled)
        score = value.score.model_copy(
            update={
                "low": low,
                "high": high,
                "interval_low": min(_known(one.interval_low for one in settled), default=None),
                "interval_high": max(_known(one.interval_high for one in settled), default=None),
                "n_expected": sum(one.score.n_expected for one in own),
                "n_failed": sum(one.score.n_failed for one in own),
                "n_undefined": sum(one.score.n_undefined for one in own),
            }
        )
    return value.model_copy(
        update={
            "score": score,
            "children": tuple(
                _opened(first, others[: len(sides)], others[len(sides) :]) for first, *others in children
            ),
        }
    )


def _ends(value: Score, sides: Sequence[Score]) -> tuple[float | None, float | None]:
    """Least and most of all sides; None for an end that a failure leaves open."""
    lows, highs = [one.low for one in sides], [one.high for one in sides]
    failed = any(one.n_failed for one in sides)
    low = min(_known([value.value, *lows]), default=None)
    high = max(_known([value.value, *highs]), default=None)
    return None if failed and None in lows else low, None if failed and None in highs else high


def _known(ends: Iterable[float | None]) -> list[float]:
    return [end for end in ends if end is not None]


def _one_set(judges: Sequence[FactsFindings]) -> bool:
    return all(findings.source == "shared" for findings in judges)
