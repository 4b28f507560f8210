"""Reports of two runs in pairs, and the values of their scores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.runs.results.attributes import OpenRun
from local_judge.runs.results.matching import matched_reports, score_pairs
from local_judge.runs.results.scored import Nodes, Scored
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Score, ScoreNode
from local_judge.stats.paired import Pair

PATH = ("overall",)


def case(name: str, task: str | None = None, system: str | None = None) -> CaseRecord:
    return CaseRecord(id=name, key=name, status="done", task=task, system=system)


def opened(*records: CaseRecord) -> OpenRun:
    return OpenRun("run", RunStore(Path("run")), None, list(records))


def scored(values: Mapping[str, float | None]) -> Scored:
    nodes: dict[str, Nodes] = {
        name: {PATH: ScoreNode(id="overall", label="Overall", score=Score(value=value))}
        for name, value in values.items()
    }
    return Scored([], nodes, "run")


@pytest.mark.parametrize(
    ("first", "second", "by", "pairs", "unmatched"),
    [
        # b is in both; a and c are alone.
        ([case("a"), case("b")], [case("b"), case("c")], "id", [("b", "b")], (1, 1)),
        # No id is in both. Task and system match a with d; b and c have another system.
        (
            [case("a", "t", "x"), case("b", "t", "y")],
            [case("c", "t", "z"), case("d", "t", "x")],
            "task and system",
            [("a", "d")],
            (1, 1),
        ),
        # Neither is in both. Task u has one report each, task t two in the second run.
        (
            [case("a", "t", "x"), case("b", "u", "x")],
            [case("c", "t", "y"), case("d", "t", "z"), case("e", "u", "y")],
            "task",
            [("b", "e")],
            (1, 2),
        ),
    ],
)
def test_reports_are_matched_by_the_first_key_that_two_share(
    first: list[CaseRecord],
    second: list[CaseRecord],
    by: str,
    pairs: list[tuple[str, str]],
    unmatched: tuple[int, int],
) -> None:
    found = matched_reports(opened(*first), opened(*second))
    assert [(one.id, other.id) for one, other in found.pairs] == pairs
    assert (found.by, (found.n_first, found.n_second)) == (by, unmatched)


def test_runs_without_a_report_in_common_are_refused() -> None:
    said = (
        "no report of one is in the other; reports are matched by id, or by task if each run has one report"
    )
    with pytest.raises(InputError, match=said):
        matched_reports(opened(case("a", "t", "x")), opened(case("b", "u", "x")))


def test_pairs_of_scores_are_drawn_by_task_or_else_by_report() -> None:
    records = [case("a", "t"), case("b"), case("c", "t"), case("d", "t")]
    matched = matched_reports(opened(*records), opened(*records))
    # The second run has no value for c, and no score of d.
    first, second = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, {"a": 5.0, "b": 6.0, "c": None}
    found = score_pairs(matched, scored(first), scored(second))
    assert found == {PATH: [Pair("t", 1.0, 5.0), Pair("b", 2.0, 6.0)]}
