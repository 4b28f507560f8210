"""Shards in storage that is a folder: files are moved to their names, and their uploads may fail."""

from __future__ import annotations

import json
import re
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from local_judge.base.errors import ConfigError, RunError, UserError
from local_judge.ledger.ledger import Ledger
from local_judge.runs.storage.resume import is_finished
from local_judge.runs.storage.store import RunStore
from local_judge.runs.sweeps import remote_folder, shard_storage
from local_judge.runs.sweeps.ray_tasks import ShardTask, evaluate_shard, tasks_of
from local_judge.runs.sweeps.remote_folder import RemoteFolder
from local_judge.runs.sweeps.sweep import open_sweep

from ..run_files import run_files
from ..stub_thread import StubThread
from .conftest import REPORT


class Stored(NamedTuple):
    """A sweep of one report, whose shard is to be evaluated into a folder."""

    root: Path
    storage: RemoteFolder
    tasks: Callable[[int], list[ShardTask]]
    """Prepare the storage for a number of workers."""
    task: ShardTask
    """Only task with reports for one worker."""
    begin: Callable[[], None]
    """Write what the command writes first."""

    def parts(self) -> list[Path]:
        """Ledgers of the shard."""
        return sorted(self.root.glob("shards/*/ledger-*.sqlite"))


@pytest.fixture
def stored(
    tmp_path: Path, snapshot: Path, preset: Path, server: StubThread, monkeypatch: pytest.MonkeyPatch
) -> Stored:
    fsspec = pytest.importorskip("fsspec", reason="the extra `ray` is not installed")
    assert fsspec is not None
    monkeypatch.chdir(tmp_path)
    row = {"id": "mill", "system": "ada", "task_id": "mill", "report": REPORT}
    Path("reports.jsonl").write_text(json.dumps(row))
    file: dict[str, Any] = {
        "reports": ["reports.jsonl"],
        "snapshot": str(snapshot),
        "protocols": ["fact"],
        "out": "out",
        "sweep": {"judges": [str(preset)]},
    }
    Path("sweep.yaml").write_text(json.dumps(file))
    options = {"base_urls": [server.url]}
    sweep = open_sweep(Path("sweep.yaml"), options)
    storage = RemoteFolder(f"file://{tmp_path}/stored")

    def tasks(workers: int) -> list[ShardTask]:
        return tasks_of(sweep, workers, options, {}, storage)

    [task] = tasks(1)
    return Stored(tmp_path / "stored", storage, tasks, task, lambda: shard_storage.check(storage, sweep))


def test_a_shard_is_evaluated_once_and_fetched_with_its_results(
    stored: Stored, server: StubThread, tmp_path: Path
) -> None:
    missing = evaluate_shard(stored.task)
    assert missing is not None and "it lacks what the command wrote into it" in missing
    assert not server.chats
    stored.begin()
    assert evaluate_shard(stored.task) is None
    n_chats = len(server.chats)
    assert n_chats > 0
    assert evaluate_shard(stored.task) is None
    assert len(server.chats) == n_chats
    names = sorted(
        path.relative_to(stored.root).as_posix() for path in stored.root.rglob("*") if path.is_file()
    )
    shard = re.escape(f"shards/{stored.task.shard}")
    expected = (
        r"nodes/.+",
        shard + r"/ledger-[0-9a-f]{32}\.sqlite",
        shard + r"/results\.zip",
        r"sweep\.yaml",
    )
    assert len(names) == len(expected), names
    assert all(map(re.fullmatch, expected, names)), names
    # What the command fetches is the folder that `--shard` makes; fetching it again changes nothing.
    assert shard_storage.fetch(stored.storage, stored.task.shard, tmp_path / "fetched").replies == n_chats
    assert shard_storage.fetch(stored.storage, stored.task.shard, tmp_path / "fetched").replies == 0
    assert is_finished(RunStore(tmp_path / "fetched/runs/stub"))
    # With another number of shards, the replies are there, in the sweep's ledger too.
    [other] = stored.tasks(2)
    assert other.of != stored.task.of
    assert evaluate_shard(other) is None
    assert len(server.chats) == n_chats
    with Ledger.open(tmp_path / "out/ledger.sqlite", read_only=True) as ledger:
        assert ledger.stats().replies == n_chats


def test_a_failed_upload_is_tried_again(
    stored: Stored, server: StubThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    local: Any = pytest.importorskip("fsspec.implementations.local").LocalFileSystem
    moved, n_failures = local.mv, 2

    def failing(self: Any, path: str, target: str) -> None:
        nonlocal n_failures
        if "ledger-" in target and n_failures:
            n_failures -= 1
            raise OSError("no space left")
        moved(self, path, target)

    monkeypatch.setattr(local, "mv", failing)
    monkeypatch.setattr(remote_folder, "UPLOAD_SECONDS", 0.02)
    stored.begin()
    assert evaluate_shard(stored.task) is None
    assert n_failures == 0
    [part] = stored.parts()
    with Ledger.open(part, read_only=True) as ledger:
        assert ledger.stats().replies == len(server.chats)
    part.unlink()
    for results in stored.root.glob("shards/*/results.zip"):
        results.unlink()
    n_failures = 1 << 30
    monkeypatch.setattr(remote_folder, "PATIENCE_SECONDS", 0.1)
    problem = evaluate_shard(stored.task)
    assert problem is not None and "cannot be written (no space left)" in problem
    assert not stored.parts() and not list(stored.root.glob("shards/*/results.zip"))


def test_damaged_files_in_the_storage_are_named(stored: Stored) -> None:
    stored.begin()
    assert evaluate_shard(stored.task) is None
    [results] = stored.root.glob("shards/*/results.zip")
    content = results.read_bytes()
    results.write_bytes(content[:-30])
    problem = evaluate_shard(stored.task)
    assert problem is not None and f"shards/{stored.task.shard}/results.zip: damaged" in problem
    results.write_bytes(content)
    results.with_name(f"ledger-{'0' * 32}.sqlite").write_text("something else" * 100)
    problem = evaluate_shard(stored.task)
    assert problem is not None and "not a ledger" in problem


@pytest.mark.parametrize(
    ("name", "kind", "problem"),
    [
        ("ledger.sqlite", stat.S_IFREG, "'ledger.sqlite' is not a file of a shard's results"),
        ("../../runs/x.yaml", stat.S_IFREG, "'../../runs/x.yaml' is not a file of"),
        ("runs/../x/x.yaml", stat.S_IFREG, "'runs/../x/x.yaml' is not a file of"),
        ("runs/stub/claims/x.jsonl", stat.S_IFLNK, "'runs/stub/claims/x.jsonl' is a link"),
        ("runs/stub/claims/x.jsonl", stat.S_IFREG, "is packed more than 200 times"),
    ],
)
def test_an_archive_with_other_files_is_refused_by_name(
    stored: Stored, tmp_path: Path, name: str, kind: int, problem: str
) -> None:
    stored.begin()
    assert evaluate_shard(stored.task) is None
    folder = tmp_path / "fetched"
    shard_storage.fetch(stored.storage, stored.task.shard, folder)
    [results] = stored.root.glob("shards/*/results.zip")
    before = run_files(folder)
    with zipfile.ZipFile(results, "a", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(name)
        entry.create_system, entry.external_attr, entry.compress_type = 3, kind << 16, zipfile.ZIP_DEFLATED
        archive.writestr(entry, b"\0" * (5_000_000 if "packed" in problem else 5))
    with pytest.raises(RunError, match=re.escape(problem)):
        shard_storage.fetch(stored.storage, stored.task.shard, folder)
    assert run_files(folder) == before  # nothing was removed or unpacked


def test_a_move_that_leaves_the_old_file_is_an_error(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local: Any = pytest.importorskip("fsspec.implementations.local").LocalFileSystem
    (tmp_path / "one").write_text("old")
    (tmp_path / "two").write_text("newer")
    stored.storage.put(tmp_path / "one", "x")

    def kept(self: Any, path: str, target: str) -> None:
        del self, path, target

    monkeypatch.setattr(local, "mv", kept)
    with pytest.raises(UserError, match=r"x: cannot be written \(this file system does not replace a file"):
        stored.storage.put(tmp_path / "two", "x")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "the URL is empty"),
        (" ", "the URL is empty"),
        ("ftp://u:sekret@[x/y", "not a URL"),
        *(
            (url, "give the password in fsspec's configuration")
            for url in ("ftp://u:sekret@host/x", "simplecache::sftp://u:sekret@host/x")
        ),
    ],
)
def test_a_url_that_cannot_be_used_is_one_line_without_its_password(url: str, problem: str) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(ConfigError, match=problem) as caught:
        RemoteFolder(url)
    assert "sekret" not in str(caught.value)
