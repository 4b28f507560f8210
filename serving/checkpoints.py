"""Completeness of checkpoint folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json")

_LONGEST_HEADER = 100_000_000
"""Limit of a safetensors header in bytes, as in the safetensors library."""


def checkpoint_problem(folder: Path) -> str | None:
    """Return what a checkpoint folder lacks; None if it is complete.

    A folder is complete if it has a config, a tokenizer and all files of its safetensors index, or any safetensors file
    without an index, and each of them is as long as its header says.
    """
    if not any((folder / name).is_file() for name in ("config.json", "params.json")):
        return "it has no config.json"
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        return "it has no tokenizer"
    named: set[str] = set()
    for index in sorted(folder.glob("*.safetensors.index.json")):
        try:
            found = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            named.update(str(name) for name in found)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return f"{index.name} cannot be read"
    files = sorted(named) or sorted(path.name for path in folder.glob("*.safetensors"))
    if not files:
        return "it has no safetensors file"
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        return f"{missing[0]} is missing" + (f", and {len(missing) - 1} more" if len(missing) > 1 else "")
    cut = [name for name in files if not _whole(folder / name)]
    return f"{cut[0]} is cut off" if cut else None


def _whole(path: Path) -> bool:
    """Check whether a safetensors file has the length that its header gives.

    The file is the length of the header as a little-endian number of 8 bytes, the header as JSON with the offsets of
    each tensor, and the tensors (https://huggingface.co/docs/safetensors).
    """
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > _LONGEST_HEADER:
                return False
            header: dict[str, Any] = json.loads(stream.read(length))
        ends = [one["data_offsets"][1] for name, one in header.items() if name != "__metadata__"]
        return path.stat().st_size == 8 + length + max(ends, default=0)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
