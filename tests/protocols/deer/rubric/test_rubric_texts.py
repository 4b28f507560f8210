"""What the rubric's own words keep to, so that a small judge can apply them."""

import re

from local_judge.documents.words import WORDS_PER_CHARACTERS
from local_judge.protocols.deer.rubric.counts import (
    MAX_PARAGRAPH_WORDS,
    MIN_PARAGRAPH_WORDS,
    MIN_WORDS,
)
from local_judge.protocols.deer.rubric.load import load_rubric

ITEMS = dict(load_rubric().items())


def test_each_item_is_one_or_two_plain_sentences() -> None:
    for path, item in ITEMS.items():
        assert item.text[0].isupper() and item.text.endswith("."), path
        assert "\n" not in item.text and "?" not in item.text, path
        assert len(re.findall(r"[.](?: |$)", item.text)) <= 2, path
        assert len(item.text.split()) <= 45, path


def test_no_item_says_the_same_as_another() -> None:
    def words(text: str) -> frozenset[str]:
        return frozenset(re.findall(r"[a-z]{4,}", text.lower()))

    paths = list(ITEMS)
    for n, first in enumerate(paths):
        for second in paths[n + 1 :]:
            a, b = words(ITEMS[first].text), words(ITEMS[second].text)
            assert len(a & b) / len(a | b) < 0.5, (first, second)


def test_not_applicable_only_where_it_is_published() -> None:
    admitted = {path[:3] for path, item in ITEMS.items() if item.not_applicable}
    assert admitted == {
        *(("analytical_soundness", "quantification", n) for n in "12345"),
        ("structural_coherence", "section", "3"),
        ("format_style", "paragraph_quality", "2"),
        ("information_integrity", "recency", "1"),
        *(("ethics_compliance", "sensitive_handling", n) for n in "12"),
    }
    tables = [path for path, item in ITEMS.items() if path[1:3] == ("section", "3") and item.not_applicable]
    assert tables == [("structural_coherence", "section", "3", "C3-2")]
    # Of the other criteria, every item: 8 + 2 + 3 + 4, and C3-2.
    assert sum(item.not_applicable is not None for item in ITEMS.values()) == 18
    for item in ITEMS.values():
        if item.not_applicable:
            assert item.not_applicable.startswith("the report ") and not item.not_applicable.endswith(".")


def test_counts_are_where_a_count_can_decide() -> None:
    assert {path: item.count for path, item in ITEMS.items() if item.count} == {
        ("format_style", "report_format", "1", "C1-1"): "parts_present",
        ("format_style", "report_format", "1", "C1-2"): "part_lengths",
        ("format_style", "paragraph_quality", "1", "C1-1"): "paragraph_lengths",
    }


def test_the_judge_is_told_the_limits_that_the_count_uses() -> None:
    def limits(*path: str) -> list[tuple[int, int]]:
        text = ITEMS["format_style", *path].text
        return [
            (int(words), int(characters))
            for words, characters in re.findall(r"(\d+) words \((\d+) Chinese characters\)", text)
        ]

    assert limits("report_format", "1", "C1-2") == [
        (MIN_WORDS["introduction"], 170),
        (MIN_WORDS["body"], 830),
    ]
    assert MIN_WORDS["introduction"] == MIN_WORDS["conclusion"]
    text = ITEMS["format_style", "paragraph_quality", "1", "C1-1"].text
    assert f"{MIN_PARAGRAPH_WORDS} to {MAX_PARAGRAPH_WORDS} words (70 to 420 Chinese characters)" in text
    # 100 / 0.6 = 166.7, 500 / 0.6 = 833.3, 40 / 0.6 = 66.7, 250 / 0.6 = 416.7, each to the nearest ten.
    words, characters = WORDS_PER_CHARACTERS
    assert [round(n * characters / words, -1) for n in (100, 500, 40, 250)] == [170, 830, 70, 420]


def test_dimensions_are_described_in_one_sentence() -> None:
    for dimension in load_rubric().dimensions:
        assert dimension.description.startswith("Whether ") and dimension.description.count(".") == 1
    assert [dimension.label for dimension in load_rubric().dimensions] == [
        "Request Fulfillment",
        "Analytical Soundness",
        "Structural Coherence",
        "Format & Style",
        "Information Integrity",
        "Ethics Compliance",
    ]
