"""Weights from a model hub, at a pinned commit.

Invariant: nothing is taken from a moving branch, and no file that could hold code is taken at all.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from serving.errors import FetchFailed, MissingExtra

DATA_FILES = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja"]
"""What a checkpoint is made of; pickled weights (`*.bin`, `*.pt`) and Python files stay behind."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


def download_file(repository: str, revision: str | None, file: str, folder: Path) -> Path:
    """`file` of `repository` at `revision`, in `folder`; an interrupted download goes on.

    Raises:
        MissingExtra: huggingface_hub is not installed.
        FetchFailed: the hub or the file cannot be reached, or the revision is not a commit.
    """
    commit, hub = _pinned(repository, revision), _library()
    try:
        return Path(hub.hf_hub_download(repository, file, revision=commit, local_dir=str(folder)))
    except Exception as error:
        raise _failed(f"{repository}/{file}", commit, error) from error


def download_checkpoint(repository: str, revision: str | None, folder: Path) -> None:
    """The data files of `repository` at `revision`, into `folder`; an interrupted download goes on.

    Raises:
        MissingExtra: huggingface_hub is not installed.
        FetchFailed: the hub cannot be reached, or the revision is not a commit.
    """
    commit, hub = _pinned(repository, revision), _library()
    try:
        hub.snapshot_download(
            repository,
            revision=commit,
            local_dir=str(folder),
            allow_patterns=DATA_FILES,
            ignore_patterns=["original/*", "metal/*"],
        )
    except Exception as error:
        raise _failed(repository, commit, error) from error


def _pinned(repository: str, revision: str | None) -> str:
    if revision is None or not _COMMIT.fullmatch(revision):
        raise FetchFailed(
            f"{repository}: no commit is pinned; copy the preset's file, set weights.revision to a commit of "
            "40 hex digits, and give that file instead of the name"
        )
    return revision


def _library() -> Any:
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise MissingExtra("fetching from a model hub needs: pip install huggingface_hub") from error


def _failed(what: str, commit: str, error: Exception) -> FetchFailed:
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return FetchFailed(f"{what} at {commit[:12]}: {reason[:300]}; check the network and HF_HUB_OFFLINE")
