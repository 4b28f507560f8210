"""Agreement of judges on the scores and the order of reports."""

from __future__ import annotations

from itertools import combinations

import pytest
from scipy import stats

from local_judge.stats.agreement.stability import JudgedReport, Stability, stability_of_judges
from local_judge.stats.correlation import kendall_w
from local_judge.stats.estimate import Estimate

SHROUT_FLEISS = ((9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7))
"""Shrout and Fleiss 1979, table 2: six targets, four judges."""
JUDGES = ("j1", "j2", "j3", "j4")


def reports(rows: tuple[tuple[float, ...], ...], *tasks: str) -> list[JudgedReport]:
    return [
        JudgedReport(f"r{place}", tasks[place] if tasks else None, dict(zip(JUDGES, row, strict=False)))
        for place, row in enumerate(rows)
    ]


def named(found: Stability) -> dict[str, Estimate]:
    return {measure.id: measure.estimate for measure in found.measures}


def test_the_table_of_shrout_and_fleiss() -> None:
    found = stability_of_judges(reports(SHROUT_FLEISS), JUDGES, draws=50)
    assert (found.n_reports, found.n_tasks) == (6, 6)
    measures = named(found)
    assert list(measures) == [
        "kendall_w",
        "mean_spearman",
        "mean_tau",
        "alpha_interval",
        "icc_2_1",
        "icc_2_k",
    ]
    # Their table 4 prints .29 and .62.
    assert measures["icc_2_1"].value == pytest.approx(0.2898, abs=5e-5)
    assert measures["icc_2_k"].value == pytest.approx(0.6201, abs=5e-5)
    # Ranks by judge: 5 1.5 4 3 6 1.5; 3.5 1.5 5 1.5 6 3.5; 4 2 5.5 1 5.5 3; 4.5 1 4.5 2 6 3. Sums 17 6 19 7.5 23.5 11
    # about 14: S = 9 + 64 + 25 + 42.25 + 90.25 + 9 = 239.5. Ties 6 + 12 + 6 + 6 = 30.
    assert measures["kendall_w"].value == pytest.approx(12 * 239.5 / (16 * 210 - 4 * 30))
    # Sums over targets of 4 sum(x^2) - sum(x)^2: 120 + 56 + 44 + 104 + 68 + 59 = 451, twice for ordered pairs, by
    # m - 1 = 3 and n = 24. In all sum(x) = 127, sum(x^2) = 841: 2 (24 x 841 - 127^2) = 8110, by 24 x 23.
    observed, expected = 2 * 451 / 3 / 24, 8110 / (24 * 23)
    assert measures["alpha_interval"].value == pytest.approx(1 - observed / expected)
    columns = list(zip(*SHROUT_FLEISS, strict=True))
    rho = [float(stats.spearmanr(x, y).statistic) for x, y in combinations(columns, 2)]
    tau = [float(stats.kendalltau(x, y).statistic) for x, y in combinations(columns, 2)]
    assert measures["mean_spearman"].value == pytest.approx(sum(rho) / 6)
    assert measures["mean_tau"].value == pytest.approx(sum(tau) / 6)
    assert [(pair.first, pair.second) for pair in found.pairs] == list(combinations(JUDGES, 2))
    assert [pair.spearman for pair in found.pairs] == pytest.approx(rho)
    assert [pair.tau for pair in found.pairs] == pytest.approx(tau)


def test_the_interval_is_of_draws_of_tasks() -> None:
    rows = ((1, 2), (2, 1), (3, 5), (4, 4), (5, 3))
    found = named(stability_of_judges(reports(rows, "a", "a", "b", "b", "b"), JUDGES[:2], draws=400))
    # Two tasks have three draws: each twice, and both. A report drawn twice is tied with itself.
    first, second = rows[:2], rows[2:]
    possible = [(*first, *first), rows, (*second, *second)]
    w = [kendall_w(list(zip(*drawn, strict=True))).value or 0.0 for drawn in possible]
    assert found["kendall_w"].value == pytest.approx(w[1])
    assert (found["kendall_w"].low, found["kendall_w"].high) == (
        pytest.approx(min(w)),
        pytest.approx(max(w)),
    )
    rho = [float(stats.spearmanr(*zip(*drawn, strict=True)).statistic) for drawn in possible]
    assert (found["mean_spearman"].low, found["mean_spearman"].high) == (
        pytest.approx(min(rho)),
        pytest.approx(max(rho)),
    )
    tau = [float(stats.kendalltau(*zip(*drawn, strict=True)).statistic) for drawn in possible]
    assert (found["mean_tau"].low, found["mean_tau"].high) == (
        pytest.approx(min(tau)),
        pytest.approx(max(tau)),
    )


def test_a_report_without_a_score_is_left_out_and_counted() -> None:
    whole = reports(SHROUT_FLEISS)
    lost = [*whole, JudgedReport("r6", None, {"j1": 1, "j2": 9, "j4": 3}), JudgedReport("r7", None, {})]
    found = stability_of_judges(lost, JUDGES, draws=20)
    assert found.n_missing == {"j1": 1, "j2": 1, "j3": 2, "j4": 1}
    assert found.n_reports == 6
    assert found.measures == stability_of_judges(whole, JUDGES, draws=20).measures


def test_judges_without_an_order_and_too_few_reports() -> None:
    flat = stability_of_judges(reports(((3, 1), (3, 2), (3, 3))), JUDGES[:2], draws=20)
    measures = named(flat)
    # j1 has no order: W = 12 x 2 / (4 x 24 - 2 x 24) = 1/2, and no correlation.
    assert measures["kendall_w"].value == pytest.approx(0.5)
    spearman = measures["mean_spearman"]
    assert (spearman.value, spearman.n, spearman.n_undefined) == (None, 0, 1)
    assert measures["mean_tau"].reason == "no two judges have a correlation"
    assert flat.pairs[0].spearman is None and flat.pairs[0].tau is None
    same = named(stability_of_judges(reports(((3, 3), (3, 3), (3, 3))), JUDGES[:2], draws=20))
    assert {one.value for one in same.values()} == {None} and all(one.reason for one in same.values())
    few = stability_of_judges(reports(((1, 2), (2, 3))), JUDGES[:2], draws=20)
    assert few.pairs == ()
    assert {one.reason for one in named(few).values()} == {"2 reports that all judges have scored, needs 3"}


def test_the_order_of_reports_and_the_last_bits_change_nothing() -> None:
    given = reports(SHROUT_FLEISS, "a", "b", "a", "c", "b", "c")
    found = stability_of_judges(given, JUDGES, draws=30)
    assert stability_of_judges(given[::-1], JUDGES, draws=30) == found
    # 0.1 + 0.2 and 0.3 are one score.
    thirds = reports(((0.1 + 0.2, 1), (0.3, 1), (0.5, 2)))
    assert named(stability_of_judges(thirds, JUDGES[:2], draws=0))["kendall_w"].value == pytest.approx(1.0)
