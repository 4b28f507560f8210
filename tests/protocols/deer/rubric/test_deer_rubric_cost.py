from __future__ import annotations

from collections.abc import Sequence

import pytest

from local_judge.protocols.deer.overall import score
from local_judge.protocols.deer.rubric.model import RubricFindings
from local_judge.protocols.deer.rubric.tables import costs
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows

from ..rubric_cases import FS, II, PATHS, RF, Answer, drawn, everywhere, findings

VERIFIED = Rows(
    claims=(
        ClaimRow(
            id="L1.S1.1",
            type="A",
            pairs=(PairRow(url="https://a.example", outcome="supported", reliable=True),),
        ),
    )
)


def value(rows: Sequence[Rows], rubric: RubricFindings, *path: str) -> float:
    root = next(root for root in score(rows, [rubric], "paper") if root.id == path[0])
    found = root.find(*path[1:]).score.value
    assert found is not None
    return found


@pytest.mark.parametrize("rows", [(), (VERIFIED,)], ids=["rubric alone", "with verification"])
def test_a_cost_is_what_the_scores_would_gain(rows: Sequence[Rows]) -> None:
    answers = drawn(3)
    before = findings(answers)
    found = costs(score(rows, [before], "paper"), before)
    below = [
        path for path, answer in answers.items() if isinstance(answer, int) and answer < 10 and path[0] != II
    ]
    assert sorted(cost.path for cost in found) == sorted(below)
    for cost in found:
        after = findings({**answers, cost.path: 10})
        for gain, path in ((cost.overall, "overall"), (cost.dimension, cost.path[0])):
            assert gain == pytest.approx(value(rows, after, path) - value(rows, before, path), abs=1e-12)
    assert [cost.overall for cost in found] == sorted((cost.overall for cost in found), reverse=True)


def test_the_weight_of_an_item_is_that_of_its_place() -> None:
    answers: dict[tuple[str, ...], Answer] = {**everywhere(10), (RF, "scope", "1", "Q1-2"): 1}
    (cost,) = costs(score([], [findings(answers)], "paper"), findings(answers))
    # 9 points; one of two quality items, quality half of the criterion, which is one of three sub-dimensions, and the
    # dimension is one of five.
    assert (cost.dimension, cost.overall) == (9 / (2 * 2 * 1 * 3), 9 / (2 * 2 * 1 * 3 * 5))


def test_equal_costs_keep_the_rubrics_order() -> None:
    rubric = findings(everywhere(5))
    found = [
        cost.path for cost in costs(score([], [rubric], "paper"), rubric) if cost.path[1] == "writing_quality"
    ]
    assert found[:3] == [(FS, "writing_quality", n, f"C{n}-1") for n in ("1", "2", "4")]
    assert len(costs(score([], [rubric], "paper"), rubric)) == len(PATHS) - 3  # recency costs nothing


def test_an_answer_in_a_part_without_value_costs_nothing() -> None:
    parts = list(dict.fromkeys(path[:2] for path in PATHS if path[0] == RF))
    lost = [path for path in PATHS if path[:2] == parts[0]]
    answers: dict[tuple[str, ...], Answer] = {**everywhere(10), **dict.fromkeys(lost, "failed"), lost[0]: 1}
    assert costs(score([], [findings(answers)], "paper"), findings(answers)) == ()


def test_whole_dimensions_cost_too_and_a_whole_report_does_not() -> None:
    rubric = findings({(RF,): 4, (FS,): 10}, mode="dimensions", scale=10)
    (cost,) = costs(score([], [rubric], "paper"), rubric)
    assert (cost.path, cost.dimension, cost.overall) == ((RF,), 6, 3)
    whole = findings({(): 4}, mode="vanilla")
    assert costs(score([], [whole], "paper"), whole) == ()
    five = findings({(RF,): 3}, mode="dimensions", scale=5)
    assert costs(score([], [five], "paper"), five)[0].overall == 4.5
