"""Storage of a sweep's shards for machines without a shared file system.

    sweep.yaml                             copy of the sweep file
    ledger.sqlite                          replies that the sweep had before, which the shards read
    nodes/<host>                           empty; written by a worker before its first call
    shards/<i>-of-<n>/ledger-<id>.sqlite   replies of one attempt at a shard
    shards/<i>-of-<n>/results.zip          the shard's other files, once it is evaluated

Invariants: each attempt at a shard writes a ledger of its own, so that a worker that was thought lost overwrites
nothing, and no such ledger is deleted. They are merged by key, so that reading one again changes nothing.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from indexes.zips import DAMAGED, ZipRefused, checked_entries, pack_file, unpack_entry
from local_judge.base.errors import RunError, one_line
from local_judge.base.files import open_file
from local_judge.ledger.file import connect_to_read
from local_judge.ledger.merge import Merged, merge
from local_judge.runs.execution.job import unwatched
from local_judge.runs.storage.seal import is_run_file
from local_judge.runs.storage.store import MANIFEST
from local_judge.runs.sweeps.folder import KEPT, LEDGER, RUNS, SHARDS, SWEEP
from local_judge.runs.sweeps.remote_folder import RemoteFolder
from local_judge.runs.sweeps.sharding import Shard, run_shard
from local_judge.runs.sweeps.sweep import Sweep

_SWEEP = "sweep.yaml"
_RESULTS = "results.zip"
_PART = re.compile(r"shards/([0-9]+-of-[0-9]+)/ledger-[0-9a-f]{32}\.sqlite")


def check(storage: RemoteFolder, sweep: Sweep) -> None:
    """Write the copy of the sweep file, without which no worker begins.

    Raises:
        UserError: the storage cannot be reached or written.
    """
    storage.put(sweep.file.path, _SWEEP)


def begin(storage: RemoteFolder, sweep: Sweep, n: int) -> None:
    """Merge the replies in shards of another number than `n` into the sweep's ledger, and upload it.

    Raises:
        UserError: the storage cannot be read or written.
        LedgerError: a ledger cannot be read.
    """
    with TemporaryDirectory(prefix="local-judge-") as temporary:
        folder = Path(temporary)
        names = [name for shard, name in _ledgers(storage) if not shard.endswith(f"-of-{n}")]
        if storage.has(LEDGER):
            names.append(LEDGER)
        if names:
            merge(sweep.ledger, [storage.get(name, folder / Path(name).name) for name in names])
        if sweep.ledger.exists():
            with closing(connect_to_read(sweep.ledger)) as ledger:
                storage.put_ledger(ledger, folder / "copy", LEDGER)


def fetch(storage: RemoteFolder, shard: str, folder: Path) -> Merged:
    """Bring the folder of a shard, given by its name, to the state in the storage; its ledger only gets replies.

    Raises:
        UserError: the storage cannot be read.
        LedgerError: a ledger cannot be read.
    """
    with TemporaryDirectory(prefix="local-judge-") as temporary:
        names = [name for part, name in _ledgers(storage) if part == shard]
        parts = [storage.get(name, Path(temporary) / Path(name).name) for name in names]
        results = f"{SHARDS}/{shard}/{_RESULTS}"
        if storage.has(results):
            packed = storage.get(results, Path(temporary) / _RESULTS)
            try:
                with open_file(packed) as file, zipfile.ZipFile(file) as archive:
                    names = sorted(checked_entries(archive, file.seek(0, 2), _problem))
                    shutil.rmtree(folder / RUNS, ignore_errors=True)
                    for name in names:
                        if problem := unpack_entry(archive, name, folder / name):
                            raise ZipRefused(f"{name}: {problem}")
            except (*DAMAGED, ZipRefused, OSError) as error:
                raise RunError(
                    f"storage {storage.url}: {results}: damaged ({one_line(error)}); remove it, and the same "
                    "command makes it again from the ledger"
                ) from None
        return merge(folder / LEDGER, parts)


def _ledgers(storage: RemoteFolder) -> list[tuple[str, str]]:
    """Return shard and name of all ledgers of attempts."""
    return [(found[1], name) for name in storage.names(SHARDS) if (found := _PART.fullmatch(name))]


def _is_result(name: str) -> bool:
    """Check whether a file of a shard's folder belongs into its archive: not its ledger, nor a temporary file."""
    if any(part.startswith(".") for part in name.split("/")):
        return False
    folder, _, below = name.partition("/")
    run, _, file = below.partition("/")
    if folder not in (RUNS, KEPT):
        return name in (SWEEP, _SWEEP)
    return file == MANIFEST or is_run_file(file) if file else run.endswith(".yaml")


def _problem(entry: zipfile.ZipInfo) -> str | None:
    return None if _is_result(entry.filename) else "is not a file of a shard's results"


def evaluate(storage: RemoteFolder, sweep: Sweep, shard: Shard) -> None:
    """Evaluate a shard in a temporary folder from its state in the storage, and upload its ledger and results.

    Raises:
        UserError: the storage cannot be reached, read or written, or lacks the sweep file.
        UserError, EngineError, LedgerError: as `run_shard`.
    """
    host = socket.gethostname()
    if not storage.has(_SWEEP):
        raise RunError(f"storage {storage.url}: on node {host} it lacks what the command wrote into it")
    with TemporaryDirectory(prefix="local-judge-") as temporary:
        root = Path(temporary)
        (root / "empty").touch()
        storage.put(root / "empty", f"nodes/{host}")
        sweep = replace(sweep, ledger=root / LEDGER)
        if storage.has(LEDGER):
            storage.get(LEDGER, root / LEDGER)
        folder = root / SHARDS / shard.name
        fetch(storage, shard.name, folder)
        ledger = f"{SHARDS}/{shard.name}/ledger-{uuid4().hex}.sqlite"
        with storage.uploaded(folder / LEDGER, ledger, root / "copy"):
            asyncio.run(run_shard(replace(sweep, root=root), shard, unwatched))
        packed = root / _RESULTS
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                name = path.relative_to(folder).as_posix()
                if path.is_file() and _is_result(name):
                    pack_file(archive, path, name)
        storage.put(packed, f"{SHARDS}/{shard.name}/{_RESULTS}")
