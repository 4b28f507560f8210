"""Runs of DREAM: an ensemble of two judges, its aggregates, agreement, evidence gaps, and a plan that asks nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge.agents.result import read_evidence_gaps
from local_judge.protocols.dream import DreamFindings
from local_judge.runs.execution.execute import execute
from local_judge.runs.planning.config import RunConfig, settled
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.records import load_scores
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import ScoreNode
from serving.engines.scripted import Call, Reply

from ..scripted_judge import MakeJudge, believe

CITED = b"""# The retrofit

It connected 1,240 dwellings [1]. A crowd came [2]. It cost 3 million.

## References

[1] https://heat.example/fernholt/renewal
[2] https://gazette.example/2022/opening-day
"""
UNCITED = b"It connected 1,240 dwellings. It cost 3 million."
CONFIG = RunConfig(
    protocols=("dream",),
    date=date(2025, 9, 30),
    settings={"dream": {"parts": ["writing", "factuality", "citation", "authority"]}},
)


def answering(mark: int, label: str) -> Callable[[Call], Reply]:
    """Gives all sub-dimensions the same mark; of claims, says this of dwellings and nothing of others."""

    def answer(call: Call) -> Reply:
        if call.schema is None:
            return believe(call)
        keys = call.schema["properties"]
        listed = dict(re.findall(r"^(\d+)\. (.+)$", call.prompt.rpartition("Claims:")[2], re.MULTILINE))
        if "search queries" in call.prompt:
            told = {"dwell": "retrofit network dwellings", "crowd": "zeppelin hangar"}
            return {n: {"queries": [query(text, told)]} for n, text in listed.items()}
        if '"opposing"' in call.prompt:
            return {n: finding(text, label) for n, text in listed.items()}
        if "Domain:" in call.prompt:
            return {"rationale": "Known.", "score": mark // 10}
        if "main_idea" in keys:
            return {key: {"quote": "A crowd came", "rationale": "So.", "score": mark} for key in keys}
        reply: Any = believe(call)
        for sentence in reply.values():
            for claim in sentence.get("claims", []):
                claim |= {"checkable": True, "salient": True}
        return reply

    return answer


def query(text: str, told: dict[str, str]) -> str:
    return next((words for part, words in told.items() if part in text), "retrofit expense")


def finding(text: str, label: str) -> dict[str, Any]:
    found: dict[str, Any] = {"supporting": [], "opposing": [], "rationale": "So.", "label": "unverifiable"}
    if "dwellings" in text:
        side = "opposing" if label == "contradicted" else "supporting"
        found |= {"label": label, side: ["1,240 dwellings"]}
    return found


def tree(store: RunStore, name: str | None) -> dict[str, tuple[ScoreNode, ...]]:
    return {row.case: row.scores for row in load_scores(store, ("dream",), (name,))}


async def test_two_judges_over_two_reports(make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path) -> None:
    one, _ = make_judge(answering(80, "supported"))
    other, _ = make_judge(answering(40, "contradicted"))
    store = RunStore(tmp_path / "run")
    reports = [
        RawReport("cited", CITED, None, "a.md", "ada"),
        RawReport("uncited", UNCITED, None, "b.md", "ada"),
    ]
    judges = {"one": one, "other": other}
    records = await execute(reports, judges, snapshot, settled(CONFIG), store)
    assert [(record.status, record.n_questions_failed) for record in records] == [("done", 0), ("done", 0)]
    ensemble = {node.id: node for node in tree(store, None)["cited"]}
    assert ensemble["writing"].score.value == 60
    # Of dwellings one judge says supported, the other contradicted: 1 / 2. The other claims stay open.
    assert (ensemble["factuality"].score.value, ensemble["factuality"].score.denominator) == (50, 2)
    # Three claims, two of them cited, of which one page is dead: CA = 2/3, CF = 1/2. CI: 2/3 / (7/6) = 4/7.
    assert ensemble["citation"].score.value == pytest.approx(400 / 7)
    # Two domains with 8 by the one and 4 by the other.
    assert ensemble["authority"].score.value == pytest.approx(60)
    uncited = {node.id: node.score.value for node in tree(store, None)["uncited"]}
    assert (uncited["citation"], uncited["authority"]) == (0, 0)

    (row,) = [row for row in store_rows(store) if "judge" not in row]
    by_id = {node["id"]: node for node in row["scores"]}
    # CA: 2/3 and 0, mean 1/3; CF: 1/2 and undefined; their harmonic mean is 1/3 / (5/6). CI: 4/7 and 0.
    assert by_id["citation"]["score"]["value"] == pytest.approx(40)
    task_mean = next(child for child in by_id["citation"]["children"] if child["id"] == "ci_task_mean")
    assert task_mean["score"]["value"] == pytest.approx(200 / 7)
    children = {child["id"]: child["score"]["value"] for child in by_id["authority"]["children"]}
    assert (by_id["authority"]["score"]["value"], children) == (
        pytest.approx(30),
        {"when_cited": pytest.approx(60), "share_uncited": 50},
    )
    # Each judge has a tree of its own.
    assert [tree(store, name)["cited"][0].score.value for name in judges] == [80, 40]

    agreement = (store.root / "agreement.jsonl").read_text()
    assert all(f'"{metric}"' in agreement for metric in ("factuality", "faithfulness", "authority"))
    missed = [(gap.query, gap.why, gap.times) for gap in read_evidence_gaps(store.root)]
    # By two judges, the second about both reports; of the expense there are passages, none of which has both words.
    assert missed == [("retrofit expense", "weak", 4), ("zeppelin hangar", "nothing_found", 2)]


def store_rows(store: RunStore) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (store.root / "scores" / "dream.all.jsonl").read_text().splitlines()]


async def test_what_is_cut_off_is_not_asked_twice(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    """A judge that dies in the middle; the same run again asks only what has no reply."""

    def dying(call: Call) -> Reply:
        if '"opposing"' in call.prompt:
            raise RuntimeError("killed")
        return answering(80, "supported")(call)

    reports = [RawReport("cited", CITED, None, "a.md", "ada")]
    config = settled(CONFIG)
    first, engine = make_judge(dying, ledger="shared.sqlite")
    [record] = await execute(reports, first, snapshot, config, RunStore(tmp_path / "run"))
    assert record.status == "crashed"
    before = len(engine.calls)
    again, second = make_judge(answering(80, "supported"), ledger="shared.sqlite")
    store = RunStore(tmp_path / "again")
    [record] = await execute(reports, again, snapshot, config, store)
    assert record.status == "done" and len(second.calls) < before
    found = store.read_item(findings_file("dream", None), record.key, DreamFindings)
    assert found.factuality is not None and found.factuality.n_failed == 0
