"""A server that goes away in the middle of the work and comes back, or does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random

import pytest

from serving.engines.openai import OpenAIEngine
from serving.errors import EngineFault, EngineOverloaded, ServerDown
from serving.types import Message, Sampling
from tests.stub_server import Fault, Stub, StubPlan

from ..waiting import until

Ports = Callable[[int], list[int]]


def prompt(number: int) -> list[Message]:
    return [Message(role="user", content=f"Is it so? {number}")]


class Nap:
    """Takes the place of sleeping: lets the others run, and does something at the n-th time."""

    def __init__(self, at: int, what: Callable[[], Awaitable[None]] | None = None) -> None:
        self.taken: list[float] = []
        self.at = at
        self.what = what

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        await asyncio.sleep(0.001)
        if len(self.taken) == self.at and self.what is not None:
            await self.what()


def engine_for(
    stub: Stub, nap: Nap, told: list[str], *, patience: float = 600.0, attempts: int = 2
) -> OpenAIEngine:
    return OpenAIEngine(
        [stub.url], max_attempts=attempts, patience=patience, tell=told.append, rng=Random(1), sleep=nap
    )


async def test_no_call_is_lost_to_a_restart_and_one_line_tells_of_its_beginning_and_end(ports: Ports) -> None:
    stub, [port] = Stub(StubPlan()), ports(1)
    await stub.start(port=port)
    stub.url = f"http://127.0.0.1:{port}/v1"

    async def come_back() -> None:
        await stub.start(port=port)

    told: list[str] = []
    nap = Nap(at=20, what=come_back)
    engine = engine_for(stub, nap, told)
    await engine.generate(prompt(0), Sampling())
    await stub.stop()
    replies = await asyncio.gather(*(engine.generate(prompt(n), Sampling()) for n in range(1, 21)))
    await engine.aclose()
    await stub.stop()
    assert [reply.text for reply in replies] == ['{"ok": true}'] * 20
    assert len(stub.chats) == 21  # each was answered once
    begun, ended = told
    assert "does not answer; waiting" in begun and "10 min" in begun
    assert "is back after" in ended


async def test_calls_that_fail_together_lose_no_attempt_to_an_outage(ports: Ports) -> None:
    stub, [port] = Stub(StubPlan()), ports(1)
    await stub.start(port=port)
    stub.url = f"http://127.0.0.1:{port}/v1"

    async def come_back() -> None:
        await stub.start(port=port)

    engine = engine_for(stub, Nap(at=20, what=come_back), [], attempts=1)
    await engine.generate(prompt(0), Sampling())
    await stub.stop()
    replies = await asyncio.gather(*(engine.generate(prompt(n), Sampling()) for n in range(1, 21)))
    await engine.aclose()
    await stub.stop()
    assert [reply.text for reply in replies] == ['{"ok": true}'] * 20


async def test_a_server_that_stays_away_ends_the_work_in_one_line() -> None:
    told: list[str] = []
    async with Stub(StubPlan()) as stub:
        engine = engine_for(stub, Nap(at=0), told, patience=0.02)
        await engine.generate(prompt(0), Sampling())
    found = await asyncio.gather(
        *(engine.generate(prompt(n), Sampling()) for n in range(5)), return_exceptions=True
    )
    with pytest.raises(ServerDown, match="run the same command again"):
        await engine.generate(prompt(9), Sampling())
    await engine.aclose()
    assert {type(one) for one in found} == {ServerDown}
    assert len(told) == 1


async def test_a_server_that_is_well_and_fails_every_call_is_no_outage() -> None:
    told: list[str] = []
    async with Stub(StubPlan(faults=(Fault("500"),), last_fault_stays=True)) as stub:
        engine = engine_for(stub, Nap(at=0), told, attempts=3)
        with pytest.raises(EngineFault, match=r"HTTP 500 .*\(attempt 3\)"):
            await engine.generate(prompt(0), Sampling())
        await engine.aclose()
    assert (len(stub.chats), told) == (3, [])


@pytest.mark.parametrize("status", ["429", "503"])
@pytest.mark.parametrize("retry_after", [None, "5"])
async def test_pauses_that_a_server_asks_for_use_up_no_attempt(status: str, retry_after: str | None) -> None:
    """The chat route asks for a pause 40 times, while the server's health is good."""
    told: list[str] = []
    nap = Nap(at=0)
    async with Stub(StubPlan(faults=(Fault(status, retry_after=retry_after),) * 40)) as stub:
        engine = engine_for(stub, nap, told, attempts=2)
        replies = await asyncio.gather(*(engine.generate(prompt(n), Sampling()) for n in range(4)))
        await engine.aclose()
    assert [reply.text for reply in replies] == ['{"ok": true}'] * 4
    assert all(seconds >= 5.0 for seconds in nap.taken) if retry_after else max(nap.taken) > 2.0
    begun, ended = told
    assert f"asks for a pause; waiting for it up to 10 min ({stub.url}" in begun and f"HTTP {status}" in begun
    assert "answers again after" in ended


@pytest.mark.parametrize("retry_after", [None, "7", "99999"])
async def test_a_server_that_asks_for_pauses_for_too_long_ends_the_work(retry_after: str | None) -> None:
    told: list[str] = []
    nap = Nap(at=0)
    fault = Fault("503", retry_after=retry_after)
    async with Stub(StubPlan(faults=(fault,), last_fault_stays=True)) as stub:
        engine = engine_for(stub, nap, told, patience=120.0)
        with pytest.raises(ServerDown, match=r"asked for pauses for 2 min and answered nothing.*HTTP 503"):
            await engine.generate(prompt(0), Sampling())
        with pytest.raises(ServerDown):
            await engine.generate(prompt(1), Sampling())
        await engine.aclose()
    assert sum(nap.taken) == pytest.approx(120.0)
    assert len(told) == 1
    assert retry_after != "99999" or len(stub.chats) == 1  # not asked again before the time that it names


async def test_a_call_that_pauses_too_long_fails_alone_while_others_are_answered() -> None:
    async with Stub(StubPlan(faults=(Fault("429"),), last_fault_stays=True)) as stub:

        async def answer_others() -> None:
            stub.plan = replace(stub.plan, last_fault_stays=False)
            stub.faults.clear()
            await engine.generate(prompt(1), Sampling())
            stub.plan = replace(stub.plan, last_fault_stays=True)
            stub.faults.append(Fault("429"))

        engine = engine_for(stub, Nap(at=2, what=answer_others), [], patience=60.0)
        with pytest.raises(EngineOverloaded, match=r"HTTP 429.*asked to wait for 1 min"):
            await engine.generate(prompt(0), Sampling())
        await engine.aclose()


async def test_without_patience_each_call_fails_by_itself() -> None:
    told: list[str] = []
    async with Stub(StubPlan()) as stub:
        engine = engine_for(stub, Nap(at=0), told, patience=0.0)
        await engine.generate(prompt(0), Sampling())
    with pytest.raises(Exception, match=r"--base-url"):
        await engine.generate(prompt(1), Sampling())
    await engine.aclose()
    assert told == []


async def test_a_server_that_comes_back_as_another_model_ends_the_work(ports: Ports) -> None:
    stub, [port] = Stub(StubPlan()), ports(1)
    await stub.start(port=port)
    stub.url = f"http://127.0.0.1:{port}/v1"
    other = Stub(StubPlan(model="other"))

    async def come_back() -> None:
        await other.start(port=port)

    engine = engine_for(stub, Nap(at=5, what=come_back), [])
    await engine.generate(prompt(0), Sampling())
    await stub.stop()
    with pytest.raises(ServerDown, match=r"is back as another judge: .*'stub' and 'other'"):
        await engine.generate(prompt(1), Sampling())
    await engine.aclose()
    await other.stop()
    assert other.chats == []


async def test_a_call_that_is_cancelled_in_an_outage_leaves_the_others_waiting(ports: Ports) -> None:
    stub, [port] = Stub(StubPlan()), ports(1)
    await stub.start(port=port)
    stub.url = f"http://127.0.0.1:{port}/v1"

    async def come_back() -> None:
        await stub.start(port=port)

    nap = Nap(at=40, what=come_back)
    engine = engine_for(stub, nap, [])
    await engine.generate(prompt(0), Sampling())
    await stub.stop()
    first, second = (asyncio.create_task(engine.generate(prompt(n), Sampling())) for n in (1, 2))
    await until(lambda: nap.taken)
    first.cancel()
    assert (await second).text == '{"ok": true}'
    with pytest.raises(asyncio.CancelledError):
        await first
    await engine.aclose()
    await stub.stop()


async def test_a_replica_that_comes_up_later_is_asked_what_it_is(ports: Ports) -> None:
    first, late, [port, other] = Stub(StubPlan()), Stub(StubPlan(vllm=False)), ports(2)
    await first.start(port=port)
    engine = OpenAIEngine([f"http://127.0.0.1:{one}/v1" for one in (port, other)], max_attempts=1)
    await engine.generate(prompt(0), Sampling())
    await late.start(port=other)
    await first.stop()
    try:
        with pytest.raises(ServerDown, match=r"back as another judge.*vllm is True and False"):
            await engine.generate(prompt(1), Sampling())
        assert late.chats == []
        late.plan = StubPlan()
        replies = [await engine.generate(prompt(number), Sampling()) for number in range(3)]
    finally:
        await engine.aclose()
        await late.stop()
    assert [reply.text for reply in replies] == ['{"ok": true}'] * 3
    assert [request.path for request in late.received].count("/version") == 1
