"""What is planted is wrong where it says so, and nowhere else."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from scripts.benchmarking.pages import planted_snapshot
from scripts.benchmarking.planting import KINDS, PageText, edits, names_in, plant, standalone_sentences

PAGE = """\
The Fernholt Bridge was opened in May 1931 by Anna Lindqvist. It was the longest bridge of the county.
The bridge spans 1,240 metres and rests on 14 piers of grey granite. Engineers of the Norden Company built it \
because ferries were slow.
The toll increased to 3.50 crowns in 1952. According to the council, "nobody" complained about the toll of 1952.
A storm in March 1960 damaged the eastern span, and repairs cost 2 million crowns. Why was the span weak?
Traffic reached 9,000 vehicles a day before the tunnel under Lake Fern was finished in 1978.
The town of Fernholt bought the bridge from the Norden Company in 1981 for 640 thousand crowns.
"""
OTHER = PageText(url="https://b.example/", text="A speech by Maria Castellano was heard in West Harbour.")


def test_sentences_that_lean_on_others_are_left_out() -> None:
    sentences = list(standalone_sentences(PAGE))
    assert not any(sentence.startswith(("It was", "Why", "According")) for sentence in sentences)
    assert "Engineers of the Norden Company built it because ferries were slow." in sentences
    assert len(sentences) == 6


@pytest.mark.parametrize(
    ("sentence", "kind", "expected"),
    [
        (
            "The toll increased to 3.50 crowns in Norden.",
            "direction",
            "The toll decreased to 3.50 crowns in Norden.",
        ),
        ("The bridge was opened by Anna.", "negation", "The bridge was not opened by Anna."),
        ("Repairs cost 2 million crowns.", "unit", "Repairs cost 2 billion crowns."),
        ("It was built by Anna Lindqvist.", "name", "It was built by Maria Castellano."),
    ],
)
def test_each_kind_of_edit_changes_its_own_word(sentence: str, kind: str, expected: str) -> None:
    found = edits(sentence, PAGE, ["Maria Castellano", "Norden Company"], Random(0))
    (place,) = [place for name, place in found.items() if name == kind]
    start, end, after = place
    assert sentence[:start] + after + sentence[end:] == expected


@pytest.mark.parametrize("seed", range(20))
def test_numbers_and_years_become_others_that_the_page_does_not_have(seed: int) -> None:
    sentence = "The bridge of 1931 spans 1,240 metres on 14 piers and costs 3.50 crowns."
    found = edits(sentence, PAGE, [], Random(seed))
    start, end, number = found["number"]
    before = sentence[start:end]
    assert before in ("1,240", "14", "3.50") and not re.search(rf"(?<!\d){number}(?!\d)", PAGE)
    assert 1.15 <= float(number.replace(",", "")) / float(before.replace(",", "")) <= 2.0
    assert (("," in number), len(number.partition(".")[2])) == (
        ("," in before),
        len(before.partition(".")[2]),
    )
    start, end, year = found["date"]
    assert sentence[start:end] == "1931" and 3 <= abs(int(year) - 1931) <= 19 and year not in PAGE


def test_a_negated_sentence_is_not_negated_again() -> None:
    assert "negation" not in edits("The bridge was not closed in winter.", PAGE, [], Random(0))


def test_half_of_a_pages_claims_are_altered_in_one_recorded_place() -> None:
    claims = plant([PageText(url="https://a.example/", text=PAGE), OTHER], per_page=6, seed=3)
    assert [claim.id for claim in claims] == [f"1.{n}" for n in range(1, 7)]
    assert sum(claim.true for claim in claims) == 3
    for claim in claims:
        assert claim.sentence in PAGE
        if claim.edit is None:
            assert claim.claim == claim.sentence
        else:
            assert claim.claim not in PAGE
            assert claim.edit.after in claim.claim and claim.edit.before in claim.sentence
            assert claim.claim.replace(claim.edit.after, claim.edit.before, 1) == claim.sentence


def test_the_same_seed_plants_the_same() -> None:
    pages = [PageText(url="https://a.example/", text=PAGE), OTHER]
    assert plant(pages, 6, 3) == plant(pages, 6, 3)
    assert plant(pages, 6, 3) != plant(pages, 6, 4)


def test_names_are_of_two_words_and_more() -> None:
    assert names_in(PAGE) == ["Fernholt Bridge", "Anna Lindqvist", "Norden Company", "Lake Fern"]


def test_real_pages_give_a_balanced_set_of_all_kinds(shared: Path, tmp_path: Path) -> None:
    snapshot, pages = planted_snapshot(shared / "data", 10, 6, 0, tmp_path)
    claims = plant(pages, 6, 0)
    assert (len(snapshot), len(claims)) == (10, 60)
    kinds = Counter(claim.edit.kind for claim in claims if claim.edit is not None)
    assert sum(kinds.values()) == 30 and set(kinds) == set(KINDS)
    for claim in claims:
        assert (claim.claim in snapshot.page(claim.url).text) == claim.true
