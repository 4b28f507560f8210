"""Tasks classified and filtered by a judge; topics counted and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.tasks.drafting import draft_all, waiting
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Task
from local_judge.tasks.topics import (
    NEED_DRAFTS,
    TOPIC_DRAFTS,
    TOPICS,
    agreement_with_given,
    count_topics,
    need_file,
    need_prompt,
    topic_file,
    topic_prompt,
    total_variation,
)
from serving.engines.scripted import Call
from serving.errors import EngineTimeout

from ..scripted_judge import MakeJudge
from .dataset_rows import write_jsonl

TASKS = [
    Task(id="1", prompt="Which mill is oldest?", topic="History"),
    Task(id="2", prompt="What does a mill earn?", topic="Finance & Business"),
    Task(id="3", prompt="Which mill serves lunch?"),
]


def test_there_are_22_topics_and_those_of_the_tasks_at_hand_are_among_them(shared: Path) -> None:
    assert len(TOPICS) == 22
    given = {task.topic for task in load_tasks(shared / "data/reports/drb/query.jsonl").values()}
    assert len(given) == 17 and given <= set(TOPICS)


async def test_a_topic_is_one_of_the_menu(make_judge: MakeJudge, tmp_path: Path) -> None:
    file = topic_file(tmp_path / "topics.jsonl")

    def judged(call: Call) -> Any:
        if "lunch" in call.prompt:
            return EngineTimeout("slow")
        return {"rationale": "It asks for age.", "topic": "History"}

    judge, engine = make_judge(judged, ledger="kept.sqlite")
    [(failed, failure)] = await draft_all(TOPIC_DRAFTS, TASKS, file, judge)
    assert (failed.id, failure.kind) == ("3", "timeout")
    assert [(row.id, row.topic, row.given) for row in file.rows().values()] == [
        ("1", "History", "History"),
        ("2", "History", "Finance & Business"),
    ]
    schema = engine.calls[0].schema
    assert schema is not None
    assert list(schema["properties"]) == ["rationale", "topic"]
    assert schema["properties"]["topic"]["enum"] == list(TOPICS)
    # The topic that is given is shown to no judge.
    assert all("Finance & Business: companies" in call.prompt for call in engine.calls)
    assert "earn?\n```\n\nTask: say which one" in topic_prompt(TASKS[1]).messages()[1].content
    assert [task.id for task in waiting(TOPIC_DRAFTS, TASKS, file)] == ["3"]
    judge, _ = make_judge([{"rationale": "", "topic": "Cuisine"}] * 3)
    [(_, failure)] = await draft_all(TOPIC_DRAFTS, TASKS, file, judge)
    assert failure.kind == "invalid_reply"


async def test_kept_and_dropped_tasks_stand_with_the_reason(make_judge: MakeJudge, tmp_path: Path) -> None:
    file = need_file(tmp_path / "needs.jsonl")

    def judged(call: Call) -> Any:
        needs = "earn" in call.prompt
        return {
            "rationale": "Many sources." if needs else "One page.",
            "needs_deep_research": needs,
            "confidence": 0.8,
        }

    judge, engine = make_judge(judged)
    assert await draft_all(NEED_DRAFTS, TASKS, file, judge) == []
    assert [(row.id, row.kept, row.rationale, row.confidence) for row in file.rows().values()] == [
        ("1", False, "One page.", 0.8),
        ("2", True, "Many sources.", 0.8),
        ("3", False, "One page.", 0.8),
    ]
    assert engine.calls[0].messages[1].content == need_prompt(TASKS[0]).messages()[1].content
    # What it wrote is a file of those tasks that were kept.
    assert load_tasks(file.path) == {"2": TASKS[1]}
    judge, engine = make_judge([{"rationale": "", "needs_deep_research": True, "confidence": 1.5}] * 3)
    [(_, failure)] = await draft_all(NEED_DRAFTS, [Task(id="9", prompt="Why?")], file, judge)
    assert failure.kind == "invalid_reply"


async def test_tasks_of_one_request_have_a_row_each(make_judge: MakeJudge, tmp_path: Path) -> None:
    # What is written is read as tasks: one that had no row of its own would be lost.
    twins = [Task(id="a", prompt="Which mill is oldest?"), Task(id="b", prompt="Which mill is oldest?")]
    judge, engine = make_judge([{"rationale": "Age.", "topic": "History"}])
    topics = topic_file(tmp_path / "topics.jsonl")
    assert await draft_all(TOPIC_DRAFTS, twins, topics, judge) == []
    assert (list(topics.rows()), len(engine.calls)) == (["a", "b"], 1)
    judge, engine = make_judge([{"rationale": "Many sources.", "needs_deep_research": True, "confidence": 1}])
    needs = need_file(tmp_path / "needs.jsonl")
    assert await draft_all(NEED_DRAFTS, twins, needs, judge) == []
    assert (list(load_tasks(needs.path)), len(engine.calls)) == (["a", "b"], 1)
    assert waiting(NEED_DRAFTS, twins, needs) == []
    with pytest.raises(InputError, match="for a task 'a'"):
        waiting(NEED_DRAFTS, [Task(id="a", prompt="Another?")], needs)


def test_total_variation() -> None:
    # |1/2 - 1/4| + |1/2 - 1/4| + |0 - 1/2| = 1; half of it.
    assert total_variation({"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 2}) == 0.5
    assert total_variation({"a": 3}, {"a": 700}) == 0.0
    assert total_variation({"a": 3}, {"b": 1}) == 1.0
    assert total_variation({}, {"a": 1}) is None and total_variation({"a": 1}, {"a": 0}) is None


def test_topics_are_counted_and_compared(tmp_path: Path) -> None:
    one = write_jsonl(
        tmp_path / "one.jsonl",
        [
            {"id": 1, "prompt": "A?", "topic": "History"},
            {"id": 2, "prompt": "B?", "topic": "Politics"},
            {"id": 3, "prompt": "C?"},
        ],
    )
    two = write_jsonl(tmp_path / "two.jsonl", [{"id": 1, "prompt": "A?", "topic": "History"}])
    first, second = count_topics(one), count_topics(two)
    assert list(first.counts) == [*TOPICS, "Politics"]
    assert (first.counts["History"], first.n, first.n_without, first.share("Politics")) == (1, 2, 1, 0.5)
    assert total_variation(first.counts, second.counts) == 0.5
    assert agreement_with_given(one) is None
    none = count_topics(write_jsonl(tmp_path / "none.jsonl", [{"id": 3, "prompt": "C?"}]))
    assert (none.share("History"), total_variation(first.counts, none.counts)) == (None, None)


def test_agreement_with_topics_that_were_given(tmp_path: Path) -> None:
    pairs = [
        ("History", "History"),
        ("History", "Travel"),
        ("Travel", "Travel"),
        ("Travel", "Travel"),
        (None, "Games"),
    ]
    path = write_jsonl(
        tmp_path / "judged.jsonl",
        [
            {"id": str(i), "prompt": f"{i}?", "given": given, "topic": topic}
            for i, (given, topic) in enumerate(pairs)
        ],
    )
    found = agreement_with_given(path)
    assert found is not None
    assert (found.n, found.n_same, found.accuracy) == (4, 3, 0.75)
    assert list(found.differ) == [("1", "History", "Travel")]
    # Observed 3/4; by chance (2/4)(1/4) + (2/4)(3/4) = 1/2; (3/4 - 1/2) / (1 - 1/2).
    assert found.kappa.value == pytest.approx(0.5)


def test_the_corpora_at_hand(shared: Path) -> None:
    drb = count_topics(shared / "data/reports/drb/query.jsonl")
    dre = count_topics(shared / "data/reports/dre/query.jsonl")
    assert (drb.n, drb.counts["Finance & Business"], dre.n, dre.counts["Transportation"]) == (60, 10, 100, 15)
    # Sum of the shares by which one is above the other: for instance 15/100 - 2/60 for Transportation.
    above = sum(
        max(0.0, (dre.share(name) or 0) - (drb.share(name) or 0)) for name in {**drb.counts, **dre.counts}
    )
    assert total_variation(drb.counts, dre.counts) == pytest.approx(above)
