"""What a run leaves: tallies, evidence gaps, checked citations, a transcript."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from local_judge.agents.ask import ask_question
from local_judge.agents.citations import CheckedCitation
from local_judge.agents.observations import SnapshotRequest
from local_judge.agents.result import (
    AgentLimits,
    EvidenceGap,
    Tally,
    gaps_of,
    merged,
    read_evidence_gaps,
    tallied,
    write_evidence_gaps,
)
from local_judge.agents.toolbox import Toolbox
from local_judge.agents.transcript import render_transcript
from local_judge.base.errors import InputError
from local_judge.prompts import load_prompt
from local_judge.reporting.agents import answer_text

from ..scripted_judge import MakeJudge
from .conftest import HEAT, HEAT_TEXT, PAPER, act

template = partial(load_prompt, "local_judge.agents")

ASKED = [
    SnapshotRequest(kind="search", what="pump", lack="weak"),
    SnapshotRequest(kind="search", what="lake"),
    SnapshotRequest(kind="search", what="pump"),  # asked for again with more passages, and answered
    SnapshotRequest(kind="search_papers", what="pump", lack="nothing_found"),
    SnapshotRequest(kind="page", what="https://b.example/", lack="dead"),
    SnapshotRequest(kind="page", what="https://a.example/", lack="not_in_snapshot"),
    SnapshotRequest(kind="page", what="https://b.example/", lack="dead"),
]
EVIDENCE_GAPS = (
    EvidenceGap(url="https://a.example/", tool="page", why="not_in_snapshot", times=1),
    EvidenceGap(url="https://b.example/", tool="page", why="dead", times=2),
    EvidenceGap(query="pump", tool="search_papers", why="nothing_found", times=1),
)


def test_each_different_thing_counts_once_and_is_answered_if_it_ever_was() -> None:
    assert tallied(ASKED) == {
        "search": Tally(asked=2, answered=2),
        "search_papers": Tally(asked=1, answered=0),
        "page": Tally(asked=2, answered=0),
    }
    assert gaps_of(ASKED) == EVIDENCE_GAPS
    assert tallied([]) == {}


def test_evidence_gaps_of_several_runs_add_up_in_an_order_of_their_own(tmp_path: Path) -> None:
    other = EvidenceGap(url="https://b.example/", tool="page", why="dead", times=3)
    expected = (EVIDENCE_GAPS[0], EVIDENCE_GAPS[1].model_copy(update={"times": 5}), EVIDENCE_GAPS[2])
    assert merged([other, *EVIDENCE_GAPS]) == merged([*reversed(EVIDENCE_GAPS), other]) == expected
    write_evidence_gaps(tmp_path / "evidence_gaps.jsonl", [other, *EVIDENCE_GAPS])
    assert read_evidence_gaps(tmp_path) == read_evidence_gaps(tmp_path / "evidence_gaps.jsonl") == expected
    first = (tmp_path / "evidence_gaps.jsonl").read_text().splitlines()[0]
    assert first == (
        '{"query": null, "times": 1, "tool": "page", "url": "https://a.example/", "why": "not_in_snapshot"}'
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"tool": "page", "why": "dead", "times": 1}', r"w\.jsonl:1: must have either `url` or `query`"),
        ('{"url": "a", "tool": "page", "why": "gone", "times": 1}', r"w\.jsonl:1: why: "),
    ],
)
def test_a_line_that_is_no_gap_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "w.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        read_evidence_gaps(tmp_path / "w.jsonl")


QUESTION = "How large is the heat pump?"
QUOTE = "a capacity of 6.2 megawatts"
ANSWER = {
    "text": "6.2 megawatts.",
    "citations": [
        {"url": f"{HEAT}#top", "quote": f"{QUOTE}."},
        {"url": HEAT, "quote": "a capacity of 7.2 megawatts"},
        {"url": PAPER, "quote": "We model a heat pump"},
        {"url": "the first page", "quote": QUOTE},
    ],
}


async def test_a_quotation_counts_only_if_a_page_that_was_shown_has_it(
    make_judge: MakeJudge, toolbox: Toolbox
) -> None:
    judge, engine = make_judge([act("open", url=HEAT), act("finish", answer=ANSWER)])
    asked = await ask_question(judge, toolbox, QUESTION)
    start = HEAT_TEXT.index(QUOTE)
    page = toolbox.snapshot.page(HEAT)
    known: dict[str, Any] = {"url": HEAT, "title": page.title, "text_digest": page.text_digest}
    assert asked.citations == (
        CheckedCitation(status="found", quote=QUOTE, start=start, end=start + len(QUOTE), **known),
        CheckedCitation(status="not_in_page", quote="a capacity of 7.2 megawatts", **known),
        CheckedCitation(url=PAPER, status="not_shown", quote="We model a heat pump"),
        CheckedCitation(url="the first page", status="not_shown", quote=QUOTE),
    )
    first = engine.calls[0].messages[1].content
    assert first.endswith(
        f"Task:\n{load_prompt('local_judge.agents', 'ask')}\n\n"
        f"Question:\n```\n{QUESTION}\n```\n\nTurn 1 of 12: take the next action."
    )
    assert answer_text(asked).splitlines() == [
        "6.2 megawatts.",
        f'[1] {HEAT} ({start} to {start + len(QUOTE)}): "{QUOTE}"',
        f'[2] {HEAT}: "a capacity of 7.2 megawatts"  NOT IN THE PAGE',
        f'[3] {PAPER}: "We model a heat pump"  NOT A PAGE THAT WAS READ',
        f'[4] the first page: "{QUOTE}"  NOT A PAGE THAT WAS READ',
        "answered: 2 turns, 1 call, "
        f"{asked.result.spent.prompt_tokens + asked.result.spent.completion_tokens:,} tokens; "
        "1 of 4 citations found",
        "asked by page: 1, of which the snapshot could answer 1",
    ]


async def test_no_answer_is_said(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    judge, _ = make_judge(["no"] * 3)
    asked = await ask_question(judge, toolbox, QUESTION, AgentLimits(turns=1))
    assert answer_text(asked).splitlines()[0] == "No answer."
    assert "Failure: invalid_reply" in answer_text(asked)
    assert "## Failure" in render_transcript(asked.result)


async def test_a_transcript_shows_every_step(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    judge, _ = make_judge([act("open", url=HEAT), act("browse"), act("finish", answer=ANSWER)])
    result = (await ask_question(judge, toolbox, QUESTION)).result
    text = render_transcript(result)
    digest = toolbox.snapshot.page(HEAT).text_digest[:12]
    for expected in (
        "# answered after 3 turns",
        f"## Turn 1\n\nReply {result.transcript.steps[0].replies[0][:12]}; ",
        'Thought: I use open.\n\nAction:\n```\n{\n "tool": "open",',
        "Result: Part 1 of 1.\n\n"
        f"- {HEAT} (text {digest}, characters 0 to 79, published 2022-05-04)\n```\n{HEAT_TEXT}\n",
        "Result (unknown_tool): no tool browse; there are: search, open, find.",
        "Of 1 asked for by page, the snapshot could answer 1.",
    ):
        assert expected in text
    short = render_transcript(result, texts=False)
    assert f"- {HEAT} (text {digest}, characters 0 to 79, published 2022-05-04): {HEAT_TEXT[:80]}\n" in short
