"""What does not fit into a context is halved; what does not fit alone, or cannot be measured, is a failure."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from local_judge.judge.fitting import Part, fitting_parts, room_for
from local_judge.prompts import Prompt
from serving.errors import EngineUnreachable
from serving.types import Message
from tests.scripted_judge import MakeJudge


def prompt_for(words: Sequence[str]) -> Prompt:
    return Prompt(shared="", own=" ".join(words), prefix_key="")


def wanted(words: Sequence[str]) -> int:
    return 100 * len(words)


async def parts(make_judge: MakeJudge, words: Sequence[str], context_tokens: int) -> list[Part[str]]:
    judge, engine = make_judge(context_tokens=context_tokens)
    found = await fitting_parts(judge, words, prompt_for, wanted, "the list")
    assert not engine.calls
    return found


async def test_what_fits_is_one_part(make_judge: MakeJudge) -> None:
    assert await parts(make_judge, "abcde", 2_000) == [("abcde", None)]


async def test_what_does_not_fit_is_halved_until_it_does(make_judge: MakeJudge) -> None:
    # Three words want 300 tokens beside the prompt, two 200.
    assert await parts(make_judge, "abcde", 300) == [("ab", None), ("c", None), ("de", None)]


async def test_what_does_not_fit_alone_says_how_much_room_there_was(make_judge: MakeJudge) -> None:
    first, second = await parts(make_judge, "ab", 100)
    assert (first.items, second.items) == ("a", "b")
    assert first.failure is not None and first.failure.kind == "report_too_long"
    room = 100 - await make_judge(context_tokens=100)[1].count_tokens(prompt_for("a").messages())
    assert first.failure.detail == (
        f"the list leaves {room} tokens of the judge's context for an answer of 100"
    )


async def test_an_engine_that_cannot_be_asked_is_no_reason_to_halve(
    make_judge: MakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(messages: Sequence[Message]) -> int:
        raise EngineUnreachable("nobody is there")

    judge, engine = make_judge()
    monkeypatch.setattr(engine, "count_tokens", silent)
    (part,) = await fitting_parts(judge, "abc", prompt_for, wanted)
    assert part.failure is not None
    assert part.failure.kind == "unreachable"
    assert part.failure.detail == "measuring a prompt: nobody is there"
    assert await room_for(judge, prompt_for("a"), 1) == part.failure
