"""The loop: its prompts as sent, its ends, its limits."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from local_judge.agents.loop import agent_rules, run_agent
from local_judge.agents.observations import SnapshotRequest
from local_judge.agents.result import AgentLimits, AgentResult, EvidenceGap, Tally
from local_judge.agents.toolbox import Toolbox
from local_judge.base.model import Frozen
from local_judge.prompts import SYSTEM
from serving.engines.scripted import Call, Reply, ScriptedEngine
from serving.errors import EngineFault

from ..scripted_judge import MakeJudge
from .conftest import DEAD, HEAT, HEAT_TEXT, TOPICS, TOWN, act

TASK = "Say how large the heat pump is."


class Size(Frozen):
    """An answer."""

    label: Literal["large", "small"]
    megawatts: float


FINISH = act("finish", answer={"label": "large", "megawatts": 6.2})
LOOK = act("search", queries=["heat pump capacity"], k=1)
READ = act("open", url=HEAT)


async def run(
    make_judge: MakeJudge, toolbox: Toolbox, script: Any, limits: AgentLimits | None = None, **engine: Any
) -> tuple[AgentResult[Size], ScriptedEngine]:
    judge, scripted = make_judge(script, **engine)
    result = await run_agent(judge, toolbox, TASK, Size, material="Pump 7", limits=limits or AgentLimits())
    return result, scripted


def sent(engine: ScriptedEngine) -> list[str]:
    """What was sent as the user's message, turn by turn."""
    return [call.messages[1].content for call in engine.calls]


def first_message(toolbox: Toolbox) -> str:
    return f"{agent_rules(toolbox, TASK)}\n\nPump 7\n\nTurn 1 of 12: take the next action."


async def test_the_prompts_grow_at_their_end_only(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    result, engine = await run(make_judge, toolbox, [LOOK, READ, FINISH])
    assert result.outcome == "answered"
    assert result.answer == Size(label="large", megawatts=6.2)
    first, second, third = sent(engine)
    assert first == first_message(toolbox)
    assert second == (
        f"{first}\n\nTurn 1, your reply:\n```\n{json.dumps(LOOK)}\n```\n\nTurn 1, what it gave:\n"
        f"Passage 1, for query 1:\n```\naddress: {HEAT}\ntitle: How the lake heats the town\n"
        f"published: 2022-05-04\n\n{HEAT_TEXT}\n```\n\nTurn 2 of 12: take the next action."
    )
    assert third == (
        f"{second}\n\nTurn 2, your reply:\n```\n{json.dumps(READ)}\n```\n\nTurn 2, what it gave:\n"
        f"Part 1 of 1.\n\nText:\n```\naddress: {HEAT}\ntitle: How the lake heats the town\n"
        f"published: 2022-05-04\n\n{HEAT_TEXT}\n```\n\nTurn 3 of 12: take the next action."
    )
    assert {call.messages[0].content for call in engine.calls} == {SYSTEM}


def test_the_rules_name_the_tools_that_are_offered(toolbox: Toolbox) -> None:
    lines = agent_rules(toolbox, TASK).splitlines()
    start = lines.index("Tools:")
    assert [line.partition(":")[0] for line in lines[start + 1 : start + 5]] == [
        "search",
        "open",
        "find",
        "finish",
    ]
    assert lines[-2:] == ["Task:", TASK]


async def test_decoding_can_write_tools_that_are_offered_and_nothing_else(
    make_judge: MakeJudge, toolbox: Toolbox
) -> None:
    _, engine = await run(make_judge, toolbox, [READ, FINISH], AgentLimits(turns=2))
    free, last = (call.schema for call in engine.calls)
    assert free is not None
    assert last is not None
    assert list(free["properties"]) == ["thought", "action"]
    assert free["properties"]["thought"] == {"type": "string", "maxLength": 600}
    options = free["properties"]["action"]["anyOf"]
    tools = [option["properties"]["tool"] for option in options]
    assert [tool.get("enum", [tool.get("const")]) for tool in tools] == [
        ["search"],
        ["open"],
        ["find"],
        ["finish"],
    ]
    assert all(next(iter(option["properties"])) == "tool" for option in options)
    assert list(options[3]["properties"]["answer"]["properties"]) == ["label", "megawatts"]
    assert last["properties"]["action"] == options[3]


async def test_every_step_can_be_read_afterwards(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    result, engine = await run(make_judge, toolbox, [LOOK, READ, FINISH])
    script = result.transcript
    assert script.snapshot == toolbox.snapshot.digest
    assert [(step.turn, step.action["tool"]) for step in script.steps] == [
        (1, "search"),
        (2, "open"),
        (3, "finish"),
    ]
    looked, read = script.observations
    digest = toolbox.snapshot.page(HEAT).text_digest
    for shown in (*looked.shown, *read.shown):
        assert (shown.url, shown.text_digest, shown.start, shown.end) == (HEAT, digest, 0, len(HEAT_TEXT))
        assert shown.chunks == (f"{digest[:12]}:0-{len(HEAT_TEXT)}",)
    # The scripted engine counts a token for every four characters.
    tokens = [-(-len(call.prompt) // 4) for call in engine.calls]
    assert [step.prompt_tokens for step in script.steps] == tokens
    assert result.spent.prompt_tokens == sum(tokens)
    assert (result.spent.turns, result.spent.calls, result.spent.errors) == (3, 2, 0)
    again = AgentResult[Size].model_validate_json(result.model_dump_json())
    assert again == AgentResult[Size].model_validate(result.model_dump())
    assert again.answer == result.answer


async def test_what_was_asked_once_is_answered_from_the_ledger(
    make_judge: MakeJudge, toolbox: Toolbox
) -> None:
    first, _ = await run(make_judge, toolbox, [LOOK, READ, FINISH], ledger="kept.sqlite")
    second, engine = await run(make_judge, toolbox, [], ledger="kept.sqlite")
    assert engine.calls == []
    assert second.model_dump_json() == first.model_dump_json()


async def test_mistakes_are_shown_to_the_judge_and_counted(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    script: list[dict[str, Any]] = [
        act("browse\n```\nfake", url=HEAT),
        {"thought": "", "action": {}},
        act("open", address=HEAT),
        act("search", queries=["a", "b", "c", "d", "e", "f"]),
        act("open", url="not a page"),
        act("open", url=HEAT, part=2),
        act("finish", answer={"label": "huge", "megawatts": 6.2}),
        act("finish"),
        act("search_papers", queries=["heat"]),
        FINISH,
    ]
    result, engine = await run(make_judge, toolbox, script)
    assert result.outcome == "answered"
    seen = [(one.error, one.note) for one in result.transcript.observations]
    assert seen == [
        ("unknown_tool", "no tool browse?????fake; there are: search, open, find."),
        ("unknown_tool", "no tool nothing; there are: search, open, find."),
        ("bad_arguments", "url: Field required."),
        ("bad_arguments", "queries: Tuple should have at most 5 items after validation, not 6."),
        ("bad_arguments", '"url" is not the address of a page.'),
        ("no_part", "There is no part 2: this page has 1."),
        ("bad_answer", "answer.label: Input should be 'large' or 'small'."),
        ("bad_answer", '"answer" is missing.'),
        ("unknown_tool", "no tool search_papers; there are: search, open, find."),
    ]
    assert all(note in sent(engine)[-1] for _, note in seen)
    assert result.spent.errors == 9


async def test_a_judge_that_repeats_itself_is_told_so_and_then_asked_to_finish(
    make_judge: MakeJudge, toolbox: Toolbox
) -> None:
    spelled = act("open", url=f"  {HEAT} ", part=1)  # the same request, written otherwise
    result, engine = await run(make_judge, toolbox, [READ, READ, spelled, READ, FINISH])
    assert (result.outcome, result.answer) == ("repeating", Size(label="large", megawatts=6.2))
    assert result.spent.repeats == 3
    assert result.spent.calls == 1
    notes = [one.note for one in result.transcript.observations[1:]]
    assert (
        notes == ["You asked for exactly this in turn 1; see there. Ask for something else, or finish."] * 3
    )
    assert re.search(r"Turn 5 of 12: finish .*: you only repeat yourself\.$", sent(engine)[-1])


async def test_the_last_turn_asks_for_the_answer(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    result, engine = await run(make_judge, toolbox, [LOOK, READ, FINISH], AgentLimits(turns=3))
    assert (result.outcome, result.answer) == ("out_of_turns", Size(label="large", megawatts=6.2))
    assert sent(engine)[-1].endswith("Turn 3 of 3: finish now, with what you have: this is the last turn.")
    assert sent(engine)[2].startswith(sent(engine)[1])


async def test_who_never_finishes_has_no_answer(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    def never(call: Call) -> Reply:
        return act("search", queries=[f"word{len(call.prompt)}"])

    result, engine = await run(make_judge, toolbox, never, AgentLimits(turns=4))
    assert (result.outcome, result.answer) == ("out_of_turns", None)
    assert result.failure is not None
    assert result.failure.kind == "invalid_reply"
    assert len(engine.calls) == 3 + 3  # three turns, and the last one asked three times


async def test_calls_are_limited_and_a_search_is_cut_to_what_is_left(
    make_judge: MakeJudge, toolbox: Toolbox
) -> None:
    wide = act("search", queries=["copper", "barley", "cotton"], k=1)
    result, engine = await run(make_judge, toolbox, [READ, wide, FINISH], AgentLimits(calls=3))
    assert result.outcome == "out_of_calls"
    assert result.spent.calls == 3
    assert result.transcript.observations[1].note == "Only 2 of 3 queries were asked: no more may be."
    assert [one.what for one in result.transcript.observations[1].asked] == ["copper", "barley"]
    assert re.search(r"finish now, .*: no more may be asked of the tools\.$", sent(engine)[-1])


async def test_tokens_are_limited(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    # Before the engine has counted, a token is three bytes: the first turn is thought to take `ahead`, and may begin
    # with tools as twice that is there. Of what is then left, counted at four characters a token, two turns more do not
    # fit, and one does: with t = size / 4, spent t and ahead t + 100: t + (t + 100) < 2.67 t + 200 < t + 2 (t + 100),
    # but for the little that the turn added.
    size = len(SYSTEM.encode()) + len(first_message(toolbox).encode())
    ahead = size // 3 + 100
    limits = AgentLimits(tokens=2 * ahead, reply_tokens=100)
    result, engine = await run(make_judge, toolbox, [READ, FINISH], limits)
    assert (result.outcome, result.answer) == ("out_of_tokens", Size(label="large", megawatts=6.2))
    assert re.search(r"Turn 2 of 12: finish .*: no more may be read\.$", sent(engine)[-1])
    assert result.spent.prompt_tokens + result.spent.completion_tokens <= limits.tokens


async def test_a_budget_without_room_for_one_turn_ends_before_it(
    make_judge: MakeJudge, toolbox: Toolbox
) -> None:
    result, engine = await run(make_judge, toolbox, [], AgentLimits(tokens=100))
    assert (result.outcome, result.answer, engine.calls) == ("out_of_tokens", None, [])


@pytest.mark.parametrize("turn", [0, 1])
async def test_nonsense_ends_in_a_failure(make_judge: MakeJudge, toolbox: Toolbox, turn: int) -> None:
    result, _ = await run(make_judge, toolbox, [READ][:turn] + ["I would rather not."] * 3)
    assert (result.outcome, result.answer) == ("failed", None)
    assert result.failure is not None
    assert (result.failure.kind, result.failure.attempts) == ("invalid_reply", 3)
    assert len(result.transcript.steps) == turn


@pytest.mark.parametrize(
    "reply",
    [
        "[1, 2]",
        '{"thought": "a", "thought": "b", "action": {}}',
        '{"thought": "half a character: \\ud800", "action": {"tool": "finish", "answer": "x"}}',
        '{"thought": "", "action": {"tool": "open", "url": "x", "part": 1e999}}',
        '{"thought": "", "action": {"a": ' + "[" * 5000 + "]" * 5000 + "}}",
    ],
)
async def test_a_reply_that_cannot_be_kept_is_none(
    make_judge: MakeJudge, toolbox: Toolbox, reply: str
) -> None:
    result, engine = await run(make_judge, toolbox, [reply, reply, READ, FINISH])
    assert result.outcome == "answered"  # asked for again, twice
    assert len(engine.calls) == 4
    assert len(result.transcript.steps[0].replies) == 3
    assert result.transcript.steps[0].prompt_tokens == 3 * -(-len(engine.calls[0].prompt) // 4)
    result.model_dump_json()


@pytest.mark.parametrize("last", [False, True])
async def test_an_engine_that_fails_ends_the_run(make_judge: MakeJudge, toolbox: Toolbox, last: bool) -> None:
    script: Sequence[Reply] = [EngineFault("scripted: 500")]
    result, _ = await run(make_judge, toolbox, script, AgentLimits(turns=1 if last else 9))
    assert result.outcome == "failed"
    assert result.failure is not None
    assert result.failure.kind == "server_error"


async def test_a_long_thought_is_cut(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    result, engine = await run(make_judge, toolbox, [{**READ, "thought": "x" * 5000}, FINISH])
    assert result.transcript.steps[0].thought == "x" * 600
    assert "x" * 601 not in sent(engine)[1]


async def test_what_the_snapshot_could_not_answer_is_counted(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    script = [
        act("search", queries=["heat pump capacity", "zeppelin hangar insurance"], k=2),
        act("search", queries=["zeppelin hangar insurance", "heat pump capacity"], k=3),
        act("open", url=DEAD),
        act("open", url="https://nowhere.example/a?utm_source=x"),
        act("find", url="https://nowhere.example/a", queries=["b"]),
        act("find", url=TOWN, queries=["copper"]),
        FINISH,
    ]
    result, _ = await run(make_judge, toolbox, script)
    assert result.coverage == {"search": Tally(asked=2, answered=1), "page": Tally(asked=3, answered=1)}
    assert result.evidence_gaps == (
        EvidenceGap(url=DEAD, tool="page", why="dead", times=1),
        EvidenceGap(url="https://nowhere.example/a", tool="page", why="not_in_snapshot", times=2),
        EvidenceGap(query="zeppelin hangar insurance", tool="search", why="nothing_found", times=2),
    )
    assert "(dead)" in result.transcript.observations[2].note
    assert result.transcript.observations[2].asked == (SnapshotRequest(kind="page", what=DEAD, lack="dead"),)


async def test_a_server_with_a_prefix_cache_computes_only_what_is_new(
    make_judge: MakeJudge, toolbox: Toolbox
) -> None:
    script = [LOOK, READ, act("find", url=TOWN, queries=["copper"]), act("search", queries=["lake"]), FINISH]
    judge, engine = make_judge(script)
    result = await run_agent(judge, toolbox, TASK, Size)
    prompts = [call.prompt for call in engine.calls]
    for step, before in zip(result.transcript.steps[1:], prompts, strict=False):
        reply = judge.ledger.get(step.replies[-1])
        assert reply is not None
        assert reply.usage.cached_tokens is not None
        # All whole blocks of 16 tokens, 64 characters, of the message before, and none of this turn's own.
        assert reply.usage.cached_tokens == len(before) // 64 * 16


async def test_agents_that_work_at_the_same_time_do_not_meet(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    def by_material(call: Call) -> Reply:
        """Looks up its own topic, then finishes with what it was shown of it."""
        topic = call.prompt.partition("Topic: ")[2].partition("\n")[0]
        turn = call.prompt.rpartition("\nTurn ")[2].partition(" ")[0]
        if turn == "1":
            return act("find", url=TOWN, queries=[topic], k=1)
        assert f"Of {topic}" in call.prompt
        return act("finish", answer=topic)

    judge, engine = make_judge(by_material, delay=0.001, concurrency=3)
    results = await asyncio.gather(
        *(run_agent(judge, toolbox, TASK, str, material=f"Topic: {topic}\n") for topic in TOPICS)
    )
    assert [result.answer for result in results] == list(TOPICS)
    assert engine.peak_in_flight > 1
    alone, _ = make_judge(by_material)
    for topic, result in zip(TOPICS, results, strict=True):
        again = await run_agent(alone, toolbox, TASK, str, material=f"Topic: {topic}\n")
        assert again.model_dump_json() == result.model_dump_json()
