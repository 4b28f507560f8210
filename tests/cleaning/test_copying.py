"""Copies of a text: which citations they leave out, and whether they change anything else."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from local_judge.cleaning.copying import Differs, choices_of
from local_judge.documents import parse_report
from local_judge.documents.clean import clean, clean_as_chosen
from local_judge.documents.cleaning.choices import Option, stretches

DRB = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "reports" / "drb"

TEXT = "In 2024 [1] 1 of 3 said “no” [2].\n"
LIST = "\n## References\n\n[1] A: https://a.example\n[2] B: https://b.example\n"


def left_by(copy: str, text: str = TEXT) -> str:
    """What is left of a text after a copy of it; the reason where the copy is none."""
    document = parse_report(text + LIST)
    asked = [one for one in stretches(document) if one.block is not None]
    read = choices_of(copy, text, asked)
    return read.why if isinstance(read, Differs) else clean_as_chosen(document, read).text


@pytest.mark.parametrize(
    ("copy", "left"),
    [
        ("In 2024 1 of 3 said “no”.", "In 2024 1 of 3 said “no”.\n"),
        ("In 2024 1 of 3 said “no” [2].", "In 2024 1 of 3 said “no” [2].\n"),
        # Punctuation and blanks of a copy do not matter: those of the report stand.
        ("In 2024, 1 of 3 said 'no'", "In 2024 1 of 3 said “no”.\n"),
        (TEXT, TEXT),
    ],
)
def test_a_copy_says_what_is_citation(copy: str, left: str) -> None:
    assert left_by(copy) == left


@pytest.mark.parametrize(
    ("copy", "why"),
    [
        # A word more, a word less, another word, another number, another order, a beginning or an end of its own.
        ("In 2024 1 of all 3 said “no”.", "the copy has 'all3saidno' where the report has '3saidno'"),
        ("In 2024 1 of 3 “no”.", "the copy has 'no' where the report has 'saidno'"),
        ("In 2024 1 of 3 said “yes”.", "the copy has 'yes' where the report has 'no'"),
        ("In 2025 1 of 3 said “no”.", "the copy has '51of3saidno' where the report has '4'"),
        ("So: In 2024 1 of 3 said “no”.", "the copy has 'SoIn20241of3saidno' where the report has 'In2024'"),
        ("In 2024 1 of 3 said “no”. Done.", "the copy continues after the end: 'Done'"),
        ("", "the copy has '' where the report has 'In2024'"),
    ],
)  # fmt: skip
def test_a_copy_that_changes_words_is_refused(copy: str, why: str) -> None:
    assert left_by(copy).removesuffix(" (letters and digits alone)") == why


def test_what_repeats_is_read_in_time() -> None:
    # Each mark may be there or not, and every one looks like the word behind it.
    text = "1 [1] " * 400 + "\n"
    document = parse_report(text + LIST)
    asked = [one for one in stretches(document) if one.block is not None]
    begun = time.process_time()
    read = choices_of("1 " * 400, text, asked)
    assert time.process_time() - begun < 5
    assert not isinstance(read, Differs)
    assert [option.letters for option in read] == [""] * len(asked)


REFUSED = (1, 2, 4, 6, 9, 11, 14, 19, 22, 36, 37, 39, 46, 76, 79, 89)
"""Reports of which the published text lacks a word or has another (docs/appendix/benchmarks.md lists them). Of those in
that list 49 and 82 differ in rules and brackets, which are no words."""


@pytest.mark.skipif(not DRB.exists(), reason="real reports are not here")
def test_published_texts_as_copies() -> None:
    raw, published = (
        {row["id"]: row["article"] for row in map(json.loads, (DRB / name).read_text("utf-8").splitlines())}
        for name in ("raw.jsonl", "cleaned.jsonl")
    )
    refused: list[int] = []
    for name in sorted(raw):
        document = parse_report(raw[name])
        found = stretches(document)
        assert clean_as_chosen(document, [one.default for one in found]) == clean(document)
        # Lists of references go before: no copy has them.
        body = parse_report(clean_as_chosen(document, [Option("", ())] * len(found)).text)
        read = choices_of(published[name], body.text, stretches(body))
        refused += [name] if isinstance(read, Differs) else []
    assert tuple(refused) == REFUSED
