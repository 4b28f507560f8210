"""The mean of several judges against the better one."""

from __future__ import annotations

import pytest

from local_judge.lab.qualification.comparing.ensembles import RULES, ensembles
from local_judge.lab.qualification.comparing.expense import expenses
from local_judge.lab.qualification.comparing.model import Ensemble
from local_judge.lab.qualification.figures import Draws

from .claims import Says, asked, credulous, early, items, late, right, silent

DRAWS = Draws(499, 0)


def pooled(*judges: Says) -> list[Ensemble]:
    """By the mean of probabilities."""
    parts = {chr(ord("a") + place): [asked(judge)] for place, judge in enumerate(judges)}
    rows = ensembles({name: own[0].items for name, own in parts.items()}, expenses(parts), DRAWS)
    return [row for row in rows if row.rule == "probability"]


def test_judges_that_waver_where_the_other_is_sure_are_better_together() -> None:
    (row,) = pooled(early, late)
    assert row.accuracy is not None
    assert row.auc is not None
    # True claims get (0.9 + 0.4) / 2 = 0.65, altered ones (0.1 + 0.6) / 2 = 0.35.
    assert (row.accuracy.ensemble, row.accuracy.best, row.accuracy.value) == (1.0, 0.5, 0.5)
    assert row.auc.ensemble == 1.0
    # k of 8 drawn pages are of the first half, and the better judge is right on max(k, 8 - k): 8 of them in 2 / 256 of
    # the draws, 7 at least in 18 / 256, so that the 2.5th percentile of the gain is 1 - 7/8.
    assert row.accuracy.low == pytest.approx(0.125)
    assert row.verdict == "better"
    # Where one errs the other does not.
    assert (row.phi, row.all_wrong, row.wrong) == (-1.0, 0, {"a": 8, "b": 8})


def test_a_judge_twice_gains_nothing() -> None:
    (row,) = pooled(early, early)
    assert row.accuracy is not None
    assert (row.accuracy.value, row.accuracy.low, row.accuracy.high) == (0.0, 0.0, 0.0)
    assert (row.phi, row.all_wrong) == (1.0, 8)
    assert row.verdict == "not_shown"


def test_the_mean_is_compared_with_the_better_one() -> None:
    (row,) = pooled(right, credulous)
    assert row.accuracy is not None
    # True 0.9; altered (0.1 + 0.9) / 2 = 0.5, at the cut and called true: as bad as the worse of the two.
    assert (row.accuracy.ensemble, row.accuracy.best) == (0.5, 1.0)
    assert row.accuracy.value == -0.5
    assert row.verdict == "not_shown"
    # `right` makes no error: no correlation.
    assert row.phi is None


def test_a_judge_that_answers_nothing_makes_no_pair() -> None:
    (row,) = pooled(right, silent)
    assert row.verdict == "none"
    assert row.reason == "no calibrated claim that all answered"
    assert row.n_missing == {"a": 0, "b": 16}
    assert row.accuracy is None


def test_five_pages_are_not_tested() -> None:
    judges = {"a": items(early, pages=5), "b": items(late, pages=5)}
    rows = ensembles(judges, [], DRAWS)
    assert [(row.n_units, row.verdict) for row in rows] == [(5, "not_tested")] * len(RULES)


def test_three_judges_make_three_pairs_and_all_of_them() -> None:
    rows = pooled(early, late, right)
    assert [row.judges for row in rows] == [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    # 1,600 computed tokens and 8 seconds for 16 claims, of each.
    assert [row.tokens for row in rows] == [200.0, 200.0, 200.0, 300.0]
    assert [row.seconds for row in rows] == [1.0, 1.0, 1.0, 1.5]
    assert rows[3].phi is None
    first, last = rows[0].accuracy, rows[1].accuracy
    assert first is not None
    assert last is not None
    assert first.p is not None
    assert first.p_holm == pytest.approx(4 * first.p)
    assert last.p_holm == 1.0


def test_a_sure_judge_outweighs_two_in_log_odds() -> None:
    def sure(page: int, true: bool) -> float:
        return 0.999 if true else 0.001

    def wavering(page: int, true: bool) -> float:
        return 0.4 if true else 0.6

    def wrong(page: int, true: bool) -> float:
        return 0.05 if true else 0.95

    judges = {"a": [asked(sure)], "b": [asked(wavering)], "c": [asked(wrong)]}
    rows = ensembles({name: own[0].items for name, own in judges.items()}, expenses(judges), DRAWS)
    by_rule = {row.rule: row.accuracy for row in rows if len(row.judges) == 3}
    # Of a true claim: mean p = 1.449 / 3 = 0.483; ln(999) - ln(1.5) - ln(19) = 6.91 - 0.41 - 2.94 > 0.
    assert by_rule["probability"] is not None
    assert by_rule["probability"].ensemble == 0.0
    assert by_rule["log_odds"] is not None
    assert by_rule["log_odds"].ensemble == 1.0
