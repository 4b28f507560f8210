"""Results that leave the prompt when it grows too long."""

from __future__ import annotations

from itertools import pairwise

from local_judge.agents.loop import DROPPED, History, agent_rules, run_agent
from local_judge.agents.result import AgentLimits
from local_judge.agents.toolbox import Toolbox
from local_judge.prompts import SYSTEM
from serving.engines.scripted import Call

from ..scripted_judge import MakeJudge
from .conftest import TOPICS, TOWN, act

TASK = "Say what the town traded."
FINISH = act("finish", answer="Copper.")


def look(topic: str) -> dict[str, object]:
    """A passage of 949 characters: about 250 tokens with what stands around it."""
    return act("find", url=TOWN, queries=[topic], k=1)


LOOKS = [look(topic) for topic in TOPICS]


def tokens(text: str) -> int:
    """As the scripted engine counts them."""
    return -(-(len(SYSTEM) + len(text)) // 4)


def user(call: Call) -> str:
    return call.messages[1].content


def test_what_is_dropped_is_the_oldest_result_and_nothing_else() -> None:
    history = History("Rules.", "Report.")
    for turn, result in enumerate(("First.", "Second."), start=1):
        history.add(turn, f"Turn {turn}?", "{}", result)
    whole = history.prompt("Turn 3?").messages()[1].content
    assert history.drop() == 1
    assert history.kept == 1
    assert history.prompt("Turn 3?").messages()[1].content == whole.replace("First.", DROPPED)
    assert history.drop() == 2
    assert history.kept == 0


def test_runs_of_one_kind_share_their_prefix() -> None:
    one, other = (History("Rules.", material).prompt("Turn 1?") for material in ("Claim 1.", "Claim 2."))
    assert (one.shared, one.prefix_key) == (other.shared, other.prefix_key)
    assert one.rest == "\n\nClaim 1.\n\nTurn 1?"
    assert History("Other rules.", "").prompt("Turn 1?").prefix_key != one.prefix_key


async def test_a_history_that_outgrows_the_context_is_brought_down_to_half(
    make_judge: MakeJudge, toolbox: Toolbox
) -> None:
    judge, engine = make_judge([*LOOKS, FINISH])
    base = tokens(f"{agent_rules(toolbox, TASK)}\n\nTurn 1 of 12: take the next action.")
    # Room for the rules, a reply of 100, and three passages of about 320 with action and address, but not for four.
    context = base + 100 + 3 * 330
    limits = AgentLimits(reply_tokens=100, context_tokens=context)
    result = await run_agent(judge, toolbox, TASK, str, limits=limits)
    assert result.outcome == "answered"
    # More than half of the context is rules, so all results but the newest go at once, and the prefix breaks once.
    assert [step.dropped for step in result.transcript.steps] == [(), (), (), (), (1, 2, 3)]
    texts = [user(call) for call in engine.calls]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts[:4]))
    assert texts[4].count(DROPPED) == 3
    assert all(f"Of {topic}" not in texts[4] for topic in TOPICS[:3])
    assert f"Of {TOPICS[3]}" in texts[4]
    assert all(f'"queries": ["{topic}"]' in texts[4] for topic in TOPICS)
    assert all(tokens(text) + 100 <= context for text in texts)


async def test_the_judges_own_context_is_a_limit_too(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    base = tokens(f"{agent_rules(toolbox, TASK)}\n\nTurn 1 of 12: take the next action.")
    judge, engine = make_judge([*LOOKS, FINISH], context_tokens=base + 100 + 3 * 330)
    result = await run_agent(
        judge, toolbox, TASK, str, limits=AgentLimits(reply_tokens=100, context_tokens=10**6)
    )
    assert [step.dropped for step in result.transcript.steps] == [(), (), (), (), (1, 2, 3)]
    assert len(engine.calls) == 5


async def test_what_was_dropped_may_be_asked_for_again(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    judge, engine = make_judge([*LOOKS, LOOKS[0], LOOKS[3], FINISH])
    base = tokens(f"{agent_rules(toolbox, TASK)}\n\nTurn 1 of 12: take the next action.")
    limits = AgentLimits(reply_tokens=100, context_tokens=base + 100 + 3 * 330)
    result = await run_agent(judge, toolbox, TASK, str, limits=limits)
    # Turn 5 asks for what turn 1 was shown, which is gone; turn 6 for what turn 4 was shown, which is there.
    assert [one.error for one in result.transcript.observations] == [None] * 5 + ["repeated"]
    assert "this in turn 4" in user(engine.calls[-1])


async def test_a_result_that_does_not_fit_by_itself_is_dropped_too(
    make_judge: MakeJudge, toolbox: Toolbox
) -> None:
    judge, engine = make_judge([act("open", url=TOWN), FINISH])
    base = tokens(f"{agent_rules(toolbox, TASK)}\n\nTurn 1 of 12: take the next action.")
    limits = AgentLimits(reply_tokens=100, context_tokens=base + 300)  # the page has 3,858 characters
    result = await run_agent(judge, toolbox, TASK, str, limits=limits)
    assert result.outcome == "answered"
    assert result.transcript.steps[1].dropped == (1,)
    assert DROPPED in user(engine.calls[1])


async def test_a_task_that_does_not_fit_is_too_long(make_judge: MakeJudge, toolbox: Toolbox) -> None:
    judge, engine = make_judge([])
    result = await run_agent(
        judge, toolbox, TASK, str, limits=AgentLimits(reply_tokens=100, context_tokens=400)
    )
    base = tokens(f"{agent_rules(toolbox, TASK)}\n\nTurn 1 of 12: take the next action.")
    assert (result.outcome, result.answer, engine.calls) == ("too_long", None, [])
    assert result.failure is not None
    assert result.failure.kind == "prompt_too_long"
    assert f"need {base + 100} tokens, but the judge's context holds 400" in result.failure.detail
