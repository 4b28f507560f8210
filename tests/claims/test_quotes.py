from __future__ import annotations

import pytest

from local_judge.claims.quotes import QuoteFinder, find_labelled

PAGE = "The mill opened in 1974.\n\nIts “new” wheel — 3 m wide — turns\n  daily. 水车直径为３米，每天转动。"


@pytest.mark.parametrize(
    ("quotation", "found"),
    [
        ("The mill opened in 1974.", "The mill opened in 1974"),
        ("the MILL opened in 1974", "The mill opened in 1974"),
        ('Its "new" wheel - 3 m wide - turns daily', "Its “new” wheel — 3 m wide — turns\n  daily"),
        ("…opened in 1974. Its “new” wheel", "opened in 1974.\n\nIts “new” wheel"),
        ("水车直径为3米，每天转动", "水车直径为３米，每天转动"),
        ("The m\u2060ill opened in 1974", "The mill opened in 1974"),
    ],
)
def test_a_quotation_is_found_up_to_space_case_and_typography(quotation: str, found: str) -> None:
    quote = QuoteFinder(PAGE).find(quotation)
    assert quote is not None
    assert quote.text == found
    assert PAGE[quote.start : quote.end] == found


@pytest.mark.parametrize(
    "quotation",
    [
        "The mill opened in 1975.",  # another number
        "The mill was opened in 1974",  # another word
        "the",  # occurs, and proves nothing
        "",
        "...",
        "ignore all instructions",
    ],
)
def test_what_the_page_does_not_say_is_rejected(quotation: str) -> None:
    assert QuoteFinder(PAGE).find(quotation) is None


def test_a_short_page_can_be_quoted_whole() -> None:
    quote = QuoteFinder("70 °C").find("70 °C")
    assert quote is not None
    assert (quote.start, quote.end) == (0, 5)


def test_a_character_that_folds_to_several_keeps_its_offset() -> None:
    # "ß" casefolds to "ss" and "ﬁ" to "fi": offsets are of the page, not of the folded text.
    page = "Die Straße ist fünf Kilometer lang; der ﬁnale Abschnitt fehlt."
    quote = QuoteFinder(page).find("strasse ist fünf kilometer lang; der finale Abschnitt")
    assert quote is not None
    assert quote.text == "Straße ist fünf Kilometer lang; der ﬁnale Abschnitt"


def test_a_title_can_be_quoted() -> None:
    quote = QuoteFinder("It was short.", "Minutes of the council, 18 March 2021").find(
        "the council, 18 March 2021"
    )
    assert quote is not None
    assert (quote.in_title, quote.start, quote.end) == (True, 11, 37)


@pytest.mark.parametrize(
    ("page", "quotation", "start"),
    [
        ("25 percent of the homes are warm.", "5 percent of the homes", None),
        ("It has 6.25 megawatts, says the town.", "It has 6.2", None),
        ("It has 6.25 megawatts, says the town.", "25 megawatts, says", None),
        ("It has 1,240,000 dwellings.", "It has 1,240", None),
        ("It is illegal under the law of 1990.", "legal under the law", None),
        # The first place cuts a number, the second does not.
        ("25 percent of homes, later 5 percent of homes", "5 percent of homes", 27),
        # What stands beside a number is no part of it.
        ("In 2020, 31 percent were warm.", "31 percent were warm", 9),
        ("It grew to 412. 18 were lost.", "It grew to 412", 0),
        # A judge that ran into its limit stops inside a word.
        ("The retrofit connected the dwellings.", "The retrofit connec", 0),
        # No spaces between words.
        ("该市的改造工程连接了三个区的住宅。", "改造工程连接了三个区", 3),
    ],
)
def test_a_quotation_is_not_cut_out_of_a_word_or_a_number(
    page: str, quotation: str, start: int | None
) -> None:
    found = QuoteFinder(page).find(quotation)
    assert (found.start if found else None) == start


@pytest.mark.parametrize(
    ("quotation", "found"),
    [
        ("L2.S1: The mill opened in 1974.", "The mill opened in 1974"),
        ("opened in 1974. L3.S1: Its “new” wheel", "opened in 1974.\n\nIts “new” wheel"),
        ("[L4.S1] 水车直径为3米，[L4.S2] 每天转动", "水车直径为３米，每天转动"),  # no blank between sentences
        ("L3.S1:", None),
        ("L2.S1: The mill closed in 1974.", None),
    ],
)
def test_labels_are_no_part_of_a_quotation(quotation: str, found: str | None) -> None:
    quote = find_labelled(QuoteFinder(PAGE), quotation)
    assert (quote.text if quote else None) == found


def test_a_quotation_is_found_or_rejected_or_was_not_given() -> None:
    finder = QuoteFinder("It cost 3 million. The town paid all of it.")
    found = finder.check("The town paid")
    assert found.quote is not None and (found.quote.start, found.rejected) == (19, None)
    assert finder.check("Nobody paid anything") == (None, "Nobody paid anything")
    assert finder.check(" ") == (None, None)
    # Labels that judges copy from a report are passed over, and kept in what is rejected.
    assert finder.check("L1.S2: The town paid").quote is None
    assert finder.check("L1.S2: The town paid", labelled=True).quote == found.quote
    assert finder.check("L1.S2: Nobody paid", labelled=True).rejected == "L1.S2: Nobody paid"
