"""Sweeps on a Ray cluster of two nodes, whose workers and nodes are killed."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from local_judge.demo.outcome import sample_folder
from local_judge.runs.sweeps import ray_tasks
from tests.stub_server import StubPlan

from ..docs.test_examples import SERVER, blocks, commands
from ..ray_cluster import NotStarted, RayCluster, environment
from ..s3_server import BUCKET, S3Server
from ..stub_thread import StubThread, answer, write_preset
from ..waiting import wait_until
from .conftest import ROOT, Command, Ended, finish, start
from .test_interrupted_run import Question, distinct, stored, wait_for
from .test_sweep import undivided

pytestmark = pytest.mark.slow

CONCURRENCY = 4
TASKS = 4


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture(scope="module")
def cluster(s3: S3Server) -> Iterator[RayCluster]:
    """The nodes have the credentials of `s3`."""
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with contextlib.ExitStack() as stack:
        try:
            running = stack.enter_context(RayCluster(nodes=2))
        except NotStarted:
            pytest.skip("Ray does not start on this machine now, which has too many other jobs")
        yield running


@pytest.fixture
def slow() -> Iterator[StubThread]:
    """A server whose answers take 50 ms."""
    with StubThread(StubPlan(answer=answer, delay=0.05)) as running:
        yield running


@pytest.fixture
def write(tmp_path: Path, snapshot: Path) -> Callable[..., Path]:
    """Write a sweep of two systems on some tasks into a folder of this name."""
    sample = (sample_folder() / "report.md").read_text(encoding="utf-8")
    write_preset(tmp_path, concurrency=CONCURRENCY)

    def written(name: str, tasks: int = TASKS) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        rows = [
            {"id": f"{system}-{task}", "system": system, "task_id": f"t{task}", "task": f"What is {task}?"}
            # Every cited sentence differs, so that no two shards ask the same.
            | {"report": sample.replace(" [", f" for {system} {task} [")}
            for system in ("Alder", "Birch")
            for task in range(tasks)
        ]
        (folder / "reports.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        file: dict[str, Any] = {
            "reports": ["reports.jsonl"],
            "snapshot": str(snapshot),
            "claims": {"batch_sentences": 4, "claims_per_call": 2, "reliability": False},
            "protocols": ["fact"],
            "out": "out",
            "sweep": {"judges": ["../stub.yaml"]},
        }
        (folder / "sweep.yaml").write_text(json.dumps(file))
        return folder

    return written


def swept(folder: Path, server: StubThread, *options: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        return start("sweep", "sweep.yaml", "--base-url", server.url, *options, cwd=folder)


def worker_of(cluster: RayCluster, node: subprocess.Popen[bytes]) -> int:
    """The process of a task on a node, once there is one."""
    wait_until(lambda: cluster.processes("ray::shard", node))
    return cluster.processes("ray::shard", node)[0]


def test_the_guide_works_from_nothing(cluster: RayCluster, tmp_path: Path) -> None:
    guide = (ROOT / "docs/guides/sweeps.md").read_text(encoding="utf-8")
    (tmp_path / "local_judge").symlink_to(ROOT / "local_judge")
    with StubThread(StubPlan(answer=answer, model="Qwen/Qwen3-14B")) as server:
        text = guide.replace(SERVER, server.url).replace("127.0.0.1:6379", cluster.address)
        found = blocks(text, "sweeps.md")
        for block in found:
            if block.file is not None:
                (tmp_path / block.file).write_text(block.text)
        ended = finish(start("snapshot", "import", "local_judge/demo/pages", "town", cwd=tmp_path), 300)
        assert ended.code == 0, ended.err
        [console] = [block for block in found if "$ ray start" in block.text]
        for line, _ in commands(console.text):
            program, *arguments = shlex.split(line)
            if program == "local-judge":
                ended = finish(start(*arguments, cwd=tmp_path), 300)
                assert ended.code == 0, ended.err
            else:  # the cluster is started with these options and further ones, and stopped
                assert (program, arguments[0]) in (("ray", "start"), ("ray", "stop"))
        assert "ada" in ended.out and "1.00" in ended.out
        assert {one.name for one in (tmp_path / "sweeps/ray/runs").iterdir() if one.is_dir()} == {
            *("qwen3-14b", "qwen3-14b.scored")
        }


def test_a_lost_worker_and_a_lost_node_lose_no_call_and_repeat_only_those_in_flight(
    cluster: RayCluster, write: Callable[..., Path], slow: StubThread
) -> None:
    whole, on_ray = write("whole"), write("ray")
    assert finish(swept(whole, slow), 300).code == 0
    n_calls = len(slow.chats)
    assert len(distinct(slow.chats)) == n_calls
    process = swept(on_ray, slow, "--ray", cluster.address)
    wait_for(slow, n_calls + n_calls // 4)
    os.kill(worker_of(cluster, cluster.nodes[0]), signal.SIGKILL)
    wait_for(slow, n_calls + n_calls // 2)
    worker_of(cluster, cluster.nodes[1])
    cluster.lose(cluster.nodes[1])
    ended = finish(process, 300)
    assert ended.code == 0, ended.err
    assert undivided(on_ray) == undivided(whole)
    assert distinct(slow.chats[n_calls:]) == distinct(slow.chats[:n_calls])
    # A worker has CONCURRENCY calls in flight, and perhaps as many replies that wait up to 5 ms for their commit
    # (`GATHER_SECONDS`).
    assert len(slow.chats) - 2 * n_calls <= 2 * 2 * CONCURRENCY
    lines = ended.err.splitlines()
    assert lines[0] == f"{TASKS} shards with 8 reports, 2 workers", ended.err
    assert sum(line.startswith("shard ") and line.endswith(": 2/2 reports") for line in lines) == TASKS
    # With another number of workers, the shards are others, and their replies are there. A busy head counts a lost
    # node for some seconds.
    n_chats = len(slow.chats)
    deadline = time.monotonic() + 120
    while True:
        again = finish(swept(on_ray, slow, "--ray", cluster.address), 300)
        assert (again.code, len(slow.chats)) == (0, n_chats), again.err
        if "1 worker\n" in again.err:
            break
        assert time.monotonic() < deadline, again.err
    assert undivided(on_ray) == undivided(whole)


class Gate:
    """Answers of a server that waits after a number of them."""

    def __init__(self) -> None:
        self.answered, self._until = 0, math.inf
        self._changed = threading.Condition()

    def allow(self, n: float) -> None:
        """Answer n further calls."""
        with self._changed:
            self._until = self.answered + n
            self._changed.notify_all()

    def wait(self) -> None:
        """Wait until these are answered."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.answered == self._until, 120)

    def answer(self, asked: Mapping[str, Any]) -> str:
        with self._changed:
            self._changed.wait_for(lambda: self.answered < self._until, 120)
            self.answered += 1
            self._changed.notify_all()
        return answer(asked)


def uploaded(s3: S3Server, folder: Path) -> dict[str, set[Question]]:
    """The questions whose replies are in the storage, by ledger."""
    found: dict[str, set[Question]] = {}
    for name in s3.files.glob(f"{BUCKET}/sweep/shards/*/ledger-*.sqlite"):
        copy = folder / "copy.sqlite"
        s3.files.get_file(name, str(copy))
        found[name] = stored(copy)
    return found


def test_a_worker_lost_with_s3_repeats_only_what_was_not_uploaded(
    cluster: RayCluster, write: Callable[..., Path], s3: S3Server, tmp_path: Path
) -> None:
    gate, url = Gate(), f"s3://{BUCKET}/sweep"
    whole, on_ray, elsewhere = (write(name, tasks=2) for name in ("whole", "ray", "elsewhere"))
    with StubThread(StubPlan(answer=gate.answer)) as server:
        assert finish(swept(whole, server), 300).code == 0
        n_calls = len(server.chats)
        given = ("--ray", cluster.address, "--ray-workers", "1", "--storage", url)
        gate.allow(12)
        process = swept(on_ray, server, *given)
        gate.wait()
        kept: dict[str, set[Question]] = {}

        def all_uploaded() -> bool:
            nonlocal kept
            kept = uploaded(s3, tmp_path)
            return sum(map(len, kept.values())) == 12

        wait_until(all_uploaded)
        gate.allow(6)
        gate.wait()
        [worker] = cluster.processes("ray::shard")
        os.kill(worker, signal.SIGKILL)
        gate.allow(math.inf)
        ended = finish(process, 300)
        assert ended.code == 0, ended.err
        assert undivided(on_ray) == undivided(whole)
        asked = server.chats[n_calls:]
        assert distinct(asked) == distinct(server.chats[:n_calls])
        # Twelve replies were uploaded; six were not, and at most CONCURRENCY calls were in flight.
        assert len(asked) - n_calls <= 6 + CONCURRENCY
        [part] = kept.values()
        assert part.isdisjoint(distinct(asked[18 + CONCURRENCY :]))
        # The same sweep on another machine asks nothing.
        n_chats, parts = len(server.chats), uploaded(s3, tmp_path)
        again = finish(swept(elsewhere, server, *given), 300)
        assert (again.code, len(server.chats)) == (0, n_chats), again.err
        assert undivided(elsewhere) == undivided(whole)
        assert uploaded(s3, tmp_path) == parts


def test_storage_that_cannot_be_used_is_one_line_before_any_call(
    command: Command,
    write: Callable[..., Path],
    server: StubThread,
    s3: S3Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = write("a")

    def refused(url: str, *options: str) -> str:
        given = ("sweep", folder / "sweep.yaml", "--base-url", server.url, "--storage", url)
        line = command(*given, *(options or ("--ray", "auto"))).line()
        assert not (folder / "out").exists() and not server.chats
        return line

    assert "--storage: give --ray too" in refused("s3://judged/a", "--rate", "1")
    assert "not in the URL" in refused("ftp://judge:secret@files.example/a")
    assert "storage s3://missing/a: sweep.yaml: cannot be written" in refused("s3://missing/a")
    s3.check_credentials(True)
    assert "cannot be written" in refused(f"s3://{BUCKET}/a")
    s3.check_credentials(False)
    with monkeypatch.context() as changed:
        changed.delenv("AWS_ACCESS_KEY_ID")
        changed.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "none"))
        assert "credentials" in refused(f"s3://{BUCKET}/a")
    with monkeypatch.context() as changed, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        changed.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        changed.setenv("AWS_MAX_ATTEMPTS", "1")
        assert "Could not connect" in refused(f"s3://{BUCKET}/a")
    assert "Protocol not known: nowhere" in refused("nowhere://a")
    with monkeypatch.context() as changed:
        changed.setitem(sys.modules, "gcsfs", None)
        assert "gcsfs" in refused("gs://judged/a")
    with monkeypatch.context() as changed:
        changed.setitem(sys.modules, "fsspec", None)
        assert "pip install 'local-judge[ray]'" in refused(f"s3://{BUCKET}/a")


def test_an_address_without_a_cluster_is_one_line(
    command: Command, write: Callable[..., Path], server: StubThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    monkeypatch.setattr(ray_tasks, "ANSWER_SECONDS", 3.0)
    folder = write("a")

    def refused(address: str, code: int) -> str:
        ended: Ended = command("sweep", folder / "sweep.yaml", "--base-url", server.url, "--ray", address)
        assert ended.code == code and not (folder / "out").exists()
        return ended.err

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        assert f"127.0.0.1:{port}: no Ray cluster there (Connection refused)" in refused(
            f"127.0.0.1:{port}", 1
        )
    # A server that is not Ray's.
    assert "not a Ray cluster, or overloaded: no answer in 3 s" in refused(f"127.0.0.1:{server.port}", 1)
    for wrong in ("", "head", "ray://head:10001", "head:port", "head:70000"):
        assert "is not the address of a Ray cluster; expected HOST:PORT or auto" in refused(wrong, 2)
    assert not server.chats


def test_without_ray_one_line_names_the_extra(
    command: Command, write: Callable[..., Path], server: StubThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    folder = write("a")
    given = ("sweep", folder / "sweep.yaml", "--base-url", server.url, "--ray", "auto")
    assert "needs the extra `ray`: pip install 'local-judge[ray]'" in command(*given).line()
    assert "--ray: excludes --shard and --replay" in command(*given, "--replay").line()
    assert command(*given[:-2]).code == 0
