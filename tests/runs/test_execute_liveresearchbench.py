"""Runs of LiveResearchBench: all metrics over one report and its pages, stored and scored again."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError
from local_judge.protocols.base import load_protocol
from local_judge.runs.execution.execute import check_inputs, execute
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.records import load_scores
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.store import RunStore
from serving.engines.scripted import Call, Reply

from ..protocols.liveresearchbench.lrb_cases import STORED, TASK
from ..scripted_judge import MakeJudge, believe

CITED = b"""# The retrofit

It connected 1,240 dwellings [1]. A crowd came [2]. It cost 3 million.

## References

[1] https://heat.example/fernholt/renewal
[2] https://gazette.example/2022/opening-day
"""


def answering(call: Call) -> Reply:
    """All is met but for one sentence without a source; pages say what they are said to say."""
    if call.schema is None:
        return believe(call)
    properties = call.schema["properties"]
    if "issues" in properties:
        missing = [{"quote": "It cost 3 million.", "citation": "", "reason": "A figure."}]
        return {"issues": missing if "need a source" in call.prompt else []}
    if "met" in next(iter(properties.values())).get("properties", {}):
        return {key: {"quote": "A crowd came", "rationale": "So.", "met": True} for key in properties}
    return believe(call)


async def test_all_metrics_of_one_report(make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path) -> None:
    judge, engine = make_judge(answering)
    store = RunStore(tmp_path / "run")
    parts = ["presentation", "coverage", "consistency", "citation", "accuracy"]
    settings = {"liveresearchbench": {"parts": parts}}
    config = RunConfig(protocols=("liveresearchbench",), settings=settings, date=date(2025, 9, 30))
    reports = [RawReport("ada/1", CITED, TASK, "a.md", "ada", TASK.id)]
    [record] = await execute(reports, judge, snapshot, config, store)
    assert (record.status, record.n_calls_failed) == ("done", 0)
    found = store.read_item(findings_file("liveresearchbench", None), record.key, STORED)
    assert found.accuracy is not None and found.citation is not None
    assert [(page.status, page.on_topic) for page in found.accuracy.pages] == [("ok", True), ("dead", None)]
    assert [issue.fate for issue in found.citation.issues] == ["counted"]
    shown = [call for call in engine.calls if "Opening of a page:" in call.prompt]
    assert len(shown) == 1
    expected = {
        "presentation": 100,
        "coverage": 100,
        "consistency": 100,
        "citation": 90,  # one issue
        "accuracy": 1,  # E1: the second page is dead
    }
    [paper, upstream] = load_scores(store, ["liveresearchbench"])
    assert {root.id: root.score.value for root in paper.scores} == expected
    assert {root.id: root.score.value for root in upstream.scores} == {**expected, "accuracy": None}
    rescore(store, ["liveresearchbench"], [record])
    assert load_scores(store, ["liveresearchbench"]) == [paper, upstream]


async def test_a_judge_that_never_answers_leaves_every_score_open(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    def mumbling(call: Call) -> Reply:
        return "no"

    judge, _ = make_judge(mumbling)
    store = RunStore(tmp_path / "run")
    settings: dict[str, Any] = {
        "liveresearchbench": {
            "parts": ["presentation", "coverage", "consistency", "citation"],
            "presentation": {"judge_all": True},
        }
    }
    config = RunConfig(protocols=("liveresearchbench",), settings=settings)
    [record] = await execute([RawReport("a", CITED, TASK, "a.md")], judge, None, config, store)
    assert (record.status, record.n_questions_failed) == ("done", 10 + 3 + 1 + 1)
    for row in load_scores(store, ["liveresearchbench"]):
        assert [(root.score.value, root.score.low, root.score.high) for root in row.scores] == [
            (None, 0, 100),
            (None, 0, 100),
            (None, 10, 100),
            (None, 10, 100),
        ]


def test_what_is_missing_is_said_before_a_judge_is_asked(snapshot: Snapshot) -> None:
    protocol = load_protocol("liveresearchbench")
    report = RawReport("a", CITED, TASK, "a.md")
    with pytest.raises(ConfigError, match="needs a snapshot"):
        check_inputs([report], None, [protocol])
    bare = report._replace(task=TASK.model_copy(update={"checklist": None}))
    with pytest.raises(ConfigError, match=r"its task 'mill' has no checklist; .*--checklists"):
        check_inputs([report, bare], snapshot, [protocol])
    with pytest.raises(ConfigError, match="give --tasks, or do without: "):
        check_inputs([report._replace(task=None)], snapshot, [protocol])
    check_inputs([report], snapshot, [protocol])
