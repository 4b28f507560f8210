"""Cost beside quality."""

from __future__ import annotations

from local_judge.lab.qualification.comparing.expense import expenses, quality_costs
from local_judge.lab.qualification.comparing.model import QualityCost
from local_judge.lab.qualification.comparing.pairs import differences
from local_judge.lab.qualification.figures import Draws, figure
from local_judge.lab.qualification.model import PartRecord
from local_judge.lab.qualification.parts.verification import Verification, VerificationSettings

from .claims import asked, credulous, right, silent

DRAWS = Draws(20, 0)


def beside(judges: dict[str, PartRecord]) -> dict[str, QualityCost]:
    """The row of each judge's calibrated accuracy."""
    part = Verification(VerificationSettings(grouped=False))
    items = {name: one.items for name, one in judges.items()}
    measures = part.measures([item for own in items.values() for item in own])
    figures = {name: [figure(one, own, DRAWS) for one in measures] for name, own in items.items()}
    rows = quality_costs(
        figures, expenses({name: [one] for name, one in judges.items()}), differences(items, measures, DRAWS)
    )
    return {row.judge: row for row in rows if row.figure == "verification/accuracy/calibrated"}


def test_a_claim_costs_what_the_questions_cost_by_the_number_of_claims() -> None:
    # 16 claims, each an item of two methods.
    rows = expenses({"a": [asked(right, computed=1600, seconds=8.0)]})
    assert [(row.method, row.n, row.tokens, row.busy) for row in rows] == [
        ("", 16, 100.0, 0.5),
        ("scored", 16, 100.0, 0.5),
    ]


def test_a_dearer_judge_that_is_no_better_is_dominated() -> None:
    rows = beside({"good": asked(right), "dear": asked(right, computed=3200)})
    assert (rows["good"].dominated_by, rows["dear"].dominated_by) == ((), ("good",))


def test_a_worse_judge_at_the_same_cost_is_dominated() -> None:
    rows = beside({"good": asked(right), "poor": asked(credulous)})
    assert (rows["good"].value, rows["poor"].value) == (1.0, 0.5)
    assert (rows["good"].dominated_by, rows["poor"].dominated_by) == ((), ("good",))


def test_a_better_judge_that_is_dearer_and_a_worse_one_that_is_cheaper_stand_side_by_side() -> None:
    rows = beside({"good": asked(right, seconds=80.0), "poor": asked(credulous)})
    assert (rows["good"].dominated_by, rows["poor"].dominated_by) == ((), ())


def test_equal_judges_do_not_dominate_each_other() -> None:
    rows = beside({"one": asked(right), "other": asked(right)})
    assert (rows["one"].dominated_by, rows["other"].dominated_by) == ((), ())


def test_a_judge_that_answers_nothing_is_neither_dominated_nor_dominates() -> None:
    rows = beside({"good": asked(right), "silent": asked(silent, computed=0, seconds=0.0)})
    assert rows["silent"].value is None
    assert rows["silent"].n_failed == 16
    assert (rows["good"].dominated_by, rows["silent"].dominated_by) == ((), ())
