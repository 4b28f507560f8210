"""RACE by several judges, and what of a report they can be compared in.

Invariant: each criterion's scores are the means over the judges that gave them, for report and reference alike, and all
above them is the formula of the profile; a judge that failed opens the bounds: with 0 for the report and 10 for the
reference, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.ensemble import opened
from local_judge.protocols.race.findings import TOP, WHOLE, Mark, RaceFindings, Sheet
from local_judge.protocols.race.tree import NOISE, POSITION, score
from local_judge.protocols.scores import Profile, ScoreNode


def together(judges: Sequence[RaceFindings], profile: Profile) -> tuple[ScoreNode, ...]:
    """The scores of one report by all judges; noise and position bias are of the judges' means."""
    value, against, favour = (score(merged(judges, side), profile) for side in (None, False, True))
    trees = opened(value, against, favour, [score(findings, profile) for findings in judges])
    kept = {root.id: root for root in value if root.id in (NOISE, POSITION)}  # no failure bounds them
    return tuple(kept.get(root.id, root) for root in trees)


def merged(judges: Sequence[RaceFindings], favour: bool | None = None) -> RaceFindings:
    """The judges' sheets as one judge's.

    Args:
        judges: one judge's findings each, of the same comparisons.
        favour: take missing answers for the report (True) or against it (False); None leaves them out.
    """
    sheets = tuple(
        sheets[0].model_copy(update={"marks": tuple(_marks(sheets, favour))})
        for sheets in zip(*(findings.sheets for findings in judges), strict=True)
    )
    return judges[0].model_copy(update={"sheets": sheets})


def _marks(sheets: Sequence[Sheet], favour: bool | None) -> Iterator[Mark]:
    compared = sheets[0].reference is not None
    for marks in zip(*(sheet.marks for sheet in sheets), strict=True):
        given = [(mark.target, mark.reference) for mark in marks if mark.failure is None]
        if favour is not None:
            best, worst = TOP if favour else 0.0, 0.0 if favour else TOP
            given += [(best, worst)] * (len(marks) - len(given))
        if not given:
            yield marks[0]
            continue
        yield Mark(
            criterion=marks[0].criterion,
            target=sum(target or 0.0 for target, _ in given) / len(given),
            reference=sum(reference or 0.0 for _, reference in given) / len(given) if compared else None,
        )


def rated(findings: RaceFindings) -> tuple[Rated, ...]:
    """The report's scores by dimension, the reference's, and which of the two is better by each criterion."""
    return tuple(
        rating
        for sheet in findings.sheets
        for mark in sheet.marks
        for rating in _rated(
            mark, sheet, f"{sheet.reference}.{sheet.target_first}.{sheet.draw}.{mark.criterion}"
        )
    )


def _rated(mark: Mark, sheet: Sheet, item: str) -> Iterator[Rated]:
    dimension = WHOLE if mark.criterion == WHOLE else mark.criterion.rpartition(".")[0]
    yield Rated(metric=dimension, item=item, value=mark.target, scale="interval")
    if sheet.reference is not None:
        yield Rated(metric="reference", item=item, value=mark.reference, scale="interval")
        yield Rated(metric="preference", item=item, value=_preferred(mark), scale="nominal")


def _preferred(mark: Mark) -> str | None:
    if mark.target is None or mark.reference is None:
        return None
    if mark.target == mark.reference:
        return "neither"
    return "report" if mark.target > mark.reference else "reference"
