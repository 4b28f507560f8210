"""Claims are drawn in equal parts, from where they say, and false where they say."""

from __future__ import annotations

from collections import Counter

import pytest

from indexes.snapshot import Snapshot
from local_judge.lab.planting.claims import Draw, DrawSettings, draw_claims, shares
from local_judge.lab.planting.model import ALTERATIONS, PlantedClaim
from local_judge.lab.planting.pages import PlantPage, length_of, particulars, plant_pages, usable


@pytest.fixture(scope="module")
def draw(pages: list[PlantPage]) -> Draw:
    return draw_claims(pages, DrawSettings(n=40, seed=3))


def check(claim: PlantedClaim, snapshot: Snapshot) -> None:
    """What must hold of every planted claim."""
    page = snapshot.page(claim.url)
    (source,) = claim.sources
    origin = snapshot.page(source.url)
    assert origin.text[source.start : source.end] == source.text
    assert (page.text_digest, origin.text_digest) == (claim.text_digest, source.text_digest)
    if claim.true:
        assert claim.kind is None and claim.edit is None
        assert claim.claim == source.text and source.url == claim.url
    elif claim.edit is not None:
        assert claim.kind == claim.edit.kind and source.url == claim.url
        assert claim.edit.undone(claim.claim) == source.text != claim.claim == claim.edit.applied(source.text)
        assert claim.claim not in page.text
    else:
        assert claim.kind in ("attribution", "foreign")
        assert claim.claim == source.text and source.url != claim.url and claim.claim not in page.text
        about = particulars(claim.claim, claim.language)
        said = [word for word in about if word.casefold() in f"{page.title}\n{page.text}".casefold()]
        assert len(said) <= len(about) / 2 if claim.kind == "attribution" else not said


def test_every_claim_says_where_it_is_from_and_what_was_done(draw: Draw, annotated: Snapshot) -> None:
    for claim in draw.claims:
        check(claim, annotated)


def test_half_are_true_on_the_same_pages_and_no_sentence_is_used_twice(draw: Draw) -> None:
    assert sum(claim.true for claim in draw.claims) * 2 == len(draw.claims) >= 24
    texts = [source.text for claim in draw.claims for source in claim.sources]
    assert len(texts) == len(set(texts))
    assert max(Counter(claim.url for claim in draw.claims).values()) <= 4


def test_what_could_not_be_filled_is_reported(draw: Draw) -> None:
    false = [cell for cell in draw.cells if cell.kind is not None]
    # 20 false claims in 10 kinds and 2 languages: one for each
    assert [cell.wanted for cell in false] == [1] * 20
    for cell in draw.cells:
        mine = [one for one in draw.claims if (one.kind, one.language) == (cell.kind, cell.language)]
        assert cell.filled == len(mine) == sum(cell.by_length.values()) <= cell.wanted


def test_ids_and_order_say_nothing_of_the_truth(draw: Draw) -> None:
    assert [claim.id for claim in draw.claims] == [f"p{n:04d}" for n in range(1, len(draw.claims) + 1)]
    assert [claim.url for claim in draw.claims] == sorted(claim.url for claim in draw.claims)
    truths = [claim.true for claim in draw.claims]
    assert truths != sorted(truths) and truths != sorted(truths, reverse=True)


def test_the_same_seed_plants_the_same(annotated: Snapshot, draw: Draw) -> None:
    again = plant_pages(usable(annotated.pages()), seed=3)
    assert draw_claims(again, DrawSettings(n=40, seed=3)) == draw
    assert draw_claims(again, DrawSettings(n=40, seed=4)).claims != draw.claims


def test_kinds_and_languages_can_be_chosen(pages: list[PlantPage]) -> None:
    settings = DrawSettings(n=8, kinds=("number", "foreign"), languages=("zh",))
    claims = draw_claims(pages, settings).claims
    assert Counter(claim.kind for claim in claims) == {"number": 2, "foreign": 2, None: 4}
    assert {claim.language for claim in claims} == {"zh"}


def test_shares_differ_by_one_at_most() -> None:
    assert shares(11, 4) == [3, 3, 3, 2]


def test_lengths_are_estimated_tokens() -> None:
    # a token is 3.5 Latin characters or one Chinese
    assert [length_of("a" * n) for n in (1750, 1751, 7000, 21_000, 21_001)] == [
        "short",
        "medium",
        "medium",
        "long",
        "passages",
    ]
    assert length_of("字" * 501) == "medium"


@pytest.mark.slow
def test_real_pages_fill_all_kinds_in_english_and_most_in_chinese(real: Snapshot) -> None:
    pages = plant_pages(usable(real.pages()), seed=0)
    draw = draw_claims(pages, DrawSettings(n=120, seed=0))
    for claim in draw.claims:
        check(claim, real)
    filled = {(cell.kind, cell.language): cell.filled for cell in draw.cells}
    assert all(filled[kind, "en"] == 3 for kind in ALTERATIONS if kind != "causal")
    assert sum(filled[kind, "zh"] == 3 for kind in ALTERATIONS) >= 6
    assert len(draw.claims) >= 100
    lengths = Counter(claim.length for claim in draw.claims)
    assert all(lengths[length] >= 10 for length in ("medium", "long"))
