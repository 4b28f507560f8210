"""Which reports of a run are compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from local_judge.protocols.base import OtherReport
from local_judge.runs.execution.execute import other_reports_of, reports_by_task
from local_judge.runs.planning.inputs import RawReport
from local_judge.tasks.model import Task

ONE, TWO = Task(id="1", prompt="What did it cost?"), Task(id="2", prompt="Who paid?")


def raw(id: str, task: Task | None, system: str | None) -> RawReport:
    return RawReport(id, id.encode(), task, f"{id}.md", system)


REPORTS = [
    raw("a1", ONE, "ada"),
    raw("b1", ONE, "bo"),
    raw("a2", TWO, "ada"),
    raw("c1", ONE, None),
    raw("d1", ONE, None),
    raw("again1", ONE, "ada"),
    raw("none", None, "bo"),
]


def others(reports: Sequence[RawReport]) -> dict[str, tuple[OtherReport, ...]]:
    by_task = reports_by_task(reports)
    return {report.id: other_reports_of(report, by_task) for report in reports}


def test_each_two_systems_meet_once_on_a_task() -> None:
    found = others(REPORTS)
    met = [{id, other.id} for id, later in found.items() for other in later]
    # All pairs of the five on task 1, but the two of one system.
    expected = [set(two) for two in combinations(["a1", "b1", "c1", "d1", "again1"], 2)]
    assert sorted(map(sorted, met)) == sorted(sorted(two) for two in expected if two != {"a1", "again1"})
    assert found["a1"][0] == OtherReport(id="b1", system="bo", content=b"b1")
    assert found["a2"] == found["none"] == found["again1"] == ()


def test_another_order_of_the_reports_makes_the_same_pairs() -> None:
    turned = others(REPORTS[::-1])
    met = {frozenset((id, other.id)) for id, later in turned.items() for other in later}
    assert met == {frozenset((id, other.id)) for id, later in others(REPORTS).items() for other in later}


def test_tasks_of_one_id_and_other_requests_are_other_tasks() -> None:
    other = Task(id="1", prompt="What did it bring in?")
    assert not any(others([raw("a", ONE, "ada"), raw("b", other, "bo")]).values())
