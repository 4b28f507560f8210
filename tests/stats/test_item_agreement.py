"""Agreement of judges with people's labels of items, against the figures that papers print."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from local_judge.stats.agreement.inter_judge import Answer
from local_judge.stats.agreement.items import (
    LabelledItem,
    agreement_of_annotators,
    agreement_with_labels,
)
from local_judge.stats.agreement.ratings import Measure, over_judges
from local_judge.stats.estimate import Estimate

JUDGE, BOTH = frozenset({"judge"}), frozenset({"one", "two"})


def named(measures: Sequence[Measure]) -> dict[str, Estimate]:
    return {one.id: one.estimate for one in measures}


def items(n: int, people: Answer, **answers: Answer) -> list[LabelledItem]:
    return [
        LabelledItem(str(number % 30), {"expert": people}, dict(answers), frozenset(answers))
        for number in range(n)
    ]


def test_checklist_verdicts_of_liveresearchbench() -> None:
    """Appendix C, presentation: of 300 questions Gemini agrees on 95.0 %, GPT-5 on 85.0 %, one of them on 98.3 %.

    285 and 255 with 295 together: both on 285 + 255 - 295 = 245, Gemini alone on 40, GPT-5 alone on 10, none on 5.
    """
    found = [
        *items(245, "met", gemini="met", gpt="met"),
        *items(40, "met", gemini="met", gpt="unmet"),
        *items(10, "unmet", gemini="met", gpt="unmet"),
        *items(5, "unmet", gemini="met", gpt="met"),
    ]
    judges = [agreement_with_labels(found, [name], draws=50) for name in ("gemini", "gpt")]
    rates = [named(one)["agreement"] for one in judges]
    assert [(one.hits, one.n, one.value) for one in rates] == [(285, 300, 0.95), (255, 300, 0.85)]
    [either] = agreement_with_labels(found, ["gemini", "gpt"], draws=50)
    assert (either.id, either.unit, either.estimate.hits) == ("agreement", "items", 295)
    assert round(either.estimate.value or 0, 3) == 0.983
    over = {one.id: one for one in over_judges(judges)}["agreement"]
    assert (over.mean, over.std, over.n) == (pytest.approx(0.9), pytest.approx(0.05), 2)
    # One expert: no agreement with each annotator, nor of annotators.
    assert "agreement_annotators" not in named(judges[0])
    assert agreement_of_annotators(found) == ()


@pytest.mark.parametrize(("right", "printed"), [(105, 0.82), (110, 0.859)])
def test_issues_of_liveresearchbench(right: int, printed: float) -> None:
    """Appendix C: people agree with 82 % and 85.9 % of 128 listed issues: 105 and 110 of them."""
    found = named(
        agreement_with_labels(
            [*items(right, "issue", judge="issue"), *items(128 - right, "none", judge="issue")],
            ["judge"],
            draws=0,
        )
    )
    digits = len(str(printed)) - 2
    assert (
        round(found["agreement"].value or 0, digits)
        == round(found["judge:issue"].value or 0, digits)
        == printed
    )
    # Of the issues that people see all are listed; of what they do not see as one, all are.
    assert (found["people:issue"].value, found["people:none"].value) == (1.0, 0.0)
    assert (found["judge:none"].value, found["judge:none"].reason) == (
        None,
        "no such item with a label and an answer",
    )


def test_pairs_of_deepresearch_bench() -> None:
    """Appendix D: the judge agrees with 96 % of people's "support" and 92 % of "not support"; 50 and 50 of 100 fit."""
    found = named(
        agreement_with_labels(
            [
                *items(48, "supported", judge="supported"),
                *items(2, "supported", judge="unsupported"),
                *items(46, "unsupported", judge="unsupported"),
                *items(4, "unsupported", judge="supported"),
            ],
            ["judge"],
            draws=0,
        )
    )
    assert (found["people:supported"].value, found["people:unsupported"].value) == (0.96, 0.92)
    assert found["agreement"].value == 0.94
    # Agreement by chance: people 0.5 and 0.5, so that it is 0.5 whatever the judge's shares.
    assert found["kappa_unweighted"].value == pytest.approx((0.94 - 0.5) / 0.5)


def test_labels_of_several_people_need_a_majority() -> None:
    """Four items: 2 to 1, a tie, one label, and one without an answer.

    Majority: right, none, wrong, right; the judge right, right, right, nothing. So 1 of 2 agree, and two are left out.
    Labels: 2 of 3, 1 of 2 and 0 of 1 agree; the last label has no answer.
    """
    found = [
        LabelledItem("a", {"ann": "right", "bob": "right", "cy": "wrong"}, {"judge": "right"}, JUDGE),
        LabelledItem("a", {"ann": "right", "bob": "wrong"}, {"judge": "right"}, JUDGE),
        LabelledItem("b", {"cy": "wrong"}, {"judge": "right"}, JUDGE),
        LabelledItem("b", {"cy": "right"}, {}, JUDGE),
    ]
    measures = named(agreement_with_labels(found, ["judge"], draws=50))
    one, each = measures["agreement"], measures["agreement_annotators"]
    assert (one.hits, one.n, one.n_undefined) == (1, 2, 2)
    assert (each.hits, each.n, each.n_undefined) == (3, 6, 1)
    # Pairs of annotators: (ann, bob) alike, (ann, cy), (bob, cy) not; (ann, bob) of the second not.
    people = named(agreement_of_annotators(found, draws=0))
    assert (people["people_agreement"].hits, people["people_agreement"].n) == (1, 4)
    # D_o = (2 + 2) / 2 + 2 / 1 ... of 5 paired ratings, 3 right and 2 wrong: D_o = (4 / 2 + 2 / 1) / 5, D_e = 12 / 20.
    assert people["alpha_nominal"].value == pytest.approx(1 - (4 / 5) / (12 / 20))


def test_issues_of_two_judges_are_pooled() -> None:
    """The 128 issues of appendix C were listed by two judges: each is compared with the one that listed it."""
    found = [
        LabelledItem("a", {"ann": "issue"}, {"one": "issue"}, frozenset({"one"})),
        LabelledItem("a", {"ann": "none"}, {"one": "issue"}, frozenset({"one"})),
        LabelledItem("b", {"ann": "issue"}, {"two": "issue"}, frozenset({"two"})),
    ]
    by_judge = [named(agreement_with_labels(found, [name], draws=0))["agreement"] for name in ("one", "two")]
    assert [(one.hits, one.n, one.n_undefined) for one in by_judge] == [(1, 2, 0), (1, 1, 0)]
    [either] = agreement_with_labels(found, ["one", "two"], draws=0)
    assert (either.estimate.hits, either.estimate.n) == (2, 3)


def test_one_of_several_judges_that_did_not_answer_may_have_agreed() -> None:
    found = [
        LabelledItem("a", {"ann": "met"}, {"one": "met"}, BOTH),
        LabelledItem("a", {"ann": "met"}, {"one": "unmet"}, BOTH),
        LabelledItem("a", {"ann": "met"}, {"one": "unmet", "two": "unmet"}, BOTH),
    ]
    [either] = agreement_with_labels(found, ["one", "two"], draws=0)
    assert (either.estimate.hits, either.estimate.n, either.estimate.n_undefined) == (1, 2, 1)


def test_numbers_are_compared_as_numbers() -> None:
    found = [
        LabelledItem("a", {"ann": 3.0, "bob": 2.0}, {"judge": 2.5}, JUDGE),
        LabelledItem("b", {"ann": 1.0, "bob": 1.0}, {"judge": 1.0}, JUDGE),
    ]
    measures = agreement_with_labels(found, ["judge"], draws=0)
    assert [one.id for one in measures] == [
        "agreement",
        "agreement_annotators",
        "kappa_quadratic",
        "difference",
    ]
    by_id = named(measures)
    # |2.5 - 3| + |2.5 - 2| + 0 + 0 over four labels.
    assert (by_id["difference"].value, by_id["difference"].n) == (0.25, 4)
    assert (by_id["agreement"].hits, by_id["agreement"].n, by_id["agreement"].n_undefined) == (1, 1, 1)
