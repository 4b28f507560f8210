"""Three replicas, of which one is killed and comes back: who gets which prefix, what is told, and what is counted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from random import Random

import pytest

from serving.engine import Replicated
from serving.engines import sending
from serving.engines.openai import OpenAIEngine
from serving.errors import EngineOverloaded
from serving.types import Message, Sampling
from tests.stub_server import Fault, Stub, StubPlan

PLAN = StubPlan(cache_tokens=100_000)


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "LOOK_SECONDS", 0.01)


class Fleet:
    """Three stubs that can be killed and started again on their ports, and an engine on them."""

    def __init__(self, stubs: list[Stub], ports: list[int]) -> None:
        self.stubs = stubs
        self.ports = ports
        self.told: list[str] = []
        self.urls = [f"http://127.0.0.1:{port}/v1" for port in ports]
        self.engine = OpenAIEngine(
            self.urls, patience=60.0, tell=lambda line: self.told.append(line[9:]), rng=Random(1)
        )

    async def ask(self, report: int, question: int = 0) -> str:
        """The URL that answers."""
        before = [len(stub.chats) for stub in self.stubs]
        await self.engine.generate(prompt(report, question), Sampling())
        [answered] = [
            url for url, stub, n in zip(self.urls, self.stubs, before, strict=True) if len(stub.chats) > n
        ]
        return answered

    async def restart(self, place: int) -> None:
        await self.stubs[place].start(port=self.ports[place])


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    stubs = [Stub(PLAN) for _ in range(3)]
    made = Fleet(stubs, [await stub.start() for stub in stubs])
    yield made
    await made.engine.aclose()
    for stub in stubs:
        await stub.stop()


def prompt(report: int, question: int) -> list[Message]:
    text = f"Report {report}. " + "The lake heats the town since 2021 [3]. " * 200
    return [Message(role="user", content=text), Message(role="user", content=f"Question {question}?")]


async def until(condition: Callable[[], object], fleet: Fleet) -> None:
    """Ask until something is so."""
    for number in range(1000, 1200):
        if condition():
            return
        await fleet.ask(number)
        await asyncio.sleep(0.01)
    raise AssertionError(fleet.told)


async def test_a_replica_that_is_killed_is_reported_skipped_and_used_again(fleet: Fleet) -> None:
    homes = {report: await fleet.ask(report) for report in range(30)}
    assert len(set(homes.values())) == 3
    dead = homes[0]
    place = fleet.urls.index(dead)
    await fleet.stubs[place].stop()
    asked = len(fleet.stubs[place].chats)

    replies = await asyncio.gather(
        *(fleet.engine.generate(prompt(n, 1), Sampling()) for n in range(30) for _ in range(3))
    )
    assert {reply.text for reply in replies} == {'{"ok": true}'}
    await until(lambda: fleet.told, fleet)
    again = {report: await fleet.ask(report, 2) for report in range(30)}
    assert fleet.told == [
        f"{dead} does not answer and gets no calls until it does; the other 2 servers go on"
    ]
    # the others keep their reports
    assert {n: url for n, url in again.items() if homes[n] != dead} == {
        n: url for n, url in homes.items() if url != dead
    }
    assert len(fleet.stubs[place].chats) == asked
    use = {one.url: one for one in fleet.engine.replicas()}
    assert [one.url for one in use.values() if one.away] == [dead]
    assert use[dead].seconds_away > 0

    await fleet.restart(place)
    await until(lambda: len(fleet.told) == 2, fleet)
    # what another has read meanwhile stays there; new reports use all three
    assert {report: await fleet.ask(report, 3) for report in range(30)} == again
    assert {await fleet.ask(report) for report in range(30, 60)} == set(fleet.urls)
    assert fleet.told[1].startswith(f"{dead} is back after ")
    assert not any(one.away for one in fleet.engine.replicas())


async def test_a_connection_that_breaks_once_is_not_reported(fleet: Fleet) -> None:
    home = await fleet.ask(0)
    fleet.stubs[fleet.urls.index(home)].faults.append(Fault("drop"))
    reply = await fleet.engine.generate(prompt(0, 1), Sampling())  # by another replica, at once
    assert reply.usage.cached_tokens == 0
    use = {one.url: one for one in fleet.engine.replicas()}
    assert use[home].failures == 1
    await until(lambda: not any(one.away for one in fleet.engine.replicas()), fleet)
    assert home in {await fleet.ask(report) for report in range(30)}
    assert fleet.told == []


async def test_a_replica_that_hangs_is_found_by_its_health(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections and never answers: two looks in a row find it out."""
    monkeypatch.setattr("serving.http.HEALTH_SECONDS", 0.02)
    homes = {report: await fleet.ask(report) for report in range(20)}
    fleet.stubs[fleet.urls.index(homes[0])].silent = True
    others = [report for report, url in homes.items() if url != homes[0]]
    for _ in range(100):
        await fleet.engine.generate(prompt(others[0], 1), Sampling())
        await asyncio.sleep(0.01)
        if fleet.told:
            break
    assert [line.partition(" ")[0] for line in fleet.told] == [homes[0]]
    assert await fleet.ask(0, 1) != homes[0]


async def test_a_replica_that_is_back_as_another_judge_gets_no_calls(fleet: Fleet) -> None:
    home = await fleet.ask(0)
    place = fleet.urls.index(home)
    await fleet.stubs[place].stop()
    await fleet.engine.generate(prompt(0, 1), Sampling())
    await until(lambda: fleet.told, fleet)
    fleet.stubs[place].plan = StubPlan(model="other")
    asked = len(fleet.stubs[place].chats)
    await fleet.restart(place)
    await until(lambda: len(fleet.told) == 2, fleet)
    await fleet.ask(0, 2)
    assert len(fleet.stubs[place].chats) == asked
    assert fleet.told[1].startswith(f"{home} is back as ")
    assert fleet.told[1].endswith("; it gets no calls")


@pytest.mark.parametrize("status", ["429", "503"])
async def test_an_overloaded_replica_is_left_alone_for_as_long_as_it_asks(fleet: Fleet, status: str) -> None:
    home = await fleet.ask(0)
    stub = fleet.stubs[fleet.urls.index(home)]
    stub.faults.append(Fault(status, retry_after="1"))
    begun = asyncio.get_running_loop().time()
    await fleet.engine.generate(prompt(0, 1), Sampling())  # by another replica, at once
    assert asyncio.get_running_loop().time() - begun < 0.5
    refused = len(stub.chats)
    assert await fleet.ask(0, 2) != home
    assert len(stub.chats) == refused
    await asyncio.sleep(1.0)
    assert home in {await fleet.ask(report) for report in range(10, 40)}
    assert fleet.told == []


async def test_if_all_are_overloaded_the_first_end_of_a_pause_is_waited_for(fleet: Fleet) -> None:
    await fleet.engine.identity()
    for stub, seconds in zip(fleet.stubs, ("7", "1", "9"), strict=True):
        stub.faults.append(Fault("503", retry_after=seconds))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    refused = asyncio.create_task(fleet.engine.generate(prompt(0, 0), Sampling()))
    await asyncio.sleep(0.2)
    assert [len(stub.chats) for stub in fleet.stubs] == [1, 1, 1]
    await fleet.engine.generate(prompt(1, 0), Sampling())  # waits too, and is sent once
    await refused
    assert 1.0 <= loop.time() - begun < 4.0
    assert [len(stub.chats) for stub in fleet.stubs] == [1, 3, 1]


async def test_a_replica_that_returns_is_used_while_the_others_ask_for_a_long_pause(fleet: Fleet) -> None:
    await fleet.ask(0)
    for stub in fleet.stubs[1:]:
        await stub.stop()
    await until(lambda: len(fleet.told) == 2, fleet)
    fleet.stubs[0].faults.append(Fault("503", retry_after="99999"))
    with pytest.raises(EngineOverloaded):
        await fleet.ask(1)
    await fleet.restart(1)
    for _ in range(100):
        with contextlib.suppress(EngineOverloaded):
            assert await fleet.ask(1) == fleet.urls[1]
            break
        await asyncio.sleep(0.02)
    else:
        raise AssertionError(fleet.told)


async def test_the_counts_are_those_of_the_servers(fleet: Fleet) -> None:
    for question in range(3):
        for report in range(12):
            await fleet.ask(report, question)
    engine = fleet.engine
    assert isinstance(engine, Replicated)
    use = engine.replicas()
    assert [one.url for one in use] == fleet.urls
    assert [one.requests for one in use] == [len(stub.chats) for stub in fleet.stubs]
    assert [one.prompt_tokens - one.cached_tokens for one in use] == [stub.computed for stub in fleet.stubs]
    assert sum(one.requests for one in use) == 36
    # each report is read once: two of three times it is in the cache, apart from its last block
    share = sum(one.cached_tokens for one in use) / sum(one.prompt_tokens for one in use)
    assert 0.65 < share < 2 / 3


async def test_each_replica_takes_the_concurrency_of_the_preset() -> None:
    async with Stub() as one, Stub() as two:
        engine = OpenAIEngine([one.url, two.url], concurrency=8)
        assert (await engine.limits()).concurrency == 16
        await engine.aclose()
