"""The directory of an answer, which never replaces a run or the answer to another question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_judge.agents.ask import AskedQuestion
from local_judge.agents.result import AgentLimits, AgentResult, EvidenceGap, Spent, Transcript
from local_judge.agents.toolbox import ToolSettings
from local_judge.base.errors import RunError
from local_judge.runs.execution.agent_runs import claim_answer, write_answer
from local_judge.runs.storage.store import RunStore

SPENT = Spent(turns=0, calls=0, errors=0, repeats=0, prompt_tokens=0, completion_tokens=0)
ASKED = AskedQuestion(
    question="Who?",
    result=AgentResult(
        outcome="out_of_turns",
        spent=SPENT,
        coverage={},
        evidence_gaps=(EvidenceGap(query="miller", tool="search", why="nothing_found", times=2),),
        transcript=Transcript(
            snapshot="d", tools=ToolSettings(), limits=AgentLimits(), task="t", material="m", steps=()
        ),
    ),
    citations=(),
)


@pytest.mark.parametrize(
    ("files", "question", "is_free"),
    [
        ({}, "Who?", True),
        ({"ledger.sqlite": ""}, "Who?", True),
        ({"manifest.json": "{}"}, "Who?", False),
        ({"notes.txt": ""}, "Who?", False),
        ({"answer.json": ASKED.model_dump_json()}, "Who?", True),
        ({"answer.json": ASKED.model_dump_json(), "manifest.json": "{}"}, "Who?", True),
        ({"answer.json": ASKED.model_dump_json()}, "When?", False),
    ],
)
def test_a_directory_is_free_or_has_the_answer_to_the_same_question(
    tmp_path: Path, files: dict[str, str], question: str, is_free: bool
) -> None:
    store = RunStore(tmp_path / "asked")
    for name, text in files.items():
        store.write_text(name, text)
    if is_free:
        claim_answer(store, question)
    else:
        with pytest.raises(RunError, match="choose another --out"):
            claim_answer(store, question)


def test_an_answer_is_written_with_its_transcript_and_gaps(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "asked")
    write_answer(store, ASKED)
    assert store.read_model("answer.json", AskedQuestion) == ASKED
    assert (store.root / "transcript.md").read_text(encoding="utf-8").strip()
    [gap] = (store.root / "evidence_gaps.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(gap)["times"] == 2
