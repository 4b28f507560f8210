"""What is fuzzed: an input as bytes, and what must hold whatever the bytes are.

Invariant: a check passes or raises; every error that the parser documents is caught inside the check, so that
whatever leaves it is a defect. A failing input is kept in the corpus under the digest of its bytes.
"""

from __future__ import annotations

import atexit
import cProfile
import functools
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis.strategies import SearchStrategy

from local_judge.base.errors import plain

CORPUS = Path(__file__).parent / "corpus"

Check = Callable[[bytes], None]
Shape = Callable[[int], bytes]
"""An input of about `n` repetitions of one construct."""


@dataclass(frozen=True)
class Target:
    """One parser, or a family of parsers that read the same bytes."""

    name: str
    inputs: SearchStrategy[bytes]
    check: Check
    shapes: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    """Inputs whose cost must grow no faster than n log n."""
    examples: int = 200
    """Of the ordinary test run."""
    unit: int = 60
    """Repetitions of the smallest input of a shape."""


def corpus(name: str) -> list[Path]:
    """The kept inputs of a target, in order of their names."""
    return sorted(path for path in (CORPUS / name).glob("*") if path.is_file())


def keep(name: str, data: bytes) -> Path:
    """Save a failing input, named by its digest."""
    path = CORPUS / name / hashlib.sha256(data).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def calls(check: Check, data: bytes) -> int:
    """Function calls, of Python and of C, that a check takes."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        check(data)
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def text_of(data: bytes) -> str:
    """Bytes as text that may hold lone surrogates, which JSON and Python sources can."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


@functools.cache
def scratch() -> Path:
    """A folder for the inputs of parsers that read files, removed at exit."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def written(name: str, data: bytes) -> Path:
    """A file of the scratch folder with these contents."""
    path = scratch() / name
    path.write_bytes(data)
    return path


def assert_one_line(error: Exception, longest: int | None = None) -> None:
    """A message for a user is one line once it is shown."""
    said = plain(str(error))
    assert said.strip(), f"{type(error).__name__} says nothing"
    assert len(said.splitlines()) == 1, f"{type(error).__name__} says several lines: {said[:200]!r}"
    assert longest is None or len(said) <= longest, f"{type(error).__name__} says {said[:200]!r}…"
