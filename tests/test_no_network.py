"""The guard of conftest.py refuses other machines, lets this one through, and cannot be hidden from."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import aiohttp
import pytest

# TEST-NET-1 (RFC 5737): routed nowhere, so that a broken guard reaches nobody.
ELSEWHERE = "192.0.2.1"


@pytest.mark.parametrize("host", [ELSEWHERE, "page.example"])
async def test_a_request_to_another_machine_is_refused(host: str, no_network: list[str]) -> None:
    async with aiohttp.ClientSession(trust_env=False) as client:
        with pytest.raises(aiohttp.ClientConnectorError):
            await client.get(f"http://{host}:9/")
    assert len(no_network) == 1 and host in no_network[0]
    no_network.clear()


def test_datagrams_are_refused_too(no_network: list[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        with pytest.raises(OSError, match="tried to reach the network: sendto"):
            sender.sendto(b"x", (ELSEWHERE, 9))
        with pytest.raises(OSError, match="tried to reach the network: sendmsg"):
            sender.sendmsg([b"x"], [], 0, (ELSEWHERE, 9))
    assert len(no_network) == 2
    no_network.clear()


async def test_this_machine_is_reached() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(4))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "localhost", 0) as server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("localhost", port)
        writer.write(b"ping")
        assert await reader.readexactly(4) == b"ping"
        writer.close()
        await writer.wait_closed()


def test_a_swallowed_refusal_still_fails_the_test(pytester: pytest.Pytester) -> None:
    guard = Path(__file__).with_name("conftest.py")
    pytester.makeconftest(guard.read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (pytester.path / "test_swallows.py").write_text(
        "import socket\n"
        "def test_swallows():\n"
        "    try:\n"
        f"        socket.create_connection(('{ELSEWHERE}', 9), timeout=1)\n"
        "    except OSError:\n"
        "        pass\n",
        encoding="utf-8",
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*tried to reach the network*{ELSEWHERE}*"])
