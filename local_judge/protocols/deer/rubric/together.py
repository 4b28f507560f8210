"""Several judges' answers to the rubric as one, item by item.

Invariant: an item's score is the mean over the judges that scored it; it is not applicable where more judges say so
than score it; a judge that failed is left out, and has an answer only where the bounds are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.deer.rubric.findings import RubricFindings
from local_judge.protocols.deer.rubric.tree import HIGHEST, LOWEST, Leaves, leaves_of
from local_judge.protocols.scores import Score


def merged(judges: Sequence[RubricFindings], favour: bool | None = None) -> Leaves:
    """The answers of all judges to each item.

    Args:
        judges: one judge's findings each, on one rubric.
        favour: give each missing answer the best score (True) or the worst (False); None leaves it out.
    """
    leaves = [leaves_of(findings) for findings in judges]
    scores = [[score for _, score in one.scores] for one in leaves]
    return Leaves(
        leaves[0].mode,
        tuple(
            (path, _merged(answers, favour))
            for (path, _), answers in zip(leaves[0].scores, zip(*scores, strict=True), strict=True)
        ),
    )


def _merged(answers: Sequence[Score], favour: bool | None) -> Score:
    values = [answer.value for answer in answers if answer.value is not None]
    failed = [answer for answer in answers if answer.n_failed]
    n_without = len(answers) - len(values) - len(failed)
    if favour is not None:
        values += [HIGHEST if favour else LOWEST] * len(failed)
    if n_without > len(values):
        return next(answer for answer in answers if answer.value is None and not answer.n_failed)
    if not values:
        return failed[0]
    value = sum(values) / len(values)
    return Score(
        value=value,
        numerator=sum(values),
        denominator=len(values),
        n_expected=1,
        low=value,
        high=value,
    )
