"""The guard of a run. The suite's own guard stands behind it: a host that got through would fail the test."""

from __future__ import annotations

import asyncio
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from local_judge.runs.execution import offline
from local_judge.runs.execution.offline import OfflineViolation
from serving.engines.openai import OpenAIEngine
from serving.types import Message, Sampling
from tests.stub_server import Stub

# TEST-NET-1 (RFC 5737): routed nowhere.
ELSEWHERE = "192.0.2.1"


def udp(act: Callable[[socket.socket], Any]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        act(sender)


def over_ipv6(*address: Any) -> None:
    with socket.socket(socket.AF_INET6) as client:
        client.connect(address)


ATTEMPTS: dict[str, Callable[[], object]] = {
    "look-up": lambda: socket.gethostbyname("page.example"),
    "reverse look-up": lambda: socket.gethostbyaddr(ELSEWHERE),
    "name of an address": lambda: socket.getnameinfo((ELSEWHERE, 80), 0),
    "another host": lambda: socket.gethostbyname_ex("127.0.0.2"),
    "datagram to a name": lambda: udp(lambda s: s.sendto(b"x", ("127.0.0.2", 9))),
    "datagram in parts": lambda: udp(lambda s: s.sendmsg([b"x"], [], 0, ("127.0.0.2", 9))),
    "another port": lambda: socket.create_connection(("127.0.0.1", 9), 1),
    "another family": lambda: over_ipv6("::1", 8000),
    "shell": lambda: os.system("true"),  # pyright: ignore[reportDeprecated]
    "spawned program": lambda: os.posix_spawn("/nowhere/true", ["true"], {}),
    "replaced program": lambda: os.execv("/nowhere/true", ["true"]),
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


CONNECTS = (
    "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5); print('through')"
)
confined = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"),
    reason="needs seccomp on Linux",
)


def connects(port: int, close_fds: bool) -> subprocess.CompletedProcess[str]:
    """A child process that connects to a port of this machine, if it may."""
    command = [sys.executable, "-c", CONNECTS, str(port)]
    return subprocess.run(command, capture_output=True, text=True, check=False, close_fds=close_fds)


@confined
@pytest.mark.parametrize("close_fds", [True, False])  # without it, `subprocess` calls `os.posix_spawn`
def test_a_child_process_has_no_sockets_and_this_process_keeps_its_own(close_fds: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        with offline.only([url]):
            done = connects(server.getsockname()[1], close_fds)
            assert done.stdout == "" and done.stderr.endswith(
                "PermissionError: [Errno 13] Permission denied\n"
            )
            socket.create_connection(server.getsockname()).close()
        assert connects(server.getsockname()[1], close_fds).stdout == "through\n"


def test_where_a_child_cannot_be_confined_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(offline, "deny_sockets", lambda: False)
    monkeypatch.setattr(offline, "_told", False)
    with offline.only([]):
        for _ in range(2):
            assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0
    said = "offline: a program is started that this machine cannot keep from the network\n"
    assert capsys.readouterr().err == said


@confined
async def test_a_child_of_the_event_loop_has_no_sockets() -> None:
    with offline.only([]):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "import socket; socket.socket()", stderr=asyncio.subprocess.PIPE
        )
        _, said = await process.communicate()
    assert said.endswith(b"PermissionError: [Errno 13] Permission denied\n")


@confined
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # from Python 3.12 on
def test_a_fork_has_no_sockets() -> None:
    with offline.only([]):
        if (child := os.fork()) == 0:
            try:
                socket.socket().close()
            except PermissionError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_what_a_child_process_cannot_do_is_told_as_without_the_guard() -> None:
    with offline.only([]), pytest.raises(FileNotFoundError, match="nowhere"):
        subprocess.run(["/nowhere/true"], check=True)


def test_an_address_on_another_interface_is_another() -> None:
    with offline.only(["http://[::1]:9/"]), pytest.raises(OfflineViolation):
        over_ipv6("::1", 9, 0, 1)
