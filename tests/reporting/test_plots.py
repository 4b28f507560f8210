"""Plots: what they show and where, and that their files stand alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import pytest

from local_judge.base.errors import UserError
from local_judge.reporting import plots
from local_judge.reporting.plots import (
    CostPanel,
    CostPoint,
    CurvePanel,
    agreement_scatter,
    experiment_curves,
    quality_cost,
    reliability_diagram,
    svg,
)
from local_judge.runs.results.joining import Method
from local_judge.runs.results.ratings import JoinedScores
from local_judge.scoring.coverage import Coverage
from local_judge.stats.agreement.ratings import RatedReport, RatedTask
from local_judge.stats.calibration.measures import Judged, bins

HOSTILE = "_<script>alert(1)</script>&amp;$x^2$\u0007\ufffe]]>"
CLAIMS = [Judged(true, p, "a") for p, true in ((0.12, False), (0.18, True), (0.9, True), (1.0, True))]
COSTS = CostPanel(
    "auc",
    "seconds a claim",
    [CostPoint("good", 0.4, 0.9, 0.8, 0.95, False), CostPoint(HOSTILE, 30.0, 0.7, None, None, True)],
)
CURVES = CurvePanel(
    f"fact: {HOSTILE}", "falls: as expected", ["none", "all"], [0, 1], 100, [90.0, None], [100, 0], []
)


def rated_run() -> JoinedScores:
    reports = (
        RatedReport("1", {"ann": Fraction(3)}, HOSTILE, Fraction(1, 2)),
        RatedReport("2", {"ann": Fraction(9)}, "b" * 500, Fraction(7, 10)),
        RatedReport("3", {"ann": Fraction(5)}, None, Fraction(6, 10)),
    )
    again = (RatedReport("1", {"ann": Fraction(4)}, HOSTILE, Fraction(1, 4)),)
    tasks = (RatedTask("t", reports), RatedTask("u", again))
    return JoinedScores(Method("<run>", ()), tasks, 4, Coverage(0, 4, None, None), (), (), ())


@pytest.mark.parametrize(
    "drawn",
    [
        lambda: reliability_diagram(HOSTILE, [(HOSTILE, bins(CLAIMS))]),
        lambda: agreement_scatter([rated_run()], HOSTILE),
        lambda: quality_cost([COSTS]),
        lambda: experiment_curves([CURVES]),
    ],
)
def test_a_file_stands_alone_and_has_the_same_bytes_twice(drawn: Callable[[], plots.Figure]) -> None:
    text = svg(drawn(), HOSTILE)
    assert text == svg(drawn(), HOSTILE)
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}
    for element in root.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert value.startswith("#") or not name.endswith("href")
    assert "_<script>alert(1)" in "".join(root.itertext())
    assert "date" not in text and "DOCTYPE" not in text


def test_a_bin_stands_at_its_mean_probability_and_its_share() -> None:
    [axes] = reliability_diagram("a judge", [("before", bins(CLAIMS))]).axes
    # Mean (0.12 + 0.18) / 2, one of two true; mean (0.9 + 1) / 2, both true.
    low, high = (np.asarray(one.get_offsets()) for one in axes.collections)
    assert low.tolist() == [[pytest.approx(0.15), 0.5]]
    assert high.tolist() == [[pytest.approx(0.95), 1.0]]
    # The diagonal, and an interval for each bin.
    assert len(axes.lines) == 3


def test_every_report_and_every_mean_of_a_system_is_drawn() -> None:
    [axes] = agreement_scatter([rated_run()], "score").axes
    points = [tuple(np.asarray(one.get_offsets())[0].tolist()) for one in axes.collections]
    assert points[:4] == [(3, 0.5), (9, 0.7), (5, 0.6), (4, 0.25)]
    # Means by name: (3 + 4) / 2 and (1/2 + 1/4) / 2 of the first system; the second has one report.
    assert points[4:] == [(3.5, 0.375), (9, 0.7)]


def test_a_dominated_judge_is_hollow_and_costs_are_on_a_logarithmic_axis() -> None:
    [axes] = quality_cost([COSTS]).axes
    assert axes.get_xscale() == "log"
    # 0.2 is the 1, 2 or 5 below 0.4, and 50 the one above 30.
    assert axes.get_xlim() == pytest.approx((0.2, 50))
    good, dominated = axes.collections
    assert np.asarray(dominated.get_facecolor())[0].tolist() == [1, 1, 1, 1]
    assert np.asarray(good.get_facecolor())[0].tolist() != [1, 1, 1, 1]


def test_a_missing_point_is_not_drawn() -> None:
    [axes] = experiment_curves([CURVES]).axes
    assert [np.asarray(line.get_xdata()).tolist() for line in axes.lines] == [[0], [0, 1], []]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["none", "all"]


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"pip install 'local-judge\[plots\]'"):
        experiment_curves([CURVES])
