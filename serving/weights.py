"""Places, verification and identity of model weights on this machine.

Invariants: a checkpoint is used only if all of its tensors are there, and a file only if its SHA-256 is the pinned one.
Nothing is downloaded here, and the hub's own cache is only read. Checkpoints are taken at one commit: the preset pins
it, or the first fetch records it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

from platformdirs import user_cache_path

from serving.checkpoints import checkpoint_problem
from serving.errors import DigestMismatch, FetchFailed, MissingExtra, PresetError, WeightsMissing
from serving.presets import Preset

COMMIT_RECORD = "commit.txt"
"""File in the folder of a repository that holds the commit to which the first fetch of an unpinned preset resolved."""

COMMIT_PATTERN = re.compile(r"[0-9a-f]{40}")


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
    own = repository_folder(preset) / (_commit(preset) or "unpinned")
    cached = None if own.exists() else find_in_hub_cache(preset)
    return own if cached is None or checkpoint_problem(cached) is not None else cached


def weights_commit(preset: Preset) -> str | None:
    """Return the commit of a preset's weights: the pinned one, or the recorded one if its weights are here."""
    if preset.weights.revision is not None:
        return preset.weights.revision
    commit = recorded_commit(preset)
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
    return preset.weights.revision or recorded_commit(preset)


def repository_folder(preset: Preset) -> Path:
    """Return the folder of a preset's repository, which holds a folder for each commit."""
    return models_folder() / preset.weights.hub.replace("/", "--")


def recorded_commit(preset: Preset) -> str | None:
    """Return the commit that an earlier fetch of this repository recorded; None without an intact record."""
    return _read_commit(repository_folder(preset) / COMMIT_RECORD)


def _read_commit(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return text if COMMIT_PATTERN.fullmatch(text) else None


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
        cached = find_in_hub_cache(preset)
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


def find_in_hub_cache(preset: Preset) -> Path | None:
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


def commit_in_hub_cache(preset: Preset) -> str | None:
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
    digest = sha256_of(path)
    with contextlib.suppress(OSError):  # a read-only folder: the file is hashed again next time
        note.write_text(json.dumps({"sha256": digest, "state": state}), encoding="utf-8")
    return digest


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex, computed now."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
