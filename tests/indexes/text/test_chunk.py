"""Chunks cover a text, in order, on its boundaries, with a little of each in the next."""

from __future__ import annotations

import random
import time

import pytest

from indexes.text.chunk import MAX_SENTENCE, OVERLAP, TARGET, chunk_spans, make_chunks

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


def assert_covers(text: str) -> list[tuple[int, int]]:
    """Check all that holds of the chunks of any text, and give their offsets."""
    spans = chunk_spans(text)
    last = (-1, 0)
    for start, stop in spans:
        assert last[0] < start
        assert last[1] < stop
        if start < last[1]:
            assert last[1] - start <= OVERLAP
            assert not text.startswith("#", start) or text[start - 1] != "\n"
        assert not text[last[1] : start].strip()
        assert text[start:stop] == text[start:stop].strip()
        assert 0 < stop - start <= max(TARGET, MAX_SENTENCE)
        last = (start, stop)
    assert not text[last[1] :].strip()
    chunks = make_chunks(text, "0123456789abcdef" * 4, spans)
    assert len({chunk.id for chunk in chunks}) == len(spans)
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.id == f"0123456789ab:{chunk.start}-{chunk.end}"
    return spans


@pytest.mark.parametrize("seed", range(150))
def test_random_texts_are_covered(seed: int) -> None:
    rng = random.Random(seed)
    assert_covers("".join(rng.choices(_ALPHABET, k=rng.randrange(0, 800))))


def test_nothing_gives_nothing() -> None:
    assert chunk_spans("") == []
    assert chunk_spans(" \n\u3000\n ") == []


def test_ends_at_sentences_and_repeats_the_last_of_them() -> None:
    text = "Dr. Smith et al. measured 3.14 units in the U.S. last year. " * 60
    # 59 characters and a blank: 16 sentences take 16 * 60 - 1 = 959, a 17th would pass 1,000. Three of them take
    # 3 * 60 - 1 = 179 of the 200 that may be repeated, so each chunk begins 16 - 3 = 13 sentences after the last.
    # It is 60 in all: 0 to 16, 13 to 29, 26 to 42, 39 to 55, 52 to 60.
    assert assert_covers(text) == [(0, 959), (780, 1739), (1560, 2519), (2340, 3299), (3120, 3599)]


@pytest.mark.parametrize("end", ["。", "！", "？", "。”"])
def test_chinese_ends_at_full_stops(end: str) -> None:
    sentence = f"深度研究报告的每一个论断都应当能够追溯到它的来源{end}"
    text = sentence * 100
    size = len(sentence)  # 25, or 26
    each, shared = 1_000 // size, 200 // size  # 40 and 8, or 38 and 7: 26 characters with a quotation mark
    spans = assert_covers(text)
    assert [start for start, _ in spans] == [n * (each - shared) * size for n in range(len(spans))]
    assert all(stop - start == each * size for start, stop in spans[:-1])


def test_unpunctuated_chinese_is_cut_after_a_clause() -> None:
    text = (
        "深度研究报告的每一个论断，" * 300
    )  # 13 characters each; of at most 1,500 that is 115 clauses, 1,495
    spans = assert_covers(text)
    assert [stop - start for start, stop in spans] == [1_495, 1_495, 910]


def test_numbers_are_not_cut_at_their_commas() -> None:
    text = "1,234,567" * 400
    spans = assert_covers(text)
    assert [stop - start for start, stop in spans] == [1_500, 1_500, 600]
    text = "12,345 and " * 400
    assert {(text[start], text[stop - 1]) for start, stop in assert_covers(text)} <= {
        ("1", "d"),
        ("1", "5"),
        ("a", "d"),
    }


def test_a_cut_keeps_signs_whole() -> None:
    assert assert_covers("e\u0301" * 1_000) == [(0, 1_500), (1_500, 2_000)]
    accents = "x" + "e\u0301" * 1_000  # here 1,500 would be between a letter and its accent
    assert assert_covers(accents) == [(0, 1_499), (1_499, 2_001)]
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"  # five code points, one sign
    assert [start % 5 for start, _ in assert_covers(family * 500)] == [0, 0]


def test_nothing_is_repeated_across_a_heading_that_opens_a_chunk() -> None:
    sentence = "A sentence about the matter at hand. "  # 37
    text = f"{sentence * 16}\n\n## Next part\n\n{sentence * 40}"
    first, second, third = assert_covers(text)[:3]
    assert text[second[0] :].startswith("## Next part")
    assert first[1] < second[0]
    assert second[1] - third[0] == 5 * 37 - 1  # the last five sentences


def test_a_long_sentence_is_not_made_longer_by_what_comes_before() -> None:
    text = "Short one. " * 30 + "x" * 990 + "."
    assert assert_covers(text) == [(0, 329), (330, 1321)]


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
    started = time.process_time()
    spans = chunk_spans(text)
    assert time.process_time() - started < 10
    assert spans[-1][1] == len(text.rstrip())
