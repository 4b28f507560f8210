from __future__ import annotations

import pytest

from local_judge.protocols.deer.rubric import upstream
from local_judge.protocols.deer.rubric.scores import score

from ..rubric_cases import EC, FS, II, RF, drawn, everywhere, findings, settled, tied

FACT = {
    "integrity": {
        "claim_factuality": 5.65,
        "citation_validity": 5.42,
        "reference_accuracy": 7.5,
        "reference_quality": 8.75,
        "reference_diversity": 8.2,
    },
    "sufficiency": {"source_support": 8.7, "information": 5.0, "citations": 2.0, "references": 1.0},
}


def one_criterion(**scores: float | None) -> upstream.Items:
    return {RF: {"scope": {"1": {name.replace("_", "-"): score for name, score in scores.items()}}}}


def test_a_reports_file_rounds_at_every_level_and_the_integration_once() -> None:
    items: upstream.Items = {
        RF: {
            "scope": {
                "1": {"C1-1": 1, "C1-2": 2, "C1-3": 2},
                "2": {"C2-1": 1, "C2-2": 2, "C2-3": 2, "Q2-1": 1},
            }
        }
    }
    found = upstream.averages(items)
    # 5/3 rounds to 1.67; (1.67 + 1) / 2 is, as a float, a little below 1.335
    assert found.elements[RF]["scope"] == {
        "1": {"c_avg": 1.67, "q_avg": None, "element_avg": 1.67},
        "2": {"c_avg": 1.67, "q_avg": 1.0, "element_avg": 1.33},
    }
    assert (found.criteria, found.scores, found.score) == ({RF: {"scope": 1.5}}, {RF: 1.5}, 1.5)
    # (5/3 + 4/3) / 2
    assert upstream.subdimensions(items)[RF]["scope"] == 1.5
    assert (
        upstream.averages(one_criterion(C1_1=3, C1_2=3, C1_3=4, Q1_1=4)).score == 3.67
    )  # (3.33 + 4) / 2 = 3.665


def test_the_two_derivations_differ_now_and_then() -> None:
    differing = total = 0
    for seed in range(40):
        items = upstream.items_of(findings(drawn(seed, failed=0)))
        file, final = upstream.averages(items).scores, upstream.integrate(None, items).scores
        for dimension, value in final.items():
            other = file[dimension]
            assert value is not None and other is not None
            assert abs(value - other) < 0.0101
            differing += value != other
            total += 1
    assert total == 200 and 0 < differing < 20


def test_the_files_score_counts_information_integrity_where_recency_has_a_value() -> None:
    answers = everywhere(6)
    for item in ("C1-1", "C1-2", "C1-3"):
        answers[II, "recency", "1", item] = 9
    found = upstream.averages(upstream.items_of(findings(answers)))
    assert (found.scores[II], found.score) == (9.0, 6.5)  # (5 * 6 + 9) / 6
    for item in ("C1-1", "C1-2", "C1-3"):
        answers[II, "recency", "1", item] = "N/A"
    found = upstream.averages(upstream.items_of(findings(answers)))
    assert (found.scores[II], found.criteria[II], found.score) == (None, {"recency": None}, 6.0)


def test_recency_is_a_third_metric_of_reference_quality() -> None:
    items: upstream.Items = {II: {"recency": {"1": {"C1-1": 4, "C1-2": 5}}}}
    found = upstream.integrate(FACT, items)
    # (2 * 8.75 + 4.5) / 3
    assert found.criteria[II]["reference_quality"] == 7.33
    assert "recency" not in found.criteria[II]
    # (5.65 + 5.42 + 7.5 + 7.33 + 8.2) / 5
    assert found.scores == {II: 6.82, "information_sufficiency": 4.17}
    assert upstream.integrate(FACT, {II: {"recency": {"1": {"C1-1": None}}}}).scores[II] == 7.1
    assert upstream.integrate(None, items) == upstream.Integrated({}, {})


def test_items_are_averaged_over_the_reports_before_anything_else() -> None:
    first, second = one_criterion(C1_1=2, Q1_1=None), one_criterion(C1_1=4, Q1_1=9)
    # C1-1 3, Q1-1 9: 6. The mean of the reports' own, 2 and 6.5, would be 4.25.
    assert upstream.integrate_all([], [first, second]).scores == {RF: 6.0}
    # Sub-dimensions by rule: the mean of the rounded ones.
    other = {"integrity": {**FACT["integrity"], "reference_quality": 5.0}, "sufficiency": FACT["sufficiency"]}
    both = upstream.integrate_all([FACT, other], [])
    assert both.criteria[II]["reference_quality"] == round((8.75 + 5.0) / 2, 2) == 6.88
    assert upstream.integrate_all([], []) == upstream.Integrated({}, {})
    with pytest.raises(ValueError, match="the mean of no report"):
        upstream.mean_fact([])


def test_the_integration_takes_exact_means_and_one_reports_file_sums_of_floats() -> None:
    found = upstream.integrate_all([], [upstream.items_of(report) for report in tied()])
    # Criteria 1.2, 1.2, 5.7 and 1.2: the float nearest to their exact mean, 2.325, rounds to 2.33. Their sum as floats
    # is 9.299999999999999, a quarter of which rounds to 2.32.
    assert found.criteria[FS]["writing_quality"] == 2.33
    assert upstream.rounded(upstream.mean([1.2, 1.2, 5.7, 1.2])) == 2.32


@pytest.mark.parametrize("seed", range(8))
def test_the_tree_is_the_integration_with_bounds_from_three_runs(seed: int) -> None:
    answers = drawn(seed)
    runs = [
        upstream.integrate(None, upstream.items_of(findings(run)))
        for run in (answers, settled(answers, 1), settled(answers, 10))
    ]
    roots = {root.id: root for root in score([findings(answers)], "upstream")}
    compared = 0
    for dimension, parts in runs[0].criteria.items():
        value, low, high = (run.scores[dimension] for run in runs)
        whole = roots[dimension].score
        assert (whole.value, whole.low, whole.high) == (value, low, high)
        for part in parts:
            found = roots[dimension].find(part).score
            assert (found.value, found.low, found.high) == tuple(
                run.criteria[dimension][part] for run in runs
            )
            compared += 1
    assert compared == 16


def test_a_failure_is_left_out_as_the_code_would() -> None:
    answers = everywhere(6)
    for item in ("C1-1", "Q1-1"):
        answers[EC, "perspective_balance", "1", item] = "failed"
    root = next(root for root in score([findings(answers)], "upstream") if root.id == EC)
    part = root.find("perspective_balance").score
    assert (part.value, part.n_failed, part.low, part.high) == (None, 2, 1, 10)
    # of three sub-dimensions two are known; (6 + 6 + 1) / 3 and (6 + 6 + 10) / 3
    assert (root.score.value, root.score.n_failed, root.score.low, root.score.high) == (6, 1, 4.33, 7.33)


def test_the_code_has_items_only() -> None:
    with pytest.raises(
        ValueError, match="the published code has items; these findings are of mode 'vanilla'"
    ):
        upstream.items_of(findings({(): 4}, mode="vanilla"))
