"""A Ray cluster of several nodes on this machine, with a temporary folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from serving.launch import free_ports

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 60.0
"""Time for a node to start; an idle machine takes 5 s."""


class NotStarted(Exception):
    """Ray did not start: a node gives up if its agents take more than 15 s, as on a machine with many other jobs."""


class RayCluster:
    """`with RayCluster(nodes=2) as cluster` has a head with one CPU, and as many nodes in all.

    The nodes are processes of `ray start --block`, which are ended with the block; no other cluster is touched.
    """

    def __init__(self, nodes: int) -> None:
        self._n_nodes = nodes
        self.nodes: list[subprocess.Popen[bytes]] = []
        self._held = ExitStack()
        """The reservation of the ports, which the nodes take seconds later, or when they are started again."""

    def __enter__(self) -> Self:
        # Sockets lie in it, and their paths may have about 100 characters: no folder of pytest.
        self._folder = Path(tempfile.mkdtemp(prefix="ray-"))
        [port] = self._free_ports(1)
        self.address = f"127.0.0.1:{port}"
        try:
            head = ["--head", f"--port={port}", f"--temp-dir={self._folder}"]
            self._start([*head, "--include-dashboard=false", "--no-monitor"])
            for _ in range(1, self._n_nodes):
                self.add_node()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def add_node(self) -> None:
        """Start another node."""
        self._start([f"--address={self.address}"])

    def _start(self, options: Sequence[str]) -> None:
        common = ["--block", "--num-cpus=1", "--node-ip-address=127.0.0.1", "--object-store-memory=80000000"]
        # With given ports, the node does not wait for those that its agents choose, for 15 s at most.
        agents = [
            f"--{name}={port}" for name, port in zip(_AGENTS, self._free_ports(len(_AGENTS)), strict=True)
        ]
        common += [*agents, "--disable-usage-stats", "--include-log-monitor=false"]
        command = [*RAY, "start", *options, *common]
        log = self._folder / f"node-{len(self.nodes)}.log"
        with log.open("wb") as out:
            node = subprocess.Popen(
                command, env=environment(), cwd=self._folder, stdout=out, stderr=out, start_new_session=True
            )
        self.nodes.append(node)
        end = time.monotonic() + START_SECONDS
        while b"Ray runtime started" not in log.read_bytes():
            if node.poll() is not None or time.monotonic() > end:
                raise NotStarted(log.read_text())
            time.sleep(0.1)

    def _end(self) -> None:
        for node in reversed(self.nodes):
            node.send_signal(signal.SIGTERM)
        for node in reversed(self.nodes):
            try:
                node.wait(30)
            except subprocess.TimeoutExpired:
                node.kill()
                node.wait()
        self._held.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _free_ports(self, number: int) -> list[int]:
        return free_ports("127.0.0.1", number, self._held)

    def lose(self, node: subprocess.Popen[bytes]) -> None:
        """Kill a node with all of its processes."""
        lost = [pid for pid, _ in _commands() if pid == node.pid or node.pid in _ancestors(pid)]
        for pid in lost:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        node.wait()
        self.nodes.remove(node)

    def processes(self, title: str, node: subprocess.Popen[bytes] | None = None) -> list[int]:
        """Processes of a node, or of the whole cluster, whose title or command begins with `title`."""
        own = {one.pid for one in (self.nodes if node is None else [node])}
        return [
            pid for pid, command in _commands() if command.startswith(title) and own & set(_ancestors(pid))
        ]


_AGENTS = (
    "dashboard-agent-listen-port",
    "dashboard-agent-grpc-port",
    "runtime-env-agent-port",
    "metrics-export-port",
)


RAY = [sys.executable, "-m", "ray.scripts.scripts"]


def environment() -> dict[str, str]:
    """Environment of nodes and drivers: this checkout, and patience with a busy machine.

    Unless the mode is set, a head asks for the token in `~/.ray/auth_token` if there is one, and other nodes send none.
    """
    mine = {
        "PYTHONPATH": str(ROOT),
        "RAY_AUTH_MODE": "disabled",
        "RAY_raylet_start_wait_time_s": str(int(START_SECONDS)),
        "RAY_agent_register_timeout_ms": str(int(1000 * START_SECONDS)),
    }
    return {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"} | mine


def _commands() -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                yield (
                    int(folder.name),
                    (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip(),
                )
            except OSError:
                continue


def _ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return
        pid = int(stat.rpartition(")")[2].split()[1])
        yield pid
