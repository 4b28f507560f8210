"""Items of tasks: what is asked of one task is not averaged with what is asked of another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import RunError
from local_judge.protocols.base import Findings
from local_judge.protocols.checklist import Item
from local_judge.protocols.dream import DreamFindings
from local_judge.protocols.dream.key_information import KeyInformationFindings
from local_judge.protocols.dream.reasoning_findings import QuestionFindings, ReasoningFindings
from local_judge.protocols.liveresearchbench import LrbFindings
from local_judge.protocols.liveresearchbench.metrics.coverage import CoverageFindings
from local_judge.reporting.differences import run_difference, system_differences
from local_judge.reporting.groups import group_scores
from local_judge.runs.results.attributes import open_runs
from local_judge.runs.results.ranking import by_scores
from local_judge.runs.results.scored import system_scores
from local_judge.runs.results.side_by_side import score_columns
from local_judge.runs.results.tables import system_rows
from local_judge.scoring.aggregate import Meanings
from local_judge.scoring.algebra import exactly
from local_judge.scoring.node import ScoreNode, node
from local_judge.tasks.criteria import CriteriaRow
from local_judge.tasks.dimensions import DimensionsRow
from local_judge.tasks.model import ReasoningQuestion

from ..protocols.deepresearcheval import dre_cases
from ..protocols.race import race_cases
from .test_one_number import OF, pooled_run, pooling

__all__ = ["pooling"]


def coverage(text: str) -> Findings:
    items = (Item(id="q1", text=text, status="met"), Item(id="q2", text="Is it dated?", status="unmet"))
    return LrbFindings(**OF, coverage=CoverageFindings(items=items, status="given"))


def key_information(text: str) -> Findings:
    items = (Item(id="k1", text=text, status="met"),)
    found = KeyInformationFindings(items=items, sources=(None,), status="given")
    return DreamFindings(**OF, key_information=found)


def reasoning(text: str) -> Findings:
    question = ReasoningQuestion(id="r1", question=text, extract="What.", verify="Where.", compare="How.")
    found = ReasoningFindings(
        questions=(QuestionFindings(question=question),), limit=8, searched=False, status="given"
    )
    return DreamFindings(**OF, reasoning=found)


def race(text: str) -> Findings:
    own = {**race_cases.ROW["criterions"]}
    own["insight"] = [{**own["insight"][0], "criterion": text}, own["insight"][1]]
    criteria = CriteriaRow.model_validate({**race_cases.ROW, "criterions": own}).as_content("given")
    compared = race_cases.comparison(race_cases.TARGET_SCORES, race_cases.REFERENCE_SCORES)
    return race_cases.findings(compared, criteria=criteria)


def quality(text: str, specific: str = "Cost accounting") -> Findings:
    rows: list[Any] = list(dre_cases.ROW["dimensions"])
    rows[1] = dre_cases.entry("Insight", "general", 2, **{text: 1})
    rows[4] = {**rows[4], "name": specific}
    dimensions = DimensionsRow.model_validate({**dre_cases.ROW, "dimensions": rows}).content
    assert dimensions is not None
    ids = [one.id for dimension in dimensions.dimensions for one in dimension.criteria]
    return dre_cases.findings(dre_cases.marked(dict.fromkeys(ids, 5.0), dimensions))


KINDS: dict[str, tuple[str, Callable[[str], Findings], str, str]] = {
    # Protocol, findings by the text of an item, the item's path, and a score with a meaning in all tasks.
    "checklist": ("liveresearchbench", coverage, "coverage/q1", "coverage/q2"),
    "plan": ("dream", key_information, "key_information/k1", "key_information"),
    "question": ("dream", reasoning, "reasoning/r1", "reasoning"),
    "criterion": ("race", race, "insight/1", "insight/2"),
    "point": ("deepresearcheval", quality, "quality/general/insight/1", "quality/general/insight"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("pooling")
def test_items_that_differ_between_tasks_have_no_value_over_tasks(kind: str, tmp_path: Path) -> None:
    protocol, made, item, shared = KINDS[kind]
    reports = [made("Who paid?"), made("Who built it?")]
    store = pooled_run(tmp_path / "run", protocol, {"ada": reports, "bo": reports})
    paths = {"/".join(row.path) for row in system_scores(store, protocol, "paper")}
    assert item not in paths and shared in paths
    assert item not in {row["path"] for row in system_rows(store)}
    (run,) = open_runs([store.root])
    above = item.rpartition("/")[0]
    asking: list[Callable[[], object]] = [
        lambda: by_scores([store.root], protocol, "paper", item),
        lambda: group_scores([run], ("system",), "paper", [item]),
        lambda: score_columns([store.root], protocol, "paper", item, "words"),
        lambda: system_differences(run, "paper", score=item),
    ]
    for ask in asking:
        with pytest.raises(RunError) as caught:
            ask()
        assert f"score {item!r} is a different item in each task" in str(caught.value)
    if shared == item[:-1] + "2":  # as long as one item below has a meaning
        groups = group_scores([run], ("system",), "paper", [f"{above}/*"])
        assert [column.path for column in groups.columns] == [tuple(shared.split("/"))]
    else:
        with pytest.raises(RunError, match=f"'{item}'"):
            group_scores([run], ("system",), "paper", [f"{above}/*"])
    by_scores([store.root], protocol, "paper", shared)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("pooling")
def test_one_item_for_all_tasks_has_a_value(kind: str, tmp_path: Path) -> None:
    protocol, made, item, _ = KINDS[kind]
    reports = [made("Who paid?")] * 2
    store = pooled_run(tmp_path / "run", protocol, {"ada": reports, "bo": reports})
    rows = [row for row in system_scores(store, protocol, "paper") if "/".join(row.path) == item]
    assert [(row.system, row.n_values) for row in rows] == [("ada", 2), ("bo", 2)]
    assert by_scores([store.root], protocol, "paper", item).matches


@pytest.mark.usefixtures("pooling")
def test_a_dimension_of_one_task_takes_its_criteria_along(tmp_path: Path) -> None:
    reports = [quality("Who paid?", "Cost accounting"), quality("Who paid?", "Cost control")]
    store = pooled_run(tmp_path / "run", "deepresearcheval", {"ada": reports})
    paths = {"/".join(row.path) for row in system_scores(store, "deepresearcheval", "paper")}
    below = {path for path in paths if path.startswith("quality/specific/")}
    # The other dimension is that of both tasks.
    assert below == {"quality/specific/sources_of_money", "quality/specific/sources_of_money/1"}


@pytest.mark.usefixtures("pooling")
def test_items_of_two_runs_are_not_ranked_together(tmp_path: Path) -> None:
    runs = [
        pooled_run(tmp_path / name, "liveresearchbench", {f"{name}-{n}": [coverage(text)] for n in (1, 2)})
        for name, text in (("ada", "Who paid?"), ("bo", "Who built it?"))
    ]
    with pytest.raises(RunError, match=r"'coverage/q1'.*ada and .*bo"):
        by_scores([run.root for run in runs], None, "paper", "coverage/q1")


@pytest.mark.usefixtures("pooling")
def test_two_runs_are_compared_by_what_is_the_same_in_all_tasks(tmp_path: Path) -> None:
    reports = [coverage("Who paid?"), coverage("Who built it?")]
    first, second = (
        pooled_run(tmp_path / name, "liveresearchbench", {"ada": reports}).root for name in ("one", "other")
    )
    found = run_difference((first, second), all_scores=True)
    assert [one.path for one in found.scores] == [("coverage",), ("coverage", "q2")]
    with pytest.raises(RunError, match="'q1'"):
        run_difference((first, second), score="q1")


def test_what_varies() -> None:
    def tree(item: str, of_task: bool, **more: str) -> ScoreNode:
        parts = {"a": item, **more}
        below = tuple(node(id, label, exactly(1.0), of_task=of_task) for id, label in parts.items())
        return node("root", "Root", exactly(1.0), below)

    def varied(*trees: tuple[str, ScoreNode]) -> list[str]:
        found, paths = Meanings(), dict[tuple[str, ...], None]()
        for task, one in trees:
            nodes = list(one.walk())
            paths |= dict.fromkeys(path for path, _ in nodes)
            found.add(task, nodes)
        return ["/".join(path) for path in paths if found.varies(path)]

    assert varied(("1", tree("x", True)), ("2", tree("x", True))) == []
    assert varied(("1", tree("x", True)), ("2", tree("y", True))) == ["root/a"]
    # Whether it is declared or not, different labels are different items, also for reports on one task.
    assert varied(("1", tree("x", False)), ("1", tree("y", False))) == ["root/a"]
    # An item that only one task has; a score that only one report has, such as of a domain, means the same everywhere.
    assert varied(("1", tree("x", True)), ("2", tree("x", True, b="z"))) == ["root/b"]
    assert varied(("1", tree("x", False)), ("2", tree("x", False, b="z"))) == []
