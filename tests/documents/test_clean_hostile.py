"""Texts made to be slow or to be torn apart. Work is counted in executed lines, not in seconds."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from local_judge.documents import Document, parse_report
from local_judge.documents import clean as module
from local_judge.documents.clean import clean
from local_judge.documents.cleaning.model import applied

FOLDER = str(Path(module.__file__ or "").parent)

HOSTILE: dict[str, Callable[[int], str]] = {
    "opening brackets": lambda n: "[" * n + " [1]",
    "brackets of every kind": lambda n: "([{（【" * (n // 5) + "[1]",
    "brackets around one mark": lambda n: "(" * (n // 2) + "[1]" + ")" * (n // 2),
    "brackets around many": lambda n: ("((((((((([1])))) " + "[" * 80 + " ") * (n // 100),
    "one mark, many blanks": lambda n: "x [1]" + " " * n + "y [2]" + " " * n + "z",
    "marks without end": lambda n: "[1]" * (n // 30),
    "lines of marks": lambda n: "[1]\n" * (n // 40),
    "links never closed": lambda n: "[a](https://a.example " * (n // 22),
    "introductions": lambda n: "source: see " * (n // 12) + "[1]",
    "rules": lambda n: "[1]\n\n---\n\n" * (n // 100),
    "emphasis": lambda n: "*" * (n // 2) + "[1]" + "*" * (n // 2),
    "lists of references": lambda n: "x [1]\n\n## References\n\n[1] https://a.example\n\n" * (n // 500),
}


def lines_executed(document: Document) -> int:
    """How many lines of the cleaning's own code run."""
    count = 0

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return local

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(FOLDER) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        clean(document)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", HOSTILE)
def test_work_grows_with_the_text_and_not_faster(name: str) -> None:
    small, large = (lines_executed(parse_report(HOSTILE[name](n))) for n in (5_000, 20_000))
    assert large <= 4.5 * small + 1000


def test_a_megabyte_of_brackets_is_cheap() -> None:
    text = "[" * 250_000 + "(" * 250_000 + " [1] " + ")" * 250_000 + "]" * 250_000
    document = parse_report(text)
    # One mark: what stands around it is looked at once, in a window of its own.
    assert lines_executed(document) < 1000
    cleaned = clean(document)
    assert applied(text, cleaned.removed) == cleaned.text


@pytest.mark.parametrize("name", HOSTILE)
def test_every_change_is_accounted_for(name: str) -> None:
    document = parse_report(HOSTILE[name](3_000))
    cleaned = clean(document, chatter=True)
    assert applied(document.text, cleaned.removed) == cleaned.text


@pytest.mark.parametrize(
    "text",
    [
        "x [1",
        "x ([1]",
        "x [1])",
        "x [a](https://a.example",
        "```\nx [1]",
        "| [1] |",
        "<a href='https://a.example'>x",
    ],
)
def test_what_is_never_closed_is_harmless(text: str) -> None:
    document = parse_report(text)
    cleaned = clean(document)
    assert applied(text, cleaned.removed) == cleaned.text
    assert "x" in cleaned.text or "|" in cleaned.text
