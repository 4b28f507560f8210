"""Runs whose protocol asks questions of its own: what they need, what they count, and what they may leave out."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError
from local_judge.protocols.base import load_protocol
from local_judge.protocols.deer.protocol import DeerFindings
from local_judge.runs.execution.execute import check_inputs, execute
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.records import load_scores
from local_judge.runs.storage.store import RunStore
from local_judge.tasks.model import Guidance, Task
from serving.engines.scripted import Call, Reply

from ..scripted_judge import MakeJudge, believe

REPORT = b"""# The mill

The retrofit connected 1,240 dwellings [1]. It was dear.

## References

[1] The renewal. https://heat.example/fernholt/renewal
"""
TASK = Task(id="mill", prompt="What was done?", guidance=Guidance(text="Say what it cost."))
RAW = RawReport("ada_mill", REPORT, TASK, "mill.md", "ada", "mill")
RUBRIC = RunConfig(settings={"deer": {"parts": ["rubric"]}})


async def test_both_parts_of_deer_make_seven_dimensions(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, engine = make_judge()
    store = RunStore(tmp_path / "run")
    [record] = await execute([RAW], judge, snapshot, RunConfig(), store)
    assert (record.status, record.task, record.system, record.n_calls_failed) == ("done", "mill", "ada", 0)
    # "The retrofit connected 1,240 dwellings. It was dear.": eight words, in two sentences.
    assert (record.n_words, record.n_sentences) == (8, 2)
    paper, upstream = load_scores(store, ["deer"])
    assert len(paper.scores) == len(upstream.scores) == 8
    assert [root.id for root in paper.scores][-1] == "overall"
    # The credulous judge answers 1 to every item, and all five judged dimensions have a value.
    judged = [root for root in paper.scores if root.id not in ("overall", *_verified())]
    assert [root.score.value for root in judged] == [1.0] * 5
    # One batch of claims, the claim against its page, the page's reliability; and the rubric's five calls.
    assert len(engine.calls) == 3 + 5
    reports = [call.prompt for call in engine.calls if "L2.S2: It was dear." in call.prompt]
    # Extraction and rubric open with the same bytes.
    opening = reports[0][: reports[0].index("L2.S2: It was dear.\n```") + len("L2.S2: It was dear.\n```")]
    assert len(reports) == 6
    assert all(prompt.startswith(opening) for prompt in reports)


def _verified() -> tuple[str, str]:
    return "information_integrity", "information_sufficiency"


async def test_the_rubric_alone_needs_no_snapshot_and_makes_no_claims(
    make_judge: MakeJudge, tmp_path: Path
) -> None:
    judge, engine = make_judge()
    store = RunStore(tmp_path / "run")
    [record] = await execute([RAW], judge, None, RUBRIC, store)
    assert (record.status, record.n_sources) == ("done", 0)
    assert len(engine.calls) == 5
    assert not (tmp_path / "run/claims").exists()
    findings = store.read_item(findings_file("deer", None), record.key, DeerFindings)
    assert findings.rows is None
    assert findings.rubric is not None and findings.rubric.guidance == TASK.guidance


async def test_unanswered_questions_are_counted(make_judge: MakeJudge, tmp_path: Path) -> None:
    def silent_on_recency(call: Call) -> Reply:
        reply = believe(call)
        assert isinstance(reply, dict)
        return {name: item for name, item in reply.items() if not name.startswith("recency")}

    judge, _ = make_judge(silent_on_recency)
    [record] = await execute([RAW], judge, None, RUBRIC, None)
    assert (record.n_questions_failed, record.n_calls_failed) == (3, 3)


def test_what_is_missing_is_said_before_a_judge_is_asked(snapshot: Snapshot) -> None:
    deer = load_protocol("deer")
    without = RawReport("b", REPORT, None, "b.md")
    check_inputs([RAW], snapshot, [deer])
    with pytest.raises(ConfigError, match=r"deer: report 'b' has no task \(and 1 others\)"):
        check_inputs([RAW, without, without._replace(id="c")], snapshot, [deer])
    with pytest.raises(ConfigError, match="deer: verifying claims needs a snapshot; give --snapshot"):
        check_inputs([RAW], None, [deer])
    check_inputs([without], snapshot, [load_protocol("deer", {"parts": ["verification"]})])
    check_inputs([RAW], None, [load_protocol("deer", {"parts": ["rubric"]})])


async def test_a_report_that_is_too_long_for_the_judge_has_no_score(
    make_judge: MakeJudge, tmp_path: Path
) -> None:
    judge, _ = make_judge(context_tokens=400)
    raw = RAW._replace(content=f"# The mill\n\n{'The mill grinds corn by water. ' * 40}\n".encode())
    store = RunStore(tmp_path / "run")
    [record] = await execute([raw], judge, None, RUBRIC, store)
    assert record.n_questions_failed == 101
    for scores in load_scores(store, ["deer"]):
        by_id = {root.id: root.score for root in scores.scores}
        assert by_id["overall"].value is by_id["format_style"].value is None
        assert (by_id["format_style"].low, by_id["format_style"].high) == (1, 10)
