from __future__ import annotations

import re

import pytest

from indexes.model import Page
from local_judge.claims.evidence import PageEvidence
from local_judge.claims.model import Quote
from local_judge.claims.nearest import LONGEST, head, surroundings

TEXT = "Rye is grown. Oats are sold. Barley is malted.\n\nHops are dear. Wheat is cheap. Flax is spun."


def quote(text: str, words: str) -> Quote:
    start = text.index(words)
    return Quote(text=words, start=start, end=start + len(words))


def around(text: str, *words: str) -> list[str]:
    return [text[start:end] for start, end in surroundings(text, [quote(text, one) for one in words])]


def test_a_sentence_comes_with_the_one_before_and_the_one_after() -> None:
    assert around(TEXT, "Oats are sold.") == ["Rye is grown. Oats are sold. Barley is malted."]
    assert around(TEXT, "Rye is grown.") == ["Rye is grown. Oats are sold."]
    assert around(TEXT, "Flax is spun.") == ["Wheat is cheap. Flax is spun."]
    assert around(TEXT) == []


def test_surroundings_that_touch_are_one_and_stand_in_page_order() -> None:
    assert around(TEXT, "Flax is spun.", "Rye is grown.") == [
        "Rye is grown. Oats are sold.",
        "Wheat is cheap. Flax is spun.",
    ]
    # "Barley is malted." is after the one and before the other.
    assert around(TEXT, "Oats are sold.", "Hops are dear.") == [TEXT.removesuffix(" Flax is spun.")]


@pytest.mark.parametrize("shift", range(22))
def test_of_an_endless_neighbour_only_what_is_next_to_the_sentence_and_no_number_in_part(shift: int) -> None:
    row = "48,500 newts for 91 250 crowns, "
    text = f"{row * 20}{'x' * shift} end. Oats are sold. {'y' * shift} {row * 20}"
    [found] = around(text, "Oats are sold.")
    before, after = found.split("Oats are sold.")
    assert LONGEST - 40 < len(before) <= LONGEST + 1 and LONGEST - 40 < len(after) <= LONGEST + 1
    assert set(re.findall(r"\d[\d,]*(?: \d+)?", before + after)) <= {"48,500", "91 250"}
    whole = {"newts", "for", "crowns", "end", "x" * shift, "y" * shift}
    assert set(re.findall(r"[a-z]+", before + after)) <= whole


def test_chinese_is_cut_behind_a_mark_and_what_has_none_is_left_out() -> None:
    clause = "每年有四万八千五百只蝾螈经过这条路，"
    text = f"{clause * 40}完。燕麦已售出。{'路' * 700}"
    [found] = around(text, "燕麦已售出。")
    before, after = found.split("燕麦已售出。")
    # 18 characters a clause: 16 of them and the 2 of the end are 290.
    assert (before, after) == (clause * 16 + "完。", "")


def test_of_a_page_of_one_endless_line_only_a_part_is_looked_at() -> None:
    # 640,000 characters without a line break, of which the sentences would take minutes.
    text = "蝾螈经过这条路。" * 40_000 + "燕麦已售出。" + "蝾螈经过这条路。" * 40_000
    assert around(text, "燕麦已售出。") == ["蝾螈经过这条路。燕麦已售出。蝾螈经过这条路。"]


def test_a_long_title_is_cut_behind_a_word() -> None:
    assert head("Crops") == "Crops"
    # 42 words with the space behind each are 294 characters; the 43rd would end at 300, before its space.
    assert head("barley " * 100) == " ".join(["barley"] * 43)
    assert head("parsley " * 100) == " ".join(["parsley"] * 37)  # 37 words and 36 spaces: 295
    assert (head("x" * 300), head("x" * 301)) == ("x" * 300, "")


def test_evidence_is_the_title_and_the_surroundings() -> None:
    url = "https://crops.example/"
    page_evidence = PageEvidence(
        Page(url=url, original_url=url, status="ok", title="Crops", text=TEXT), (), whole=True
    )
    evidence, shown = page_evidence.near([quote(TEXT, "Rye is grown."), quote(TEXT, "Flax is spun.")])
    assert shown == (
        "Page:\n```\nCrops\n\nRye is grown. Oats are sold.\n[…]\nWheat is cheap. Flax is spun.\n```"
    )
    # "Rye is grown. Oats are sold." has 28 characters; "Wheat is cheap. Flax is spun." 29, at the end of 92.
    assert evidence.stretches == ((0, 28), (63, 92))
