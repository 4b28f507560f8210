"""The guard of a run. The suite's own guard stands behind it: a host that got through would fail the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from local_judge.runs import offline
from local_judge.runs.offline import OfflineViolation
from serving.engines.openai import OpenAIEngine
from serving.stub import Stub
from serving.types import Message, Sampling

# TEST-NET-1 (RFC 5737): routed nowhere.
ELSEWHERE = "192.0.2.1"


def udp(act: Callable[[socket.socket], Any]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        act(sender)


ATTEMPTS: dict[str, Callable[[], object]] = {
    "look-up": lambda: socket.gethostbyname("page.example"),
    "reverse look-up": lambda: socket.gethostbyaddr(ELSEWHERE),
    "name of an address": lambda: socket.getnameinfo((ELSEWHERE, 80), 0),
    "another port's host": lambda: socket.gethostbyname_ex("127.0.0.2"),
    "datagram to a name": lambda: udp(lambda s: s.sendto(b"x", ("127.0.0.2", 9))),
    "datagram in parts": lambda: udp(lambda s: s.sendmsg([b"x"], [], 0, ("127.0.0.2", 9))),
    "datagram socket": lambda: udp(lambda s: s.connect(("127.0.0.2", 9))),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_every_way_out_is_refused(attempt: Callable[[], object]) -> None:
    with (
        offline.only(["http://127.0.0.1:8000/v1"]),
        pytest.raises(OfflineViolation, match="a run reaches only"),
    ):
        attempt()


def test_a_run_without_a_server_reaches_nothing() -> None:
    with offline.only([]), pytest.raises(OfflineViolation), socket.socket() as client:
        client.connect(("127.0.0.1", 9))


async def test_the_engine_is_let_through_by_address_and_by_name() -> None:
    async with Stub() as stub:
        for url in (stub.url, stub.url.replace("127.0.0.1", "localhost")):
            with offline.only([url]):
                engine = OpenAIEngine([url], max_attempts=1)
                reply = await engine.generate([Message(role="user", content="So?")], Sampling())
                await engine.aclose()
            assert reply.text == '{"ok": true}'


async def test_a_socket_between_processes_of_this_machine_is_no_connection(tmp_path: Any) -> None:
    path = str(tmp_path / "s")
    server = await asyncio.start_unix_server(lambda reader, writer: writer.close(), path)
    with offline.only([]):
        reader, writer = await asyncio.open_unix_connection(path)
        assert await reader.read() == b""
        writer.close()
    server.close()
    await server.wait_closed()


def test_the_guard_ends_with_its_block_also_after_an_error() -> None:
    with pytest.raises(RuntimeError), offline.only([]):
        raise RuntimeError
    assert socket.gethostbyname("127.0.0.2") == "127.0.0.2"


def test_an_address_that_is_none_lets_nothing_through() -> None:
    with offline.only(["http://[::1", "nonsense"]), pytest.raises(OfflineViolation):
        socket.gethostbyname("127.0.0.2")
