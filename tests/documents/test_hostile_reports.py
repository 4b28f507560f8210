"""Texts made to be slow, of ten kilobytes and more, where a quadratic step would take minutes."""

import time

import pytest

from local_judge.documents import UnreadableReport, parse_report

HOSTILE = {
    "brackets": "[" * 60_000,
    "parentheses": "(" * 60_000,
    "asterisks": "*" * 200_000,
    "list markers": "1. " * 200_000,
    "quote markers": "> " * 200_000,
    "quotation marks": '"' * 100_000,
    "links": "[a](" * 8_000,
    "images": "![a](" * 5_000,
    "comments": "<!--" * 15_000,
    "tags": "<a href=" * 30_000,
    "addresses": "https://" * 50_000,
    "closing brackets in an address": "https://a.example/" + ")" * 200_000,
    "superscripts": "¹" * 200_000,
    "one long marker": "[" + "1," * 100_000 + "]",
    "backticks of every length": " ".join("`" * n for n in range(200)),
    "authors": "Kim, " * 40_000 + "(2024)",
    "capitals": "Aa " * 60_000 + "(2024) " * 300,
    "white space": " " * 500_000 + "a",
    "white space inside": "a" + " " * 500_000 + "b",
    "a host of many labels": "See https://" + "www." * 200_000 + "a.example",
    "many citations": "x [1]. " * 8_000,
    "one Chinese line": "中文句子。" * 10_000,
    "one line without spaces": "a" * 500_000,
    "cells": "|a" * 10_000 + "\n" + "|-" * 10_000 + "\n" + "|b" * 10_000,
    "one number, many entries": "x [1]. " * 1500 + "\n\nReferences\n\n" + "[1] t: https://a.example\n" * 1500,
    "hidden elements": '<span style="display:none">' * 8_000,
    "thoughts": "<think>\n" * 30_000,
    "formulas": "$x" * 60_000,
    "displayed formulas": r"\[ x = " * 30_000,
    "elements that cite": '<cite id="1">' * 15_000,
    "glued numbers": "word.1 Word 2. " * 10_000
    + "\n\n## References\n\n1. t https://a.example\n2. u https://b.example",
    "one-line list": "Sources: " + " ".join(f"[{n}] https://a.example" for n in range(1, 900)),
    "lists without addresses": "1. a\n2. b\n\n# c\n\n" * 3_000,
    "many lists": "It is [1].\n\n1. a https://a.example\n2. b https://b.example\n\nIt is.\n\n" * 4_000,
    "one long list": "\n".join(f"{n}. a" for n in range(1, 8_000)),
    "definitions of images": "![][a]" * 10_000 + "\n\n" + "[a]: <data:image/png;base64,AAAA>\n\n" * 2_000,
    "rules of front matter": "---\na: b\n" + "  c\n" * 60_000,
    "circled": "a ①" * 30_000,
    "items": "<ol>" + "<li>a https://a.example" * 8_000,
    "fences never closed": "```\n\n~~~\n\n" * 2000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_bounded(name: str) -> None:
    started = time.process_time()
    document = parse_report(HOSTILE[name])
    assert time.process_time() - started < 60
    assert document.blocks or not any(character.isalpha() for character in HOSTILE[name])


def test_ranges_of_citations_are_bounded() -> None:
    with pytest.raises(UnreadableReport, match="the report has 198000 citations, at most 100000 are read"):
        parse_report("x [1-99]. " * 2_000)


@pytest.mark.parametrize("label", ["999999999999999999", "\u00b2"])
def test_labels_of_odd_digits_are_no_numbers(label: str) -> None:
    document = parse_report(f"A is so.[^1]\n\nB is so.[^{label}]\n\n[^1]: a\n[^{label}]: b\n")
    assert [reference.key for reference in document.references] == ["1", label]


def test_a_citation_is_found_by_its_id() -> None:
    document = parse_report("A is so [1]. B is so [2].\n\n## References\n\n[1] t: https://a.example\n")
    assert [document.citation(name).key for name in ("c2", "c1")] == ["2", "1"]
    with pytest.raises(KeyError):
        document.citation("c3")


def test_text_below_the_deepest_nesting_is_not_lost() -> None:
    text = "\n".join("  " * depth + f"- item{depth}" for depth in range(100))
    document = parse_report(text)
    assert {f"item{depth}" for depth in range(100)} <= {s.text.lstrip("- ") for s in document.sentences}


def test_a_fence_that_is_never_closed_ends_at_its_first_empty_line() -> None:
    document = parse_report("A.\n\n```python\nx = 1\n\n## Next\n\nB is so.\n")
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("paragraph", "A."),
        ("code", "```python\nx = 1"),
        ("heading", "Next"),
        ("paragraph", "B is so."),
    ]


def test_a_fence_closed_by_a_citation() -> None:
    document = parse_report(
        "```\nx[2] = 1\n``` [1]\n\nB is so.\n\n## References\n\n[1] t: https://a.example\n"
    )
    assert [(c.key, c.state) for c in document.citations] == [("1", "resolved")]
    assert [s.text for s in document.sentences] == ["[1]", "B is so."]


def test_a_rule_right_below_a_paragraph_makes_no_heading() -> None:
    document = parse_report("A claim of note. [1]\n---\nTitle\n=====\n\nB.\n")
    assert [block.kind for block in document.blocks] == ["paragraph", "heading", "paragraph"]


def test_an_identifier_that_is_too_long_for_an_address_is_no_source() -> None:
    document = parse_report(f"It rose (doi:10.1234/{'a' * 70_000}) in 2024.")
    assert [citation.url for citation in document.citations if citation.url] == []
