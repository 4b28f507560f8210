"""Builds that go on from what somebody else has made: DeepResearchEval's files, and files of tasks."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.lab.task_construction.commands import build_tasks, count_ballot, read_source
from local_judge.lab.task_construction.filters import method_of
from local_judge.lab.task_construction.outcome import Outcome
from local_judge.lab.task_construction.settings import BuildConfig, DuplicateSettings, PersonaSettings
from local_judge.lab.task_construction.store import BuildStore
from serving.engines.scripted import ScriptedEngine

from ..scripted_judge import MakeJudge
from .building_script import DOMAINS, matter, scripted

CONFIG = BuildConfig(
    date=dt.date(2026, 3, 1),
    duplicates=DuplicateSettings(method="lexical"),
    make=PersonaSettings(tasks=3),
)
EXPERT = {
    "name": "Ana",
    "role": f"Number 3 in {DOMAINS[1]}",
    "affiliation": "A clinic",
    "background": "Runs a ward, and plans another.",
    "subdomain": "Wards",
}
SURE = {
    "needs_deep_research": True,
    "confidence_score": 0.95,
    "reasoning": "Many sources.",
    "search_complexity": "High",
}


def task(number: str, name: str = "task_1", **more: Any) -> dict[str, Any]:
    return {
        "task_id": name,
        "deep_research_query": matter(number),
        "key_challenges": "Sources differ.",
        "expected_search_rounds": 3,
        "time_sensitivity": True,
        "time_constraint": "2024",
        "expert": {**EXPERT, "domain": DOMAINS[1]},
        "domain": DOMAINS[1],
        **more,
    }


def retained(number: str, score: float = 0.3, **more: Any) -> dict[str, Any]:
    whole = task(number)
    query = {key: whole[key] for key in ("deep_research_query", "key_challenges", "time_constraint")}
    return {
        "task_id": "task_1",
        "domain": DOMAINS[1],
        "expert": EXPERT,
        "query": query,
        "evaluation_results": {
            "needs_deep_research": True,
            "confidence_score": 0.95,
            "search_complexity": "High",
            "quality_assessment": "low",
            "quality_score": score,
            "requires_search": True,
            **more,
        },
        "baseline_answer": "Little is known.",
        "retention_reason": "Baseline quality low",
        "generated_timestamp": "2026-01-13 16:37:26",
    }


def written(path: Path, rows: Sequence[Any], *, lines: bool = False) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows) if lines else json.dumps(rows)
    path.write_text(text, encoding="utf-8")
    return path


async def build(
    make_judge: MakeJudge, path: Path, rows: Sequence[Mapping[str, Any]], *, lines: bool = False
) -> tuple[Outcome, ScriptedEngine]:
    written(path, rows, lines=lines)
    judge, engine = make_judge(scripted)
    outcome = await build_tasks(
        BuildStore(path.parent / f"{path.stem}_out"),
        CONFIG,
        read_source(None, None, path),
        judge,
        method_of(CONFIG.duplicates),
    )
    return outcome, engine


def asked(engine: ScriptedEngine) -> list[str]:
    every: list[Any] = [call.schema for call in engine.calls]
    return sorted(next(iter(schema["properties"])) for schema in every)


async def test_from_experts(tmp_path: Path, make_judge: MakeJudge) -> None:
    experts = [{**EXPERT, "domain": DOMAINS[1]}, {**EXPERT, "name": "Bo", "domain": DOMAINS[1]}]
    outcome, engine = await build(make_judge, tmp_path / "experts.json", experts[:1])
    assert len(outcome.kept) == 3  # as many as the settings say
    assert asked(engine).count("tasks") == 1 and "personas" not in asked(engine)
    assert all(line.id.startswith("politics-p1-t") for line in outcome.kept)


async def test_from_tasks_of_which_four_have_one_id(tmp_path: Path, make_judge: MakeJudge) -> None:
    rows = [task("133"), task("134"), task("121"), task("131", expert={**EXPERT, "name": "Bo"})]
    outcome, engine = await build(make_judge, tmp_path / "tasks.json", rows)
    # 121 is answered from memory.
    assert [line.id.rpartition("-")[0] for line in outcome.kept] == [
        "politics-p1-t1",
        "politics-p1-t2",
        "politics-p2-t1",
    ]
    assert asked(engine) == ["answer"] * 4 + ["rationale"] * 8


async def test_what_was_decided_is_used_by_our_limits_and_not_asked_for(
    tmp_path: Path, make_judge: MakeJudge
) -> None:
    unsure = {**SURE, "confidence_score": 0.7}  # passed as published; our default is above 0.7
    rows = [
        task("133", filter_result=SURE),
        task("134", filter_result=unsure),
        task("132", filter_result=SURE, baseline_answer="Little is known."),
    ]
    outcome, engine = await build(make_judge, tmp_path / "baselines.json", rows)
    assert [line.prompt for line in outcome.kept] == [matter("133"), matter("132")]
    assert [row.reasons for row in outcome.audit] == [("not_confident",)]
    assert asked(engine) == ["answer", "rationale", "rationale"]


async def test_retained_tasks_need_no_judge(tmp_path: Path, make_judge: MakeJudge) -> None:
    rows = [retained("133"), retained("134", score=0.8), retained("133")]
    outcome, engine = await build(make_judge, tmp_path / "test_tasks.jsonl", rows, lines=True)
    assert engine.calls == []
    assert [line.prompt for line in outcome.kept] == [matter("133")]
    assert [(row.stage, row.reasons) for row in outcome.audit] == [
        ("necessity", ("score_too_high",)),
        ("duplicates", ("duplicate",)),
    ]
    # Two tasks of one text and one published id: two ids here.
    assert len({outcome.kept[0].id, *(row.id for row in outcome.audit)}) == 3


async def test_from_any_tasks(tmp_path: Path, make_judge: MakeJudge) -> None:
    rows = [{"id": "mill", "prompt": matter("133"), "topic": "Mills"}, {"id": 2, "question": matter("111")}]
    outcome, _ = await build(make_judge, tmp_path / "any.jsonl", rows, lines=True)
    assert [(line.id, line.topic) for line in outcome.kept] == [("mill", "Mills")]
    assert [(row.id, row.reasons) for row in outcome.audit] == [("2", ("needs_no_deep_research",))]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            [task("133", filter_result={**SURE, "needs_deep_research": "false"})],
            r"\[0\]: filter_result.needs_deep_",
        ),
        (
            [task("133"), task("134", filter_result={**SURE, "confidence_score": "0.9"})],
            r"\[1\]: filter_result.conf",
        ),
        (
            [task("133", filter_result={"needs_deep_research": True})],
            "confidence_score is missing; correct it, or",
        ),
        ([{key: value for key, value in task("133").items() if key != "expert"}], "expert is missing"),
        ([retained("133", requires_search="no")], "evaluation_results.requires_search"),
        ([retained("133", quality_score=None)], "evaluation_results.quality_score"),
        ([{**EXPERT}], "expert 'Ana' has no `domain`"),
        ([{**EXPERT, "domain": "医学"}], "needs a letter a to z or a digit"),
        ([1], r"\[0\]: expected an object"),
        ([], "no tasks in it"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_place(
    tmp_path: Path, rows: list[Any], says: str
) -> None:
    path = written(tmp_path / "rows.json", rows)
    with pytest.raises(InputError, match=says):
        read_source(None, None, path)


async def test_votes_count_for_the_text_that_was_ranked(tmp_path: Path, make_judge: MakeJudge) -> None:
    path, paper = tmp_path / "any.jsonl", tmp_path / "ada.csv"
    store, method = BuildStore(tmp_path / "out"), method_of(CONFIG.duplicates)
    judge, _ = make_judge(scripted)

    async def made(*numbers: str) -> Outcome:
        rows = [{"id": id, "prompt": matter(number)} for id, number in zip("ab", numbers, strict=True)]
        source = read_source(None, None, written(path, rows, lines=True))
        return await build_tasks(store, CONFIG, source, judge, method, change=True)

    await made("133", "134")
    paper.write_text("id,rank\na,2\nb,1\n", encoding="utf-8")
    ranked, _, _ = count_ballot(store, "Ada", paper)
    assert [(line.id, line.place) for line in ranked.kept] == [("b", 1), ("a", 2)] and ranked.n_voters == 1
    # `a` keeps its id and says something else: the vote on it counts no more, and the one on `b` does.
    changed = await made("142", "134")
    assert [(line.id, line.place) for line in changed.kept] == [("b", 1), ("a", None)]
    assert (await made("142", "143")).n_voters == 0
    paper.write_text(f"id,rank,prompt\na,1,{matter('133').replace(',', ';')}\n", encoding="utf-8")
    with pytest.raises(InputError, match="'a' has another text by now"):
        count_ballot(store, "Ada", paper)
