"""What may be citation by its form, and what is left by each way to read it."""

from __future__ import annotations

import pytest

from local_judge.documents import parse_report
from local_judge.documents.clean import clean, clean_as_chosen
from local_judge.documents.cleaning.choices import letters, stretches

LIST = "\n\n## References\n\n[1] A: https://a.example\n[2] B: https://b.example\n"


def readings(text: str) -> list[tuple[str, list[str]]]:
    """Each stretch of the body as written, with the letters that each option leaves of it."""
    document = parse_report(text + LIST)
    return [
        (document.text[one.start : one.end], [option.letters for option in one.options])
        for one in stretches(document)
        if one.block is not None
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sales rose [1].", [("[1]", ["", "1"])]),
        # "see" introduces the mark: gone with it, left without it, or all kept.
        ("Sales rose (see [1]).", [("(see [1])", ["", "see", "see1"])]),
        # The words of a link stay by default; they may be a source's name, or the whole may stand as written.
        (
            "Sales rose [Reuters](https://r.example) says.",
            [("[Reuters](https://r.example)", ["Reuters", "", "Reutershttpsrexample"])],
        ),
        # In brackets of its own it goes by default.
        (
            "Sales rose ([Reuters](https://r.example)).",
            [("([Reuters](https://r.example))", ["", "Reuters", "Reutershttpsrexample"])],
        ),
        # Beyond what code takes: a name with a year, or what says that it is a source.
        ("Sales rose (Reuters, 5 May 2024).", [("(Reuters, 5 May 2024)", ["Reuters5May2024", ""])]),
        ("Sales rose (source: the ministry).", [("(source: the ministry)", ["sourcetheministry", ""])]),
        ("销量上升（来源：财政部，2023）。", [("（来源：财政部，2023）", ["来源财政部2023", ""])]),
        # Code takes the mark in it, and a reader may take the whole.
        ("Sales rose (Source: Reuters [1]).", [("(Source: Reuters [1])", ["SourceReuters", "", "SourceReuters1"])]),
        ("Source: Reuters, *Heat*", [("Source: Reuters, *Heat*", ["SourceReutersHeat", ""])]),
    ],
)  # fmt: skip
def test_how_a_stretch_may_be_read(text: str, expected: list[tuple[str, list[str]]]) -> None:
    assert readings(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "It is [difficult] to say, and [sic] again.",
        "Sales rose (by 12% since 2020).",
        "Sales rose (from 1.2 million in 2019).",
        "The firm (founded in 2019) grew.",
        "`print(Source: x, 2020)` prints.",
        "    # (Kim 2020)\n    x = 1",
        "The source: nobody knows (or does).",
        "![A chart (Reuters, 2024)](chart.png)",
    ],
)
def test_what_no_reader_may_take(text: str) -> None:
    assert readings(text) == []


def test_what_is_chosen_is_what_goes() -> None:
    text = "Sales rose [1] (Reuters, 5 May 2024), [Outlook](https://o.example) says.\n"
    document = parse_report(text)
    found = stretches(document)
    # The first option of each stretch leaves what code leaves.
    assert clean_as_chosen(document, [one.default for one in found]) == clean(document)
    assert clean(document).text == "Sales rose (Reuters, 5 May 2024), Outlook says.\n"

    def left(*kept: str) -> str:
        chosen = [
            next(option for option in one.options if option.letters == letters)
            for one, letters in zip(found, kept, strict=True)
        ]
        return clean_as_chosen(document, chosen).text

    assert left("", "", "Outlook") == "Sales rose, Outlook says.\n"
    assert left("1", "", "") == "Sales rose [1], says.\n"
    assert left("1", "Reuters5May2024", "Outlookhttpsoexample") == text


def test_marks_of_a_run_can_go_while_the_words_of_its_link_stay() -> None:
    document = parse_report("It fell ([Reuters](https://r.example), [1]).\n" + LIST)
    [found] = [one for one in stretches(document) if one.block is not None]
    [words] = [option for option in found.options if option.letters == "Reuters"]
    assert clean_as_chosen(document, [words]).text == "It fell (Reuters).\n"


def test_letters_are_those_of_any_script() -> None:
    assert letters("A-1 “é” 中国，２ x_y²") == "A1é中国２xy²"
