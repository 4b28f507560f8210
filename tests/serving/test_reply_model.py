"""A reply counts only if the model that was asked wrote it."""

from __future__ import annotations

import pytest

from serving.engines.openai import OpenAIEngine
from serving.errors import WrongModel
from serving.stub import Stub, StubPlan
from serving.types import Message, Sampling

PROMPT = [Message(role="user", content="Is it so?")]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_reply_by_another_model_is_refused_and_both_are_named(streamed: bool) -> None:
    async with Stub(StubPlan(reply_model="small\x1b[31m-fallback" + "x" * 500)) as stub:
        engine = OpenAIEngine([stub.url])
        started = (lambda: None) if streamed else None
        with pytest.raises(
            WrongModel, match=r"asked for 'stub' and answered as 'small\\x1b\[31m-fallback"
        ) as caught:
            await engine.generate(PROMPT, Sampling(), started=started)
        with pytest.raises(WrongModel):
            await engine.choose(PROMPT, ["Yes", "No"])
        await engine.aclose()
    assert len(str(caught.value)) < 300
    assert len(stub.chats) == 2  # sent once each: the router has made up its mind


async def test_a_server_may_be_known_to_answer_under_another_name() -> None:
    async with Stub(StubPlan(reply_model="stub-2026-01-31")) as stub:
        engine = OpenAIEngine([stub.url], reply_model="stub-2026-01-31")
        reply = await engine.generate(PROMPT, Sampling())
        identity = await engine.identity()
        await engine.aclose()
    assert reply.text == '{"ok": true}'
    assert (identity.model, identity.options["reply_model"]) == ("stub", "stub-2026-01-31")
