"""The folder that an index lies in.

Invariant: a folder with the final name and an `index.json` is a whole index. It is written beside its final place and
renamed when it is done; what a crash leaves behind has another name and is removed by the next build.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError

from indexes.search.errors import IndexDamaged, IndexExists, IndexMissing
from indexes.search.model import IndexInfo
from local_judge.base.files import MOST_JSON, open_file, read_file

INFO = "index.json"
FORMAT_VERSION = 1

Info = TypeVar("Info", bound=IndexInfo)


@contextmanager
def building(folder: Path) -> Generator[Path]:
    """An empty folder to build in, which takes the place of `folder` if the block ends well.

    Raises:
        IndexExists: `folder` is there and is neither an index nor empty.
    """
    if folder.exists() and not is_replaceable(folder):
        raise IndexExists(f"{folder} exists and is not a search index; choose another folder or remove it")
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def is_replaceable(folder: Path) -> bool:
    """Check whether a folder is an index or empty."""
    return folder.is_dir() and ((folder / INFO).is_file() or not any(folder.iterdir()))


def sizes(folder: Path) -> dict[str, int]:
    """Names and sizes of the files of an index that is being built, in order of name."""
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.name != INFO}


def write_info(folder: Path, info: IndexInfo) -> None:
    """Write `index.json`, the last file of an index."""
    text = json.dumps(info.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, indent=1)
    (folder / INFO).write_text(text + "\n", encoding="utf-8")


def read_info(folder: Path, kind: str, model: Callable[[Any], Info], remedy: str) -> Info:
    """Read `index.json` and compare the sizes of the files with it.

    Args:
        folder: of the index.
        kind: that it must have.
        model: makes the info of its fields.
        remedy: advice if it is missing, in words.

    Raises:
        IndexMissing: there is no such folder.
        IndexDamaged: it holds no whole index of that kind and of a format that is known here.
    """
    if not folder.is_dir():
        raise IndexMissing(f"no {kind} index at {folder}; {remedy}")
    path = folder / INFO
    try:
        fields: Any = json.loads(read_file(path, MOST_JSON))
        if fields["kind"] != kind or fields["format_version"] != FORMAT_VERSION:
            raise IndexDamaged(
                f"{path} is of kind {fields['kind']!r}, format {fields['format_version']}; "
                f"{kind!r}, format {FORMAT_VERSION} is read here; {remedy}"
            )
        info = model(fields)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ValidationError):
        raise IndexDamaged(f"{path} is not the description of a whole index; {remedy}") from None
    for name, size in info.files.items():
        try:
            found = (folder / name).stat().st_size
        except OSError:
            raise IndexDamaged(f"{folder / name} is missing; {remedy}") from None
        if found != size:
            raise IndexDamaged(f"{folder / name} has {found:,} bytes, not {size:,}; {remedy}")
    return info


def holds_array(path: Path, dtype: type[np.generic], n: int) -> bool:
    """Check whether a file is exactly the output of `numpy.save` for `n` values of a type."""
    head = io.BytesIO()
    write_npy_header(head, np.dtype(dtype), n)
    header = head.getvalue()
    with open_file(path) as file:
        return (
            file.read(len(header)) == header
            and path.stat().st_size == len(header) + n * np.dtype(dtype).itemsize
        )


def write_npy_header(file: Any, dtype: np.dtype[Any], n: int) -> None:
    """The first bytes of what `numpy.save` writes for an array of `n` values, which are then appended."""
    np.lib.format.write_array_header_1_0(
        file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n,)}
    )
