"""Curves from stored scores, with known figures."""

from __future__ import annotations

from typing import Literal

import pytest

from local_judge.lab.experiments.curves import Curve, Results, curves_of
from local_judge.lab.experiments.model import Condition, Design, Expectation, Trial, relative_change
from local_judge.lab.experiments.run import panels_of
from local_judge.runs.storage.records import ScoreRecord
from local_judge.scoring.node import Score, ScoreNode

XS = (0.0, 0.5, 1.0)


def design(*expectations: Expectation, units: int = 1) -> Design:
    conditions = tuple(Condition(id=f"c{x}", label=f"r={x:g}", x=x) for x in XS)
    return Design(
        experiment="corruption",
        texts_sha256="",
        seed=0,
        conditions=conditions,
        trials=tuple(
            Trial(report=f"{condition.id}-{unit}", condition=condition.id, unit=str(unit))
            for condition in conditions
            for unit in range(units)
        ),
        expectations=expectations,
    )


def rows(*values: tuple[float | None, ...], judge: str | None = None) -> list[ScoreRecord]:
    """Scores of each unit under the three conditions."""
    return [
        ScoreRecord(
            case=f"c{x}-{unit}",
            protocol="p",
            version="1",
            profile="paper",
            judge=judge,
            scores=(ScoreNode(id="s", label="S", score=Score(value=value, n_failed=int(value is None))),),
        )
        for unit, own in enumerate(values)
        for x, value in zip(XS, own, strict=True)
    ]


def expected(shape: Literal["falls", "rises", "flat"], *ideal: float, scale: float = 1.0) -> Expectation:
    return Expectation(protocol="p", path="s", shape=shape, ideal=ideal, scale=scale)


def curve(*values: float | None, expects: Expectation | None = None) -> Curve:
    (found,) = curves_of(design(*([expects] if expects else [])), rows(values), "paper")
    return found


def test_figures_of_a_curve() -> None:
    found = curve(10.0, 7.0, 1.0, expects=expected("falls", 1.0, 0.5, 0.0, scale=10.0))
    # x - mean: -.5, 0, .5; slope: (-.5 * 10 + .5 * 1) / .5.
    assert found.slope == -9.0
    assert found.spearman == 1.0
    # |1 - 1|, |.7 - .5|, |.1 - 0| over 3.
    assert found.distance == pytest.approx(0.1)
    assert found.verdict == "as expected"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        # Half of the ideal's slope is enough, and less is not.
        ((1.0, 0.75, 0.5), "as expected"),
        ((1.0, 0.76, 0.52), "not as expected"),
        # Ranks 3, 1, 2 against 3, 2, 1: rho is .5.
        ((1.0, 0.0, 0.1), "not as expected"),
        ((0.0, 0.5, 1.0), "not as expected"),
        ((1.0, None, 0.0), "incomplete"),
    ],
)
def test_what_falls_as_it_should(values: tuple[float | None, ...], verdict: str) -> None:
    assert curve(*values, expects=expected("falls", 1.0, 0.5, 0.0)).verdict == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0.9, 0.95, 1.0), "as expected"),
        ((0.89, 0.95, 1.0), "not as expected"),  # .11 apart
        ((0.75, 0.75, 0.75), "as expected"),
        ((0.74, 0.74, 0.74), "not as expected"),  # flat, and .26 from where it should be
    ],
)
def test_what_stays_where_it_should(values: tuple[float, ...], verdict: str) -> None:
    assert curve(*values, expects=expected("flat", 1.0, 1.0, 1.0)).verdict == verdict


def test_an_ideal_that_does_not_move_shows_nothing() -> None:
    found = curve(0.0, 0.0, 0.0, expects=expected("falls", 0.0, 0.0, 0.0))
    assert (found.verdict, found.why) == ("incomplete", "the ideal is the same under all conditions")


def test_of_what_nothing_is_expected_nothing_is_said() -> None:
    found = curve(3.0, 2.0, 1.0)
    assert (found.slope, found.spearman, found.distance, found.verdict) == (-2.0, None, None, None)


def test_units_are_paired_between_the_ends() -> None:
    values = ((1.0, 0.0, 0.4), (1.0, 0.0, 1.0), (0.5, 0.0, None), (0.2, 0.0, 0.6))
    (found,) = curves_of(design(expected("falls"), units=4), rows(*values), "paper")
    assert found.pairs is not None
    # -.6, 0, unknown, +.4.
    assert (found.pairs.n, found.pairs.of, found.pairs.right, found.pairs.tied) == (3, 4, 1, 1)
    assert found.pairs.mean_change == pytest.approx(-0.2 / 3)
    # -.6 / 1, 0 / 1, .4 / .2: a mean of 1.4 / 3. The change of the means would be -.2 / 2.2.
    assert found.pairs.relative_change == pytest.approx(1.4 / 3)
    assert (found.verdict, found.why) == ("incomplete", "1 of 12 reports without a value")
    assert [(point.n, point.n_reports, point.n_failed) for point in found.points] == [
        (4, 4, 0),
        (4, 4, 0),
        (3, 4, 1),
    ]


def test_a_pair_that_starts_at_zero_has_no_relative_change() -> None:
    (found,) = curves_of(design(units=2), rows((0.0, 0.0, 0.5), (0.8, 0.0, 0.2)), "paper")
    assert found.pairs is not None
    # .5 / 0 is undefined; -.6 / .8.
    assert (found.pairs.n, found.pairs.relative_change) == (2, pytest.approx(-0.75))
    assert relative_change([(0.0, 1.0)]) is None


def test_items_of_different_questions_have_no_curve() -> None:
    """Both units have k1, in other words; k2 is in one unit, of which it has a curve; the others are alike in both."""

    def tree(unit: int) -> ScoreNode:
        labels = {"k1": f"Is it {unit}?", "k3": "Is it?", "decided": "Decided"} | (
            {"k2": "So?"} if unit else {}
        )
        score = Score(value=1.0)
        children = tuple(ScoreNode(id=id, label=label, score=score) for id, label in labels.items())
        return ScoreNode(id="s", label="S", score=score, children=children)

    records = [
        row.model_copy(update={"scores": (tree(int(row.case[-1])),)}) for row in rows((1.0,) * 3, (1.0,) * 3)
    ]
    assert [one.path for one in curves_of(design(units=2), records, "paper")] == [
        "s",
        "s/k3",
        "s/decided",
        "s/k2",
    ]
    alone = [row for row in records if row.case.endswith("0")]
    assert [one.path for one in curves_of(design(), alone, "paper")] == ["s", "s/k1", "s/k3", "s/decided"]


def test_judges_have_curves_of_their_own() -> None:
    both = [*rows((1.0, 0.5, 0.0), judge="a"), *rows((1.0, 1.0, 1.0), judge="b")]
    found = list(curves_of(design(expected("falls", 1.0, 0.5, 0.0)), both, "paper"))
    assert [(one.judge, one.verdict) for one in found] == [("a", "as expected"), ("b", "not as expected")]


def test_the_plot_has_a_panel_for_each_curve_with_its_missing_points() -> None:
    made = design(expected("falls", 1.0, 0.5, 0.0))
    found = rows((1.0, None, 0.0), judge="j")
    results = Results(
        design=made, profile="paper", judges=("j",), curves=tuple(curves_of(made, found, "paper"))
    )
    [panel] = panels_of(results)
    assert (panel.judge, panel.ideal, panel.paper) == ([1.0, None, 0.0], [1.0, 0.5, 0.0], [])


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(9.0, 10.0, "as expected"), (0.0, 10.0, "incomplete"), (None, None, "incomplete")],
)
def test_what_failures_leave_open_is_not_called_as_expected(
    low: float | None, high: float | None, verdict: str
) -> None:
    # All that was judged got 10 of 10. With one unit of ten failed the mean lies from 9 on, with nearly all from 0 on.
    found = rows((10.0, 10.0, 10.0))
    node = ScoreNode(
        id="s", label="S", score=Score(value=10.0, low=low, high=high, n_expected=10, n_failed=1)
    )
    found[1] = found[1].model_copy(update={"scores": (node,)})
    (one,) = curves_of(design(expected("flat", 1.0, 1.0, 1.0, scale=10.0)), found, "paper")
    assert (one.verdict, one.points[1].n_failed) == (verdict, 1)


@pytest.mark.parametrize(("n_falling", "verdict"), [(4, "as expected"), (3, "not as expected")])
def test_without_an_ideal_four_in_five_pairs_have_to_fall(n_falling: int, verdict: str) -> None:
    values = [(1.0, 0.5, 0.2 if unit < n_falling else 1.0) for unit in range(5)]
    (found,) = curves_of(design(expected("falls"), units=5), rows(*values), "paper")
    assert (found.pairs and found.pairs.right, found.verdict) == (n_falling, verdict)
