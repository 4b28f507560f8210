"""Three replicas, of which one is killed and comes back: who gets which prefix, what is told, and what is counted."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from functools import partial
from random import Random

import pytest

from serving.engine import Replicated
from serving.engines import sending
from serving.engines.openai import OpenAIEngine
from serving.http import Answer, HttpClient
from serving.replicas import Replicas
from serving.types import Message, Sampling
from tests.stub_server import Fault, Stub, StubPlan

from .. import waiting

PLAN = StubPlan(cache_tokens=100_000)


class Pauses:
    """The time that pauses are counted in: it stands still but for what is slept, which nothing waits for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self.go_on.wait()
        await asyncio.sleep(0.001)
        self.now += seconds


class Fleet:
    """Three stubs that can be killed and started again on their ports, and an engine on them."""

    def __init__(self, stubs: list[Stub], ports: list[int], pauses: Pauses) -> None:
        self.stubs = stubs
        self.ports = ports
        self.pauses = pauses
        self.told: list[str] = []
        self.urls = [f"http://127.0.0.1:{port}/v1" for port in ports]
        self.engine = OpenAIEngine(
            self.urls,
            patience=60.0,
            tell=lambda line: self.told.append(line[9:]),
            rng=Random(1),
            sleep=pauses.sleep,
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
async def fleet(monkeypatch: pytest.MonkeyPatch, ports: Callable[[int], list[int]]) -> AsyncIterator[Fleet]:
    stubs, pauses = [Stub(PLAN) for _ in range(3)], Pauses()
    monkeypatch.setattr(sending, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(sending, "Replicas", partial(Replicas, clock=lambda: pauses.now))
    made = Fleet(stubs, ports(3), pauses)
    for place in range(3):
        await made.restart(place)
    yield made
    await made.engine.aclose()
    for stub in stubs:
        await stub.stop()


def prompt(report: int, question: int) -> list[Message]:
    text = f"Report {report}. " + "The lake heats the town since 2021 [3]. " * 200
    return [Message(role="user", content=text), Message(role="user", content=f"Question {question}?")]


async def until(condition: Callable[[], object], fleet: Fleet) -> None:
    """Ask until something is so."""
    reports = itertools.count(1000)
    async with asyncio.timeout(waiting.SECONDS):
        while not condition():
            await fleet.ask(next(reports))
            await asyncio.sleep(0.01)


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
    fleet.pauses.now += 5.0
    use = {one.url: one for one in fleet.engine.replicas()}
    assert [one.url for one in use.values() if one.away] == [dead]
    assert [one.seconds_away for one in use.values() if one.seconds_away] == [5.0]

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
    homes = {report: await fleet.ask(report) for report in range(20)}
    fleet.stubs[fleet.urls.index(homes[0])].silent = True
    others = [report for report, url in homes.items() if url != homes[0]]
    monkeypatch.setattr("serving.http.HEALTH_SECONDS", 0.02)
    soon = HttpClient.get_soon

    async def get_soon(client: HttpClient, url: str) -> Answer:
        """Only the server that hangs has so little time: the others may be slow on a busy machine."""
        return await (soon(client, url) if url.startswith(homes[0].removesuffix("/v1")) else client.get(url))

    monkeypatch.setattr(HttpClient, "get_soon", get_soon)
    async with asyncio.timeout(waiting.SECONDS):
        while not fleet.told:
            await fleet.engine.generate(prompt(others[0], 1), Sampling())
            await asyncio.sleep(0.01)
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
    await fleet.engine.generate(prompt(0, 1), Sampling())  # by another replica, at once
    assert fleet.pauses.slept == []
    refused = len(stub.chats)
    assert await fleet.ask(0, 2) != home
    assert len(stub.chats) == refused
    fleet.pauses.now += 1.0
    assert home in {await fleet.ask(report) for report in range(10, 40)}
    assert fleet.told == []


async def test_if_all_are_overloaded_the_first_end_of_a_pause_is_waited_for(fleet: Fleet) -> None:
    await fleet.engine.identity()
    for stub, seconds in zip(fleet.stubs, ("7", "1", "9"), strict=True):
        stub.faults.append(Fault("503", retry_after=seconds))
    fleet.pauses.go_on.clear()
    refused = asyncio.create_task(fleet.engine.generate(prompt(0, 0), Sampling()))
    await waiting.until(lambda: len(fleet.pauses.slept) == 1)
    assert [len(stub.chats) for stub in fleet.stubs] == [1, 1, 1]
    later = asyncio.create_task(
        fleet.engine.generate(prompt(1, 0), Sampling())
    )  # waits too, and is sent once
    await waiting.until(lambda: len(fleet.pauses.slept) == 2)
    fleet.pauses.go_on.set()
    await asyncio.gather(refused, later)
    assert len(fleet.pauses.slept) == 2 and all(1.0 <= seconds < 1.5 for seconds in fleet.pauses.slept)
    assert [len(stub.chats) for stub in fleet.stubs] == [1, 3, 1]


async def test_a_replica_that_returns_is_used_while_the_others_ask_for_a_long_pause(fleet: Fleet) -> None:
    await fleet.ask(0)
    for stub in fleet.stubs[1:]:
        await stub.stop()
    await until(lambda: len(fleet.told) == 2, fleet)
    fleet.stubs[0].faults.append(Fault("503", retry_after="99999"))
    fleet.pauses.go_on.clear()
    call = asyncio.create_task(fleet.engine.generate(prompt(1, 0), Sampling()))
    await waiting.until(lambda: len(fleet.pauses.slept) == 1)
    asked = [len(stub.chats) for stub in fleet.stubs]
    await fleet.restart(1)
    fleet.pauses.go_on.set()
    await call
    assert [len(stub.chats) for stub in fleet.stubs] == [asked[0], asked[1] + 1, asked[2]]
    assert set(fleet.pauses.slept) == {30.0}  # parts of the pause


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
