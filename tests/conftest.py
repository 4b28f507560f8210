"""What every test gets.

Invariant: no test reaches a machine but this one. An attempt to is refused where it happens, and fails the
test at its end too, so that code which swallows the refusal cannot hide it.
"""

from __future__ import annotations

import ipaddress
import itertools
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from indexes.making import building
from indexes.text.extracting import ExtractionPool
from serving.launch import free_ports
from tests.waiting import Clock

pytest_plugins = ["pytester", "tests.scripted_judge"]

ROOT = Path(__file__).resolve().parent.parent

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell's background jobs start so, and their own processes too: none of these would end at a SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name bytes by their argument: compressed ones hold the time of day, in which the workers' collections differ."""
    return argname if isinstance(val, bytes) else None


class NetworkRefused(OSError):
    """A test tried to reach another machine: what code sees is a connection that cannot be made."""


def is_local(family: int, address: Any) -> bool:
    """Whether a socket address stays on this machine."""
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    return is_local_host(address[0])


def is_local_host(host: str | bytes | None) -> bool:
    """Whether a host, as given to `getaddrinfo`, is this machine or (empty) every interface of it."""
    name = host.decode() if isinstance(host, bytes) else host
    if not name or name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Refuse connections and name look-ups beyond the loopback interface; yields the attempts made."""
    attempts: list[str] = []
    real: dict[str, Any] = {
        name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto", "sendmsg")
    }
    real_getaddrinfo = socket.getaddrinfo

    def refuse(what: str) -> NetworkRefused:
        attempts.append(what)
        return NetworkRefused(f"a test tried to reach the network: {what}")

    def guard(name: str, position: int) -> Any:
        def guarded(self: socket.socket, *args: Any) -> Any:
            address = args[position] if len(args) > abs(position) - (position < 0) else None
            if address is not None and not is_local(self.family, address):
                raise refuse(f"{name} {address}")
            return real[name](self, *args)

        return guarded

    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        if not is_local_host(host):
            raise refuse(f"getaddrinfo {host}")
        return real_getaddrinfo(host, *args, **options)

    monkeypatch.setattr(socket.socket, "connect", guard("connect", 0))
    monkeypatch.setattr(socket.socket, "connect_ex", guard("connect_ex", 0))
    monkeypatch.setattr(socket.socket, "sendto", guard("sendto", -1))
    monkeypatch.setattr(socket.socket, "sendmsg", guard("sendmsg", 3))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield attempts
    if attempts:
        pytest.fail(f"this test tried to reach the network: {attempts}")


@pytest.fixture(scope="session", autouse=True)
def qualification_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[Path]]:
    """New folders in one: pytest looks through all that it has made before it makes another.

    Fixtures of a session or a module, which come before those of a test, have one of their own.
    """
    parent = tmp_path_factory.mktemp("qualifications")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCAL_JUDGE_QUALIFICATIONS", str(parent / "session"))
        yield (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def qualifications(qualification_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder where the verdicts on judges are kept: a test neither reads nor writes the developer's own."""
    folder = next(qualification_folders)
    folder.mkdir()
    monkeypatch.setenv("LOCAL_JUDGE_QUALIFICATIONS", str(folder))
    return folder


@pytest.fixture(scope="module", autouse=True)
def extraction_in_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Extract pages in the process of the tests, since starting another takes a second.

    Not in the tests of `indexes`, nor in those of the commands that make snapshots.
    """

    def pool(workers: int) -> ExtractionPool:
        return ExtractionPool(0)

    with pytest.MonkeyPatch.context() as patch:
        if "indexes" not in request.path.parts and not request.path.name.startswith("test_snapshot"):
            patch.setattr(building, "ExtractionPool", pool)
        yield


@pytest.fixture
def ports() -> Iterator[Callable[[int], list[int]]]:
    """Reserves ports for a test, where nothing listens now or later but its own servers.

    They are lower than those that the system gives to sockets without a port of their own.
    """
    with ExitStack() as held:
        yield lambda number: free_ports("127.0.0.1", number, held)


@pytest.fixture
async def clock() -> Clock:
    """The clock of a test's event loop."""
    return Clock()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real reports, pages and golden vectors beside the checkout; skips where there is none."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}")
    return folder
