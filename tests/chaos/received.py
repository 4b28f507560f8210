"""Run directories and bundles from somebody who is not to be trusted, given to the commands that read them.

Invariant: whatever the files hold, a command ends with 0, 1, 3 or 4, says what is wrong in one line (`audit`: in its
table), and takes no more memory than `MEMORY` and no longer than `SECONDS`.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, cast

from local_judge.runs.proof.bundle import INDEX
from local_judge.runs.storage.items import Index, digest_of, index_of
from local_judge.runs.storage.seal import run_files, sealed_as, unsealed
from local_judge.runs.storage.store import MANIFEST, RunStore

from .trial import Trial

MEMORY = 2 << 30
"""Bytes of address space, which numpy and pyarrow reserve without using it."""
SECONDS = 60.0

STRANGE: tuple[Any, ...] = (
    *(None, True, -1, 10**400, float("nan"), float("inf"), 1e308, [], {}, [[]], {"": None}),
    *(
        "",
        "\ud800",
        "\0",
        "../../up",
        "/dev/zero",
        "/etc/passwd",
        "FIFO",
        "file:///etc/passwd",
        "\x1b[2J",
        "a" * 100_000,
    ),
    *(["x"] * 1000, {str(n): n for n in range(1000)}),
)
"""Values in another value's place; FIFO becomes the path of one."""

READERS = (
    ("show", "run"),
    ("show", "run", "--all-scores", "--json"),
    ("show", "run", "--report", "a", "--claims"),
    ("report", "run", "--out", "page.html"),
    ("audit", "run"),
    ("audit", "run", "--json"),
    ("bundle", "run", "--out", "new.ljz"),
    ("rescore", "run"),
    ("export", "run", "out", "--format", "csv"),
    ("export", "run", "out", "--format", "inspect"),
    ("show", "run", "--verticals"),
)


def received(trial: Trial) -> None:
    """A run or a bundle is changed, sealed again or not, and read."""
    trial.bench.prepare(trial.bench.commands["bundle"], trial.cwd)
    os.mkfifo(trial.folder / "fifo")
    if trial.rng.random() < 0.65:
        _change_run(trial, trial.cwd / "run")
        readings = trial.rng.sample(READERS, 2)
    else:
        shutil.copy(trial.bench.baseline("bundle").cwd / "run.ljz", trial.cwd / "run.ljz")
        _change_bundle(trial, trial.cwd / "run.ljz")
        readings = [("audit", "run.ljz")]
    outside = set(trial.folder.iterdir())
    for reading in readings:
        _read(trial, reading)
    written = set(trial.folder.iterdir()) - outside
    if written:
        trial.violate(f"written outside the working directory: {sorted(path.name for path in written)}")


def _read(trial: Trial, reading: tuple[str, ...]) -> None:
    process = trial.start(reading, {"CHAOS_MEMORY": str(MEMORY)})
    ended = process.finish(SECONDS)
    trial.done.append(f"{' '.join(reading[:2])}: exit {ended.code}")
    one_line = ended.code != 1 or len(ended.err.splitlines()) == 1 or (ended.out and not ended.err)
    if ended.code not in (0, 1, 3, 4) or "Traceback" in ended.out + ended.err or not one_line:
        trial.violate(f"{' '.join(reading)}: {ended.brief()}; standard error: {ended.err[-1500:]!r}")
    elif "memory" in ended.err.casefold():
        trial.violate(f"{' '.join(reading)} needs more than {MEMORY >> 20} MiB: {ended.brief()}")
    elif ended.code:
        trial.settle("refused" if ended.code == 1 else "typed")


def _change_run(trial: Trial, run: Path) -> None:
    rng = trial.rng
    path = rng.choice(
        [path for path in sorted(run.rglob("*")) if path.is_file() and path.suffix.startswith(".json")]
    )
    if rng.random() < 0.5:
        path = run / MANIFEST
    name = path.relative_to(run).as_posix()
    if rng.random() < 0.25:
        how = rng.choice(sorted(_PLACES))
        trial.done.append(f"{name}: {how}")
        path.unlink()
        _PLACES[how](path)
        return
    content = _changed(trial, name, path.read_bytes())
    path.write_bytes(content)
    if rng.random() < 0.7:
        trial.done.append("sealed again")
        _seal(run, name)


_PLACES: Mapping[str, Callable[[Path], Any]] = {
    "a FIFO": os.mkfifo,
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": Path.mkdir,
    "empty": Path.touch,
    "8 GB of zeros": lambda path: path.touch() or os.truncate(path, 8 << 30),
    "missing": lambda _: None,
}


def _changed(trial: Trial, name: str, content: bytes) -> bytes:
    """A JSON or JSONL file with a strange value, or other bytes."""
    rng = trial.rng
    if rng.random() < 0.15:
        trial.done.append(f"{name}: deep")
        return b"[" * 200_000 + content
    lines = [content] if name.endswith(".json") else content.splitlines(keepends=True)
    place = rng.randrange(len(lines)) if lines else 0
    try:
        value = json.loads(lines[place])
    except (ValueError, IndexError):
        return content + b"\n{"
    value, what = _with_strange_value(trial, value)
    trial.done.append(f"{name}: {what}")
    lines[place] = json.dumps(value).encode() + b"\n"
    return b"".join(lines)


def _with_strange_value(trial: Trial, value: Any) -> tuple[Any, str]:
    """The value with one strange part, and a description; the top itself now and then."""
    rng: Random = trial.rng
    strange = rng.choice(STRANGE)
    if strange == "FIFO":
        strange = str(trial.folder / "fifo")
    shown = repr(strange)[:40]
    places: list[tuple[Any, Any, str]] = []

    def walk(part: Any, path: str) -> None:
        items: list[tuple[Any, Any]] = []
        if isinstance(part, dict):
            items = list(cast("dict[Any, Any]", part).items())
        elif isinstance(part, list):
            items = list(enumerate(cast("list[Any]", part)))
        for key, inner in items:
            places.append((cast("Any", part), key, f"{path}.{key}"))
            walk(inner, f"{path}.{key}")

    walk(value, "")
    if not places or rng.random() < 0.03:
        return strange, f"all is {shown}"
    holder, key, path = rng.choice(places)
    if rng.random() < 0.15 and isinstance(holder, dict):
        del holder[key]
        return value, f"{path} is missing"
    holder[key] = strange
    return value, f"{path} is {shown}"


def _seal(run: Path, name: str) -> None:
    """Seal a run again, as someone who cheats would; one that cannot be sealed stays as it is."""
    try:
        manifest = unsealed(json.loads((run / MANIFEST).read_bytes()))
        if (run / index_of(name)).exists() and name.endswith(".jsonl"):
            (run / index_of(name)).write_bytes(Index.of(run / name).content)
        files = {one: digest_of((run / one).read_bytes()) for one in run_files(run)}
        RunStore(run).write_json(MANIFEST, sealed_as(manifest, files))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return


def _change_bundle(trial: Trial, bundle: Path) -> None:
    rng = trial.rng
    if rng.random() < 0.2:
        content = bytearray(bundle.read_bytes())
        trial.done.append("cut" if rng.random() < 0.5 else "bytes changed")
        if trial.done[-1] == "cut":
            del content[rng.randrange(len(content)) :]
        for _ in range(5):
            if content:
                content[rng.randrange(len(content))] = rng.randrange(256)
        bundle.write_bytes(content)
        return
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    trick = rng.choice(["value", "value", "value", "bomb", "name", "link", "twice"])
    name = rng.choice([name for name in sorted(files) if ".json" in name])
    extra: list[tuple[zipfile.ZipInfo | str, bytes]] = []
    if trick == "value":
        files[name] = _changed(trial, name, files[name])
    elif trick == "bomb":
        extra = [(f"pages/{n}.txt", b"\0" * (50 << 20)) for n in range(8)]
    elif trick == "name":
        extra = [
            (
                rng.choice(["../up", "/tmp/chaos-up", "run/../../up", "a\\..\\up", "C:up", "x" * 60_000]),
                b"{}",
            )
        ]
    elif trick == "link":
        link = zipfile.ZipInfo("run/link.jsonl")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        extra = [(link, b"/etc/passwd")]
    else:
        extra = [(name, files[name])]
    if trick != "value":
        trial.done.append(f"a bundle with a {trick}")
    _pack(bundle, files, extra, honest=rng.random() < 0.3)


def _pack(
    bundle: Path, files: dict[str, bytes], extra: list[tuple[zipfile.ZipInfo | str, bytes]], *, honest: bool
) -> None:
    """Write a bundle; its digests fit unless it is `honest` about the change."""
    index = files.pop(INDEX)
    if not honest:
        try:
            listed = json.loads(index)
            listed["files"] = {name: digest_of(content) for name, content in files.items()}
            listed["files"] |= {name: digest_of(content) for name, content in extra if isinstance(name, str)}
            index = json.dumps(listed).encode()
        except (ValueError, TypeError, RecursionError):
            pass
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, content in [(INDEX, index), *files.items(), *extra]:  # names may repeat
            archive.writestr(name, content)
        archive.comment = b"sha256:" + 64 * b"0"
    whole = bundle.read_bytes()[:-71]
    bundle.write_bytes(whole + b"sha256:" + digest_of(whole).encode())
