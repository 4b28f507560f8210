"""Chunks cover a text, in order, on its boundaries."""

from __future__ import annotations

import random
import time

import pytest

from indexes.chunk import MAX_SENTENCE, TARGET, chunk_spans, make_chunks

_ALPHABET = [
    "word",
    " ",
    "  ",
    "\n",
    "\n\n",
    ". ",
    "! ",
    "。",
    "，",
    "中文",
    "é",
    "😀",
    "# ",
    "| a | b |\n",
    "\u3000",
    "x" * 700,
]


def assert_covers(text: str) -> None:
    spans = chunk_spans(text)
    end = 0
    for start, stop in spans:
        assert start >= end
        assert not text[end:start].strip()
        assert text[start:stop] == text[start:stop].strip()
        assert 0 < stop - start <= max(TARGET, MAX_SENTENCE)
        end = stop
    assert not text[end:].strip()
    for chunk in make_chunks(text, "0123456789abcdef" * 4, spans):
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.id == f"0123456789ab:{chunk.start}-{chunk.end}"


@pytest.mark.parametrize("seed", range(150))
def test_random_texts_are_covered(seed: int) -> None:
    rng = random.Random(seed)
    assert_covers("".join(rng.choices(_ALPHABET, k=rng.randrange(0, 800))))


def test_nothing_gives_nothing() -> None:
    assert chunk_spans("") == []
    assert chunk_spans(" \n\u3000\n ") == []


def test_ends_at_sentences() -> None:
    text = "Dr. Smith et al. measured 3.14 units in the U.S. last year. " * 60
    assert_covers(text)
    spans = chunk_spans(text)
    # 59 characters and a blank: 16 sentences take 16 * 60 - 1 = 959, a 17th would pass 1,000.
    assert [stop - start for start, stop in spans] == [959, 959, 959, 719]


def test_chinese_ends_at_full_stops() -> None:
    text = "深度研究报告的每一个论断都应当能够追溯到它的来源。" * 100
    assert_covers(text)
    assert all(text[stop - 1] == "。" for _, stop in chunk_spans(text))
    assert len(chunk_spans(text)) == 3  # 25 characters each: 40 sentences, 40, 20


def test_heading_goes_with_what_follows() -> None:
    paragraph = "A sentence about the matter at hand. " * 16  # 591 characters
    text = f"{paragraph}\n\n## Next part\n\n{paragraph}"
    spans = chunk_spans(text)
    assert [text[start : start + 7] for start, _ in spans] == ["A sente", "## Next"]


def test_heading_is_not_left_at_the_end() -> None:
    text = "Short opening.\n\n## Part\n\n" + "x" * 995
    assert [text[start:stop][:7] for start, stop in chunk_spans(text)] == ["Short o", "## Part"]
    text = "Short opening.\n\n## Part\n\n" + "y" * 1_495  # 9 more with its heading: over `MAX_SENTENCE`
    assert [text[start:stop][:7] for start, stop in chunk_spans(text)] == ["Short o", "## Part", "y" * 7]


def test_table_rows_stay_whole() -> None:
    text = "\n".join(f"| {year} | a value. with stops. | {year * 3} |" for year in range(1900, 2000))
    assert_covers(text)
    for start, stop in chunk_spans(text):
        assert text[start] == "|"
        assert text[stop - 1] == "|"


@pytest.mark.parametrize("unit", ["word ", "x", "Sentence one. ", "中"])
def test_one_line_of_megabytes(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.perf_counter()
    spans = chunk_spans(text)
    assert time.perf_counter() - started < 10
    assert sum(stop - start for start, stop in spans) <= len(text)
    assert spans[-1][1] == len(text.rstrip())
